package loadtester

import (
	"context"
	"sync"
	"time"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/stats"
)

// maxWindows bounds what is kept of metrics-server's figures: a dozen pods' for a day, four a minute.
const maxWindows = 100_000

// pathPatience: kube-proxy and DNS need a second or two on a busy node; what does not work after ten times that will not work.
const pathPatience = 15 * time.Second

// hostPatience: a host is known to placement a second or two after its sidecar has asked the application what it hosts; an
// application with a runtime of its own may take longer to answer that.
const hostPatience = 30 * time.Second

// attempt is the one measurement in a load tester's life.
//
//	Running -> Done | Failed | Stopped
//	Done -> Stopped
type attempt struct {
	plan   *measure.Plan
	cancel context.CancelFunc
	// ended is closed when the load has.
	ended chan struct{}
	now   func() time.Time

	mu      sync.Mutex
	state   measure.State
	failure Failure
	// current block, and when its load began.
	current int
	since   time.Time
	// latest block of each arm.
	latest  map[measure.Arm]measure.BlockLatency
	report  *measure.Report
	windows []measure.Window
	known   map[windowKey]bool
}

type windowKey struct {
	component, pod string
	end            int64
}

// begin starts the attempt; it goes on until it is done or ctx ends.
func begin(ctx context.Context, plan *measure.Plan, procRoot string) *attempt {
	ctx, cancel := context.WithCancel(ctx)
	a := &attempt{plan: plan, cancel: cancel, ended: make(chan struct{}), now: time.Now, state: measure.Running, known: map[windowKey]bool{}, latest: map[measure.Arm]measure.BlockLatency{}}
	go func() {
		defer close(a.ended)
		defer cancel()
		report, err := RunPlan(ctx, plan, Environment{ProcRoot: procRoot, PathPatience: pathPatience, HostPatience: hostPatience, ExportQuiet: exportQuiet, Loading: a.loading, Measured: a.measured})
		a.end(report, err, ctx.Err() != nil)
	}()
	return a
}

func (a *attempt) loading(block int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.current, a.since = block, a.now()
}

// measured keeps what a block came to, for those who watch. A histogram that cannot be read is found out when the report is.
func (a *attempt) measured(b measure.BlockReport) {
	h, err := stats.Decode(b.Response)
	if err != nil {
		return
	}
	at := func(q float64) *int64 {
		d, ok := h.Quantile(q)
		if !ok {
			return nil
		}
		us := d.Microseconds()
		return &us
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.latest[b.Arm] = measure.BlockLatency{Arm: b.Arm, Connections: b.Connections, P50: at(0.5), P99: at(0.99)}
}

func (a *attempt) end(report *measure.Report, err error, cancelled bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.state != measure.Running:
		// Stopped while the last block ended: its report is void.
	case err == nil:
		a.state, a.report = measure.Done, report
	case cancelled:
		a.state = measure.Stopped
	default:
		a.state, a.failure = measure.Failed, *failureOf(err)
	}
}

// stop ends the load, and makes void what was recorded. A failure stays a failure.
func (a *attempt) stop() {
	a.mu.Lock()
	if a.state != measure.Failed {
		a.state, a.report = measure.Stopped, nil
	}
	a.mu.Unlock()
	a.cancel()
}

// progress reports the load's time as the sum of the blocks before and what has passed of the current one; where the plan says when each
// block begins, as what has passed since its start.
func (a *attempt) progress() measure.Progress {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := measure.Progress{
		Run: a.plan.Run, Attempt: a.plan.Attempt, State: a.state, Cause: a.failure.Cause, Message: a.failure.Message,
		Current: a.current, LoadTime: a.plan.LoadTime(),
	}
	for _, arm := range []measure.Arm{measure.Baseline, measure.Dapr} {
		if latest, ok := a.latest[arm]; ok {
			p.Latest = append(p.Latest, latest)
		}
	}
	for i, b := range a.plan.Blocks {
		if !b.Warmup {
			p.Measured++
		}
		if i < a.current {
			p.Elapsed += b.Duration
			if !b.Warmup {
				p.MeasuredDone++
			}
		}
	}
	if start := a.plan.Start; !start.IsZero() {
		p.Elapsed = p.LoadTime
		if a.current < len(a.plan.Blocks) {
			p.Elapsed = min(max(0, a.now().Sub(start)), p.LoadTime)
		}
		return p
	}
	if a.current < len(a.plan.Blocks) && !a.since.IsZero() && a.state == measure.Running {
		p.Elapsed += min(a.now().Sub(a.since), a.plan.Blocks[a.current].Duration)
	}
	return p
}

// addWindows keeps those windows that are new, and tells whether there was room for all.
func (a *attempt) addWindows(windows []measure.Window) (ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range windows {
		key := windowKey{w.Component, w.Pod, w.End.UnixNano()}
		if a.known[key] {
			continue
		}
		if len(a.windows) >= maxWindows {
			return false
		}
		a.known[key] = true
		a.windows = append(a.windows, w)
	}
	return true
}

// result is the report with the windows posted so far; nil unless the attempt is Done.
func (a *attempt) result() *measure.Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state != measure.Done {
		return nil
	}
	report := *a.report
	report.Windows = append([]measure.Window(nil), a.windows...)
	return &report
}
