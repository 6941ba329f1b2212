package loadtester

import (
	"context"
	"fmt"
	"io"
	"time"

	"fortio.org/fortio/periodic"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/stats"
)

// deadline is when a block is given up: half as long again as it should take, and two requests that time out.
func deadline(b measure.Block, requestTimeout time.Duration) time.Duration {
	return b.Duration*3/2 + 2*requestTimeout
}

// drive sends the block's load over the connections, which stay open, and returns when the last answer is there. It ends early when
// ctx does, or at the block's deadline: what was not sent by then is skipped.
func drive(ctx context.Context, plan *measure.Plan, b measure.Block, conns []*connection) (measure.BlockReport, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline(b, plan.RequestTimeout))
	defer cancel()
	sched := schedule{qps: plan.RPS, threads: len(conns), calls: plan.PerConnection(b)}
	// An aborter of our own also keeps Fortio from catching the process's signals.
	aborter := periodic.NewAborter()
	runner := periodic.NewPeriodicRunner(&periodic.RunnerOptions{
		RunType: "perfrun", QPS: plan.RPS, NumThreads: len(conns), Exactly: sched.calls * int64(len(conns)), Duration: b.Duration,
		Uniform: true, Stop: aborter, Out: io.Discard,
	})
	rec := &recorders{base: time.Now(), conns: conns}
	opts := runner.Options()
	opts.AccessLogger = rec
	for i, c := range conns {
		opts.Runners[i] = c
	}
	ended := make(chan time.Time, 1)
	go func() { ended <- runner.Run().StartTime }()
	select {
	case start := <-ended:
		return fold(plan, b, sched, start.Sub(rec.base), rec)
	case <-ctx.Done():
	}
	conns[0].stop.Store(true)
	aborter.Abort(false)
	select {
	case start := <-ended:
		return fold(plan, b, sched, start.Sub(rec.base), rec)
	case <-time.After(hangTime(plan)):
		return measure.BlockReport{}, hanging(plan.URLs[b.Arm])
	}
}

// totals of a block.
type totals struct {
	response, service, lag *stats.Histogram
	sent                   int64
	end                    time.Duration
	// steady counts the good answers from steadyFrom to steadyUntil.
	steady                  int64
	steadyFrom, steadyUntil time.Duration
}

// fold turns the samples into a report. started is when the runner's schedule began, from the recorders' base.
func fold(plan *measure.Plan, b measure.Block, sched schedule, started time.Duration, rec *recorders) (measure.BlockReport, error) {
	length := sched.length()
	sum := totals{response: stats.NewHistogram(), service: stats.NewHistogram(), lag: stats.NewHistogram(), end: started,
		steadyFrom: started + time.Duration(measure.SteadyFrom*float64(length)), steadyUntil: started + length}
	report := measure.BlockReport{Block: b, Planned: sched.calls * int64(sched.threads), Errors: map[int]int64{}}
	for thread, c := range rec.conns {
		sum.add(c.samples, func(i int) time.Duration { return started + sched.due(thread, int64(i)) })
		for code, n := range c.errors {
			report.Errors[code] += n
		}
	}
	report.Start, report.End = rec.base.Add(started), rec.base.Add(sum.end)
	report.Succeeded = sum.service.Count()
	report.Skipped = report.Planned - sum.sent
	report.Steady, report.SteadyTime = sum.steady, sum.steadyUntil-sum.steadyFrom
	for into, h := range map[*measure.EncodedHistogram]*stats.Histogram{&report.Response: sum.response, &report.Service: sum.service, &report.Lag: sum.lag} {
		encoded, err := h.Encode()
		if err != nil {
			return report, fmt.Errorf("recording block: %w", err)
		}
		*into = encoded
	}
	report.Timelines = timelines(b, timelineSteps(plan), sched, rec.conns)
	return report, nil
}

// add counts the requests of one connection, in order; due tells when each was due.
//
// Response time is from the due time. A request waits for its connection as long as the one before is under way: that the server
// (and all between) is responsible for, and it counts. But the load tester is late too: Go's timers fire up to a millisecond late
// when a process is idle, which is more than many an answer takes. So the waiting is not taken from the actual sends but computed
// from the service times, by Lindley's recursion for a queue with one server: a request begins when it is due or when the one
// before has ended, whichever is later, with the one before having begun by the same rule. This is what a client would have
// seen that never oversleeps. By how much ours does is in lag, which tells whether the figures are to be trusted.
func (t *totals) add(samples []sample, due func(i int) time.Duration) {
	var q queue
	var actuallyFree time.Duration
	for i, s := range samples {
		dueAt := due(i)
		start, took := time.Duration(s.start), time.Duration(s.took)
		ok := took > 0
		took = max(took, -took)
		t.lag.Record(start - max(dueAt, actuallyFree))
		response := q.response(dueAt, took)
		actuallyFree = start + took
		if ok {
			t.service.Record(took)
			t.response.Record(response)
			if actuallyFree > t.steadyFrom && actuallyFree <= t.steadyUntil {
				t.steady++
			}
		}
		t.end = max(t.end, actuallyFree)
	}
	t.sent += int64(len(samples))
}

// queue is a connection as the server of Lindley's recursion: when it would be free.
type queue struct{ free time.Duration }

// response is the response time of the connection's next request.
func (q *queue) response(due, took time.Duration) time.Duration {
	q.free = max(due, q.free) + took
	return q.free - due
}
