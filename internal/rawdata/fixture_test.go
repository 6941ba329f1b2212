package rawdata

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/stats"
)

var (
	begin  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	invoke = Name{Namespace: "test", Name: "invoke"}
)

// knownReport is a report with known answers: one pair of 5 s blocks at 400 requests/s over 4 connections. Baseline answers in 1 ms, Dapr in
// 3 ms, every hundredth request takes ten times as long; in the third second of the Dapr block two requests fail. The sidecar uses half
// a CPU. All steps of the series are there.
func knownReport(t testing.TB) *measure.Report {
	t.Helper()
	r := &measure.Report{Version: measure.Version, Run: "uid", Attempt: "attempt-1", RPS: 400,
		URLs:     map[measure.Arm]string{measure.Baseline: "http://invoke-target.test:8080/echo", measure.Dapr: "http://127.0.0.1:3500/v1.0/invoke/a/method/echo"},
		Observed: measure.Observed{DaprVersion: "1.18.0", MTLS: true, Traced: 2000, Sampled: 200}}
	sidecar := measure.Series{Component: "callerSidecar", Pod: "lt", Source: measure.SourceLocalProc}
	for i, arm := range []measure.Arm{measure.Baseline, measure.Dapr} {
		base, start := time.Millisecond, begin.Add(time.Duration(10*i)*time.Second)
		b := measure.BlockReport{Block: measure.Block{Connections: 4, Arm: arm, Duration: 5 * time.Second}, Start: start, End: start.Add(5 * time.Second),
			Planned: 2000, Succeeded: 2000}
		if arm == measure.Dapr {
			base = 3 * time.Millisecond
			b.Succeeded, b.Errors = 1998, map[int]int64{500: 1, -1: 1}
		}
		b.Response, b.Service, b.Lag = spikes(t, base, b.Succeeded), spikes(t, base, b.Succeeded), spikes(t, 0, 2000)
		for _, step := range measure.TimelineSteps {
			line := measure.Timeline{Step: step}
			for at := 0; at < 5; at += step {
				n := int64(min(step, 5-at))
				line.Requests, line.P50, line.P99 = append(line.Requests, 400*n), append(line.P50, base.Microseconds()), append(line.P99, base.Microseconds())
				if arm == measure.Dapr {
					line.Errors = append(line.Errors, 0)
				}
			}
			if arm == measure.Dapr {
				line.Errors[2/step] = 2
			}
			b.Timelines = append(b.Timelines, line)
		}
		for s := range 6 {
			sidecar.Readings = append(sidecar.Readings, measure.Reading{Block: i, Time: start.Add(time.Duration(s) * time.Second),
				CPUSeconds: float64(10*i+s) / 2, Resident: int64(50+s) << 20, Anonymous: 20 << 20,
				Started: 1234, Throttling: &measure.Throttling{Periods: int64(100*i + 10*s), Throttled: int64(10*i + s), Time: time.Duration(s) * time.Millisecond}})
		}
		r.Blocks = append(r.Blocks, b)
	}
	r.Usage = []measure.Series{sidecar}
	r.Windows = []measure.Window{{Component: "callerSidecar", Pod: "lt", End: begin.Add(15 * time.Second), Length: 15 * time.Second, CPU: 0.5, WorkingSet: 50 << 20}}
	return r
}

func spikes(t testing.TB, base time.Duration, n int64) []byte {
	t.Helper()
	h := stats.NewHistogram()
	for i := range n {
		if i%100 == 99 {
			h.Record(10 * base)
		} else {
			h.Record(base)
		}
	}
	return encoded(t, h)
}

func encoded(t testing.TB, h *stats.Histogram) []byte {
	t.Helper()
	b, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// noisyReport is as incompressible as real ones: pairs of blocks of so many seconds at 1000 requests/s, lognormal latencies.
func noisyReport(t testing.TB, pairs, seconds int) *measure.Report {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	lognormal := func(median time.Duration) time.Duration {
		return time.Duration(float64(median) * math.Exp(rnd.NormFloat64()/2))
	}
	r := &measure.Report{Version: measure.Version, Run: "uid", Attempt: "attempt-1", RPS: 1000}
	usage := make([]measure.Series, 4)
	for i := range 2 * pairs {
		arm, start := measure.Baseline, begin.Add(time.Duration(i*seconds)*time.Second)
		if i%2 == 1 {
			arm = measure.Dapr
		}
		histogram := func() []byte {
			h := stats.NewHistogram()
			for range 1000 * min(seconds, 10) {
				h.Record(lognormal(time.Millisecond))
			}
			return encoded(t, h)
		}
		b := measure.BlockReport{Block: measure.Block{Connections: 16, Arm: arm, Pair: i / 2, Duration: time.Duration(seconds) * time.Second},
			Start: start, End: start.Add(time.Duration(seconds) * time.Second), Planned: int64(1000 * seconds), Succeeded: int64(1000 * seconds)}
		b.Response, b.Service, b.Lag = histogram(), histogram(), histogram()
		for _, step := range measure.TimelineSteps {
			line := measure.Timeline{Step: step}
			for at := 0; at < seconds; at += step {
				line.Requests = append(line.Requests, int64(1000*min(step, seconds-at)))
				line.P50, line.P99 = append(line.P50, lognormal(time.Millisecond).Microseconds()), append(line.P99, lognormal(3*time.Millisecond).Microseconds())
			}
			b.Timelines = append(b.Timelines, line)
		}
		for s := range seconds + 1 {
			for c := range usage {
				usage[c].Component, usage[c].Pod, usage[c].Source = "callerSidecar", "lt", measure.SourceLocalProc
				usage[c].Readings = append(usage[c].Readings, measure.Reading{Block: i,
					Time:       start.Add(time.Duration(s)*time.Second + time.Duration(rnd.IntN(int(3*time.Millisecond)))),
					CPUSeconds: float64(i*seconds+s) / 2, Resident: rnd.Int64N(50 << 20), Anonymous: rnd.Int64N(20 << 20)})
			}
		}
		r.Blocks = append(r.Blocks, b)
	}
	r.Usage = usage
	return r
}

func document(t testing.TB) *Document {
	t.Helper()
	file, err := Encode(invoke, knownReport(t), Budget)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Decode(file.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
