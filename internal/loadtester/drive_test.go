package loadtester

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/stats"
	"perfrun.dev/perfrun/internal/target"
)

const ms = time.Millisecond

// planFor is a plan of one measured block of the Baseline arm.
func planFor(url string, rps float64, connections int, d time.Duration) *measure.Plan {
	return &measure.Plan{
		Version: measure.Version, Run: "run", Attempt: "attempt-1", Instance: "instance", RPS: rps, Body: []byte(strings.Repeat("x", 1024)),
		ContentType: "text/plain", RequestTimeout: 3 * time.Second,
		Endpoints: map[measure.Arm]measure.Endpoint{measure.Baseline: {URL: url, Method: "POST"}, measure.Dapr: {URL: url, Method: "POST"}},
		Blocks:    []measure.Block{{Connections: connections, Arm: measure.Baseline, Duration: d}},
	}
}

func serverOf(t *testing.T, handler http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	return srv.URL + "/echo"
}

func echoServer(t *testing.T) string { return serverOf(t, target.New().Handler()) }

// driven drives the plan's first block and keeps the connections for a look at their samples.
func driven(ctx context.Context, t *testing.T, plan *measure.Plan) (measure.BlockReport, []*connection) {
	t.Helper()
	b := plan.Blocks[0]
	conns, err := dial(plan, b, plan.PerConnection(b), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hangUp(conns) })
	if err := prime(ctx, plan, plan.Endpoints[b.Arm], conns); err != nil {
		t.Fatal(err)
	}
	report, err := drive(ctx, plan, b, conns)
	if err != nil {
		t.Fatal(err)
	}
	return report, conns
}

func decoded(t *testing.T, b []byte) *stats.Histogram {
	t.Helper()
	h, err := stats.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestScheduleEnds(t *testing.T) {
	s := schedule{qps: 100, threads: 4, calls: 50}
	tests := map[string]struct {
		thread int
		call   int64
		want   time.Duration
	}{
		"the first call of all":         {0, 0, 0},
		"threads start a tick apart":    {1, 0, 10 * ms},
		"the last thread":               {3, 0, 30 * ms},
		"the last call is at the end":   {0, 49, 2 * time.Second},
		"the last of the last thread":   {3, 49, 2030 * ms},
		"calls are stretched by 1/49th": {0, 1, 40*ms + 40*ms/49},
	}
	for name, tc := range tests {
		if got := s.due(tc.thread, tc.call); (got - tc.want).Abs() > time.Microsecond {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

// TestScheduleIsKept: nothing is sent early, and on a machine that is not completely busy some of any twenty calls of a thread
// are sent nearly on time. A wrong interval or stagger would be off by 10 ms and more here.
func TestScheduleIsKept(t *testing.T) {
	t.Parallel()
	plan := planFor(echoServer(t), 100, 4, 2*time.Second)
	report, conns := driven(context.Background(), t, plan)
	if report.Succeeded != 200 || report.Skipped != 0 || len(report.Errors) != 0 {
		t.Fatalf("succeeded %d, skipped %d, errors %v", report.Succeeded, report.Skipped, report.Errors)
	}
	if took := report.End.Sub(report.Start); took < 2030*ms || took > 4*time.Second {
		t.Errorf("the block took %s", took)
	}
	s := schedule{qps: 100, threads: 4, calls: 50}
	for thread, c := range conns {
		var late []time.Duration
		for i, one := range c.samples {
			late = append(late, time.Duration(one.start)-s.due(thread, int64(i)))
		}
		if early := slices.Min(late); early < 0 {
			t.Errorf("thread %d: a call was sent %s early", thread, -early)
		}
		for at := 0; at < 40; at += 20 {
			if best := slices.Min(late[at : at+20]); best > 5*ms {
				t.Errorf("thread %d, calls from %d: none was less than %s late", thread, at, best)
			}
		}
	}
}

// TestStall is the case that closed-loop figures hide: a server that answers nothing for half a second.
func TestStall(t *testing.T) {
	t.Parallel()
	var began atomic.Int64
	url := serverOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if at := began.Load(); at != 0 {
			if since := time.Since(time.Unix(0, at)); since > 700*ms && since < 1200*ms {
				time.Sleep(1200*ms - since)
			}
		}
		_, _ = io.WriteString(w, "ok")
	}))
	plan := planFor(url, 200, 4, 2*time.Second)
	began.Store(time.Now().UnixNano())
	report, _ := driven(context.Background(), t, plan)
	if report.Succeeded != 400 || report.Skipped != 0 {
		t.Fatalf("succeeded %d, skipped %d", report.Succeeded, report.Skipped)
	}
	// Of those that were in flight, one for each connection, service time tells. Requests that were due in the first 400 ms of the
	// stall, 80 of them, had to wait for more than 100 ms, and response time tells of them all.
	slow := func(h *stats.Histogram) (n int64) {
		for q := 0.0; q < 0.97; q += 0.005 {
			if d, ok := h.Quantile(q); ok && d > 100*ms {
				n += 2
			}
		}
		return n
	}
	// A busy machine adds late answers of its own, so the upper bounds are far away.
	if n := slow(decoded(t, report.Response)); n < 50 || n > 300 {
		t.Errorf("%d response times are above 100 ms, want about 80", n)
	}
	if n := slow(decoded(t, report.Service)); n > 40 {
		t.Errorf("%d service times are above 100 ms, want one for each connection", n)
	}
	if longest := decoded(t, report.Response).Max(); longest < 400*ms || longest > 5000*ms {
		t.Errorf("the longest response took %s, want about 500 ms", longest)
	}
}

func TestTotals(t *testing.T) {
	at := func(start, took time.Duration) sample { return sample{start: int64(start), took: int64(took)} }
	tests := map[string]struct {
		samples                []sample
		response, service, lag []time.Duration
	}{
		"idle and on time":      {[]sample{at(0, 2*ms), at(10*ms, 3*ms)}, []time.Duration{2 * ms, 3 * ms}, []time.Duration{2 * ms, 3 * ms}, []time.Duration{0, 0}},
		"our lateness is lag":   {[]sample{at(0, 2*ms), at(11*ms, 3*ms)}, []time.Duration{2 * ms, 3 * ms}, []time.Duration{2 * ms, 3 * ms}, []time.Duration{0, ms}},
		"waiting for an answer": {[]sample{at(0, 14*ms), at(14*ms, 3*ms), at(20*ms, ms)}, []time.Duration{14 * ms, 7 * ms, ms}, []time.Duration{14 * ms, 3 * ms, ms}, []time.Duration{0, 0, 0}},
		"waiting and lateness":  {[]sample{at(5*ms, 14*ms), at(20*ms, 3*ms)}, []time.Duration{14 * ms, 7 * ms}, []time.Duration{14 * ms, 3 * ms}, []time.Duration{5 * ms, ms}},
		"a failure keeps the connection busy": {[]sample{at(0, -14*ms), at(14*ms, 3*ms)}, []time.Duration{7 * ms},
			[]time.Duration{3 * ms}, []time.Duration{0, 0}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := totals{response: stats.NewHistogram(), service: stats.NewHistogram(), lag: stats.NewHistogram()}
			got.add(tc.samples, func(i int) time.Duration { return time.Duration(i) * 10 * ms })
			for what, pair := range map[string]struct {
				got  *stats.Histogram
				want []time.Duration
			}{"response": {got.response, tc.response}, "service": {got.service, tc.service}, "lag": {got.lag, tc.lag}} {
				want := stats.NewHistogram()
				for _, d := range pair.want {
					want.Record(d)
				}
				a, _ := pair.got.Encode()
				b, _ := want.Encode()
				if string(a) != string(b) {
					t.Errorf("%s: count %d, mean %s, max %s, want mean %s, max %s", what, pair.got.Count(), pair.got.Mean(), pair.got.Max(), want.Mean(), want.Max())
				}
			}
			if got.sent != int64(len(tc.samples)) {
				t.Errorf("sent %d", got.sent)
			}
		})
	}
}

