package results

import (
	"fmt"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/stats"
)

// block is a block's report with its histograms decoded.
type block struct {
	measure.BlockReport
	// index in the report.
	index                  int
	response, service, lag *stats.Histogram
}

// point is one point of the sweep, with the blocks of its arms.
type point struct {
	connections int32
	// baseline and dapr are the blocks that count; allBaseline and allDapr are all that were measured.
	baseline, dapr, allBaseline, allDapr []block
}

func pointsOf(in Input) ([]point, error) {
	blocks, err := decode(in.Report)
	if err != nil {
		return nil, err
	}
	out := make([]point, len(in.Settings.Connections))
	for i, connections := range in.Settings.Connections {
		out[i].connections = connections
		for _, b := range blocks {
			switch {
			case b.Point != i:
			case b.Arm == measure.Baseline:
				out[i].allBaseline = append(out[i].allBaseline, b)
			default:
				out[i].allDapr = append(out[i].allDapr, b)
			}
		}
	}
	return out, nil
}

func (p point) result(r *measure.Report, both map[int]together) v1alpha1.PointResult {
	return v1alpha1.PointResult{Connections: p.connections, Baseline: arm(p.baseline), Dapr: arm(p.dapr), Added: added(r, p, both),
		StartSkewMax: startSkewMax(r, p)}
}

func decode(r *measure.Report) ([]block, error) {
	out := make([]block, len(r.Blocks))
	for i, b := range r.Blocks {
		response, err := stats.Decode(b.Response)
		if err != nil {
			return nil, fmt.Errorf("reading block %d's response times: %w", i, err)
		}
		service, err := stats.Decode(b.Service)
		if err != nil {
			return nil, fmt.Errorf("reading block %d's service times: %w", i, err)
		}
		lag, err := stats.Decode(b.Lag)
		if err != nil {
			return nil, fmt.Errorf("reading block %d's lag: %w", i, err)
		}
		out[i] = block{b, i, response, service, lag}
	}
	return out, nil
}

// arm merges the blocks of one arm: counts are added and histograms merged, percentiles are never averaged.
func arm(blocks []block) *v1alpha1.ArmResult {
	if len(blocks) == 0 {
		return nil
	}
	out := &v1alpha1.ArmResult{}
	response, service, lag := stats.NewHistogram(), stats.NewHistogram(), stats.NewHistogram()
	var succeeded, steady int64
	var steadyTime time.Duration
	for _, b := range blocks {
		succeeded += b.Succeeded
		steady += b.Steady
		steadyTime += b.SteadyTime
		out.Skipped += b.Skipped
		for code, n := range b.Errors {
			if out.ErrorCodes == nil {
				out.ErrorCodes = map[string]int64{}
			}
			out.ErrorCodes[measure.CodeName(code)] += n
			out.Errors += n
		}
		response.Merge(b.response)
		service.Merge(b.service)
		lag.Merge(b.lag)
	}
	out.Requests = succeeded + out.Errors
	out.Late, out.Lag = lag.Above(lateFrom), lagOf(lag)
	out.AchievedRPS = fmt.Sprintf("%.1f", rate(steady, steadyTime.Seconds()))
	out.Latency, out.ServiceTime = latencySummary(response), latencySummary(service)
	return out
}

// lateFrom is the lag beyond which a request counts as late. A timer of an idle process fires up to 1 ms late, since the kernel is asked to
// wake it after whole milliseconds; what is beyond that is a load tester that did not get a processor.
const lateFrom = time.Millisecond

func lagOf(lag *stats.Histogram) *v1alpha1.Lag {
	if lag.Count() == 0 {
		return nil
	}
	out := &v1alpha1.Lag{Max: v1alpha1.NewLatency(lag.Max())}
	if d, ok := lag.Quantile(0.99); ok {
		p99 := v1alpha1.NewLatency(d)
		out.P99 = &p99
	}
	return out
}

// loadSeconds is the time that a block's load took: what its requests take at the declared rate, and longer where the last answer came
// after the last request was due. A schedule ends with a request on each connection at the end of the block, the connections
// staggered over one interval, so a block that kept its rate ends (connections-1)/rps and one answer after that.
func loadSeconds(r *measure.Report, b measure.BlockReport) float64 {
	nominal := float64(b.Planned) / r.RPS
	stagger := float64(b.Connections-1) / r.RPS
	return nominal + max(0, b.End.Sub(b.Start).Seconds()-nominal-stagger)
}

func rate(n int64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(n) / seconds
}

func latencySummary(h *stats.Histogram) *v1alpha1.LatencySummary {
	if h.Count() == 0 {
		return nil
	}
	at := func(q float64) *v1alpha1.Latency {
		d, ok := h.Quantile(q)
		if !ok {
			return nil
		}
		l := v1alpha1.NewLatency(d)
		return &l
	}
	return &v1alpha1.LatencySummary{
		Mean: v1alpha1.NewLatency(h.Mean()), Max: v1alpha1.NewLatency(h.Max()),
		P50: at(0.5), P75: at(0.75), P90: at(0.9), P95: at(0.95), P99: at(0.99), P999: at(0.999),
	}
}

// added compares the arms pair by pair.
func added(r *measure.Report, p point, both map[int]together) *v1alpha1.Added {
	out := v1alpha1.Added{P50: addedAt(0.5, p), P90: addedAt(0.9, p), P99: addedAt(0.99, p), CPUPer1000RPS: addedCPU(cpuPerRequest(r, p.dapr, both))}
	if out == (v1alpha1.Added{}) {
		return nil
	}
	return &out
}

// differences at q are those of the pairs of which both blocks have the percentile.
func differences(q float64, baseline, dapr []block) []float64 {
	without := map[int]time.Duration{}
	for _, b := range baseline {
		if d, ok := b.response.Quantile(q); ok {
			without[b.Pair] = d
		}
	}
	var out []float64
	for _, b := range dapr {
		base, paired := without[b.Pair]
		if d, ok := b.response.Quantile(q); ok && paired {
			out = append(out, float64(d-base))
		}
	}
	return out
}

func addedAt(q float64, p point) *v1alpha1.AddedLatency {
	differences := differences(q, p.baseline, p.dapr)
	if len(differences) == 0 {
		return nil
	}
	out := &v1alpha1.AddedLatency{Value: latency(stats.Median(differences)), Pairs: int32(len(differences))}
	interval, ok := stats.MedianInterval(differences)
	if !ok {
		out.Note = noInterval(len(differences))
		return out
	}
	l, h, d := latency(interval.Low), latency(interval.High), latency(interval.Detectable())
	out.Low, out.High, out.Detectable = &l, &h, &d
	return out
}

func latency(ns float64) v1alpha1.Latency { return v1alpha1.NewLatency(time.Duration(ns)) }
