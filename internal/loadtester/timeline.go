package loadtester

import (
	"time"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/stats"
)

// maxIntervals of one step in all blocks of a plan. An interval takes about 5 bytes of the compressed raw data, which must be below
// 900 KiB (internal/rawdata): more would be recorded, sent and thrown away.
const maxIntervals = 200_000

// timelineSteps are those that all blocks of the plan have room for.
func timelineSteps(plan *measure.Plan) []int {
	var steps []int
	for _, step := range measure.TimelineSteps {
		n := 0
		for _, b := range plan.Blocks {
			if !b.Warmup {
				n += intervals(b, step)
			}
		}
		if n <= maxIntervals {
			steps = append(steps, step)
		}
	}
	return steps
}

// intervals of step seconds that a block has: at least one, the last may be shorter.
func intervals(b measure.Block, step int) int {
	length := time.Duration(step) * time.Second
	return max(1, int((b.Duration+length-1)/length))
}

// timelines go through a block's samples second by second, across all connections, and fill the intervals of all steps at once.
func timelines(b measure.Block, steps []int, sched schedule, conns []*connection) []measure.Timeline {
	if b.Warmup || len(steps) == 0 {
		return nil
	}
	lines := make([]*timeline, len(steps))
	for i, step := range steps {
		lines[i] = &timeline{Timeline: measure.Timeline{Step: step}, latencies: stats.NewHistogram()}
	}
	cursors := make([]cursor, len(conns))
	seconds := intervals(b, 1)
	for second := 1; second <= seconds; second++ {
		last := second == seconds
		for thread, c := range conns {
			due := func(i int) time.Duration { return sched.due(thread, int64(i)) }
			cursors[thread].until(time.Duration(second)*time.Second, last, c.samples, due, lines)
		}
		for _, line := range lines {
			if last || second%line.Step == 0 {
				line.close()
			}
		}
	}
	out := make([]measure.Timeline, len(lines))
	for i, line := range lines {
		out[i] = line.result()
	}
	return out
}

// cursor is how far the samples of one connection have been gone through.
type cursor struct {
	next  int
	queue queue
}

// until counts the samples that were due before end; all that are left if it is the last.
func (c *cursor) until(end time.Duration, last bool, samples []sample, due func(i int) time.Duration, lines []*timeline) {
	for ; c.next < len(samples); c.next++ {
		dueAt := due(c.next)
		if dueAt >= end && !last {
			return
		}
		took := time.Duration(samples[c.next].took)
		response := c.queue.response(dueAt, max(took, -took))
		for _, line := range lines {
			line.count(response, took > 0)
		}
	}
}

// timeline is one step's, with the interval under way.
type timeline struct {
	measure.Timeline
	latencies        *stats.Histogram
	requests, errors int64
	failed           bool
}

func (t *timeline) count(response time.Duration, ok bool) {
	t.requests++
	if !ok {
		t.errors++
		t.failed = true
		return
	}
	t.latencies.Record(response)
}

// close ends an interval.
func (t *timeline) close() {
	p50, p99 := int64(-1), int64(-1)
	if t.latencies.Count() > 0 {
		p50, p99 = t.latencies.Glimpse(0.5).Microseconds(), t.latencies.Glimpse(0.99).Microseconds()
	}
	t.Requests, t.Errors = append(t.Requests, t.requests), append(t.Errors, t.errors)
	t.P50, t.P99 = append(t.P50, p50), append(t.P99, p99)
	t.requests, t.errors = 0, 0
	t.latencies.Reset()
}

func (t *timeline) result() measure.Timeline {
	if !t.failed {
		t.Errors = nil
	}
	return t.Timeline
}