func TestErrorsAreCountedByCode(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	url := serverOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch n.Add(1) % 5 {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.WriteHeader(http.StatusTeapot)
		case 3:
			// Promises more than it sends, and breaks off.
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "part")
		default:
			_, _ = io.WriteString(w, "ok")
		}
	}))
	plan := planFor(url, 200, 5, time.Second)
	report, _ := driven(context.Background(), t, plan)
	if d := cmp.Diff(map[int]int64{503: 40, 418: 40, noAnswer: 40}, report.Errors); d != "" {
		t.Error(d)
	}
	if report.Succeeded != 80 || decoded(t, report.Response).Count() != 80 || decoded(t, report.Lag).Count() != 200 {
		t.Errorf("succeeded %d, in the histogram %d", report.Succeeded, decoded(t, report.Response).Count())
	}
}

func TestDeadlineSkipsAndCounts(t *testing.T) {
	t.Parallel()
	var slow atomic.Bool
	url := serverOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if slow.Load() {
			time.Sleep(150 * ms)
		}
		_, _ = io.WriteString(w, "ok")
	}))
	plan := planFor(url, 100, 2, time.Second)
	plan.RequestTimeout = 200 * ms
	time.AfterFunc(100*ms, func() { slow.Store(true) })
	report, _ := driven(context.Background(), t, plan)
	if report.Planned != 100 || report.Skipped == 0 || report.Succeeded+report.Errors[noAnswer]+report.Skipped != report.Planned {
		t.Errorf("planned %d, succeeded %d, errors %v, skipped %d", report.Planned, report.Succeeded, report.Errors, report.Skipped)
	}
	if took := report.End.Sub(report.Start); took > 6*time.Second {
		t.Errorf("the block took %s, its deadline is 1.9 s", took)
	}
}

func TestLargeBodiesComeBackWhole(t *testing.T) {
	t.Parallel()
	plan := planFor(echoServer(t), 20, 2, time.Second)
	plan.Body = make([]byte, 1<<20)
	report, _ := driven(context.Background(), t, plan)
	if report.Succeeded != 20 {
		t.Errorf("succeeded %d, errors %v", report.Succeeded, report.Errors)
	}
}

// A path with two connections that takes 25 ms for each request can answer 80 a second. At 100 a second its backlog grows; at 50 it does not,
// even if an answer at the end is late.
func TestSteadyRate(t *testing.T) {
	t.Parallel()
	url := serverOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(25 * ms)
		_, _ = io.WriteString(w, "ok")
	}))
	for _, tc := range []struct{ rps, least, most float64 }{{50, 30, 55}, {100, 20, 85}} {
		report, _ := driven(context.Background(), t, planFor(url, tc.rps, 2, 2*time.Second))
		if rate := float64(report.Steady) / report.SteadyTime.Seconds(); rate < tc.least || rate > tc.most {
			t.Errorf("%g requests/s: %g answers/s, want %g to %g", tc.rps, rate, tc.least, tc.most)
		}
		if report.Succeeded != report.Planned {
			t.Errorf("%g requests/s: %d of %d succeeded: late is not lost", tc.rps, report.Succeeded, report.Planned)
		}
	}
}
