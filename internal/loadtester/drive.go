package loadtester

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"fortio.org/fortio/periodic"
	"fortio.org/log"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/stats"
)

// deadline is when a block is given up: half as long again as it should take, and two requests that time out.
func deadline(b measure.Block, requestTimeout time.Duration) time.Duration {
	return b.Duration*3/2 + 2*requestTimeout
}

// quiet: Fortio logs how its runner goes. Our own log tells what matters of it.
var quiet = sync.OnceFunc(func() { log.SetLogLevelQuiet(log.Critical) })

// drive sends the block's load over the connections, which stay open, and returns when the last answer is there. It ends early when
// ctx does, or at the block's deadline: what was not sent by then is skipped.
func drive(ctx context.Context, plan *measure.Plan, b measure.Block, conns []*connection) (measure.BlockReport, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline(b, plan.RequestTimeout))
	defer cancel()
	sched := schedule{qps: plan.RPS, threads: len(conns), calls: plan.PerConnection(b)}
	quiet()
	// An aborter of our own also keeps Fortio from catching the process's signals.
	aborter := periodic.NewAborter()
	runner := periodic.NewPeriodicRunner(&periodic.RunnerOptions{
		RunType: "perfrun", QPS: plan.RPS, NumThreads: len(conns), Exactly: sched.calls * int64(len(conns)), Duration: b.Duration,
		Uniform: true, Stop: aborter, Out: io.Discard,
	})
	opts, base := runner.Options(), time.Now()
	var stop atomic.Bool
	for i, c := range conns {
		c.base, c.stop = base, &stop
		opts.Runners[i] = c
	}
	// A request has a timeout, so that the runner ends soon after it was told to.
	defer context.AfterFunc(ctx, func() {
		stop.Store(true)
		aborter.Abort(false)
	})()
	start := runner.Run().StartTime
	// The schedule begins with the runner, a moment after the base.
	for _, c := range conns {
		c.rebase(start)
	}
	return fold(plan, b, sched, start, conns)
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

// fold turns the samples into a report. start is when the schedule began, and what the samples' times count from.
func fold(plan *measure.Plan, b measure.Block, sched schedule, start time.Time, conns []*connection) (measure.BlockReport, error) {
	length := sched.length()
	sum := totals{response: stats.NewHistogram(), service: stats.NewHistogram(), lag: stats.NewHistogram(),
		steadyFrom: time.Duration(measure.SteadyFrom * float64(length)), steadyUntil: length}
	report := measure.BlockReport{Block: b, Planned: sched.calls * int64(sched.threads), Errors: map[int]int64{}}
	for thread, c := range conns {
		sum.add(c.samples, func(i int) time.Duration { return sched.due(thread, int64(i)) })
		for code, n := range c.errors {
			report.Errors[code] += n
		}
		report.Unstamped += c.unstamped
	}
	report.Start, report.End = start, start.Add(sum.end)
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
	report.Timelines = timelines(b, timelineSteps(plan), sched, conns)
	if b.Change != "" {
		report.Calls = calls(sched, conns)
	}
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
