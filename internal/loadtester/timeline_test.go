package loadtester

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"perfrun.dev/perfrun/internal/measure"
)

// answered makes connections whose requests were sent when they were due, or as soon as they could be, and took as long as took says;
// negative: failed after that time.
func answered(sched schedule, took func(due time.Duration) time.Duration) []*connection {
	conns := make([]*connection, sched.threads)
	for thread := range conns {
		conns[thread] = &connection{}
		var free time.Duration
		for i := range sched.calls {
			due := sched.due(thread, i)
			start, d := max(due, free), took(due)
			free = start + d.Abs()
			conns[thread].samples = append(conns[thread].samples, sample{start: int64(start), took: int64(d)})
		}
	}
	return conns
}

func TestTimelines(t *testing.T) {
	block := measure.Block{Connections: 2, Arm: measure.Dapr, Duration: 5 * time.Second}
	sched := schedule{qps: 100, threads: 2, calls: 250}
	// Third second: every request fails. Fourth: answers take 5 ms instead of 1 ms. One of the first second takes 2.2 s, and those on
	// its connection that were due meanwhile wait for it.
	conns := answered(sched, func(due time.Duration) time.Duration {
		switch {
		case due == 0:
			return 2200 * ms
		case due >= 2*time.Second && due < 3*time.Second:
			return -ms
		case due >= 3*time.Second && due < 4*time.Second:
			return 5 * ms
		default:
			return ms
		}
	})
	got := timelines(block, []int{1, 2, 10}, sched, conns)
	if len(got) != 3 {
		t.Fatalf("%d timelines", len(got))
	}
	one := got[0]
	var sum int64
	for _, n := range one.Requests {
		sum += n
	}
	if sum != 500 || len(one.Requests) != 5 {
		t.Errorf("%d requests in %d intervals, want 500 in 5: %v", sum, len(one.Requests), one.Requests)
	}
	if diff := cmp.Diff([]int64{0, 0, one.Requests[2], 0, 0}, one.Errors); diff != "" {
		t.Error("errors (-want +got):", diff)
	}
	// Half of the first second's requests were due on the connection that was busy, the other half was answered at once.
	if p := one.P99[0]; p < 2_100_000 || p > 2_202_000 {
		t.Errorf("the stall shows as p99 %d us in the first second", p)
	}
	if p := one.P50[0]; p > 1_300_000 {
		t.Errorf("p50 of the first second: %d us", p)
	}
	if one.P50[2] != -1 || one.P99[2] != -1 {
		t.Errorf("percentiles of a second without a good answer: %d, %d", one.P50[2], one.P99[2])
	}
	if p := one.P50[3]; p < 5000 || p > 5010 {
		t.Errorf("p50 of the fourth second: %d us", p)
	}
	for i, n := range []int{5, 3, 1} {
		line := got[i]
		if len(line.Requests) != n || len(line.Errors) != n || len(line.P50) != n || len(line.P99) != n {
			t.Errorf("step %d: %+v, want %d intervals", line.Step, line, n)
		}
	}
	if got[1].Requests[0] != one.Requests[0]+one.Requests[1] || got[2].Requests[0] != 500 {
		t.Errorf("the steps count different requests: %v, %v", got[1].Requests, got[2].Requests)
	}
}

func TestTimelineWithoutErrors(t *testing.T) {
	block := measure.Block{Connections: 1, Arm: measure.Dapr, Duration: 1500 * ms}
	sched := schedule{qps: 10, threads: 1, calls: 15}
	got := timelines(block, []int{1}, sched, answered(sched, func(time.Duration) time.Duration { return ms }))
	want := []measure.Timeline{{Step: 1, Requests: []int64{10, 5}, P50: []int64{1000, 1000}, P99: []int64{1000, 1000}}}
	// The calls are stretched over the block, so that the tenth is due after 0.96 s.
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got):", diff)
	}
}

func TestTimelineSteps(t *testing.T) {
	tests := map[string]struct {
		blocks   int
		duration time.Duration
		want     []int
	}{
		"a usual run":  {12, 10 * time.Second, []int{1, 2, 5, 10, 30, 60}},
		"days":         {32, 24 * time.Hour, []int{30, 60}},
		"beyond sense": {4096, 24 * time.Hour, nil},
	}
	for name, tc := range tests {
		plan := planFor("http://t/echo", 10, 1, tc.duration)
		for len(plan.Blocks) < tc.blocks {
			plan.Blocks = append(plan.Blocks, plan.Blocks[0])
		}
		if diff := cmp.Diff(tc.want, timelineSteps(plan)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
