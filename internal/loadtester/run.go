package loadtester

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"perfrun.dev/perfrun/internal/measure"
)

const (
	// sampleBytes is what a request is kept in until its block has ended.
	sampleBytes = 16

	// histogramBytes are the block's three histograms and one for each step of its timelines.
	histogramBytes = int64(3+len(measure.TimelineSteps)) * 160 << 10

	// maxBlockBytes bounds the memory of a block: 32 million requests, 9 hours at 1000 per second.
	maxBlockBytes = 512 << 20
)

// CheckMemory refuses a plan with a block that would take more than 512 MiB to record.
func CheckMemory(plan *measure.Plan) error {
	for i, b := range plan.Blocks {
		n := int64(b.Connections)
		if bytes := n*(plan.PerConnection(b)*sampleBytes+connBytes(plan.Endpoints[b.Arm])) + histogramBytes; bytes > maxBlockBytes {
			return fmt.Errorf("block %d: %d requests over %d connections take %d MiB to record, at most %d MiB are allowed: shorten the duration or use more pairs",
				i, n*plan.PerConnection(b), n, bytes>>20, maxBlockBytes>>20)
		}
	}
	return nil
}

// Environment of a run, with what a test may want to be different.
type Environment struct {
	// ProcRoot is where /proc is mounted; empty means /proc.
	ProcRoot string
	// PathPatience is how long an arm's path may take to work before a block; zero means that it must work at once.
	PathPatience time.Duration
	// HostPatience is how long the actors' hosts may take to be ready; zero means that they must be at once.
	HostPatience time.Duration
	// ExportQuiet is for how long nothing more may arrive at the trace sink before all is taken to be there.
	ExportQuiet time.Duration
	// Loading is called as the load of the block with this index begins, and with the number of blocks when there is none left.
	Loading func(block int)
	// Measured is called with what each measured block recorded.
	Measured func(measure.BlockReport)
}

// RunPlan makes the measurement that a valid plan describes, block after block, and returns what was recorded. An error is a *Failure
// or, when ctx has ended, ctx's.
func RunPlan(ctx context.Context, plan *measure.Plan, env Environment) (*measure.Report, error) {
	if env.Loading == nil {
		env.Loading = func(int) {}
	}
	if env.Measured == nil {
		env.Measured = func(measure.BlockReport) {}
	}
	plan = anchored(plan, time.Now())
	seen, err := observe(ctx, plan)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if err := awaitHosts(ctx, plan.Actors, env.HostPatience); err != nil {
		return nil, err
	}
	if err := awaitSpread(ctx, plan, env.HostPatience); err != nil {
		return nil, err
	}
	seen.CPUs = runtime.NumCPU()
	sink := lookAtSink(ctx, plan.SinkURL)
	r := &run{plan: plan, env: env, ids: newActorIDs(plan), counters: newCounters(plan, env.ProcRoot), report: &measure.Report{
		Version: measure.Version, Run: plan.Run, Attempt: plan.Attempt, RPS: plan.RPS, URLs: plan.URLs(), Actors: plan.Actors, Observed: seen, Blocks: []measure.BlockReport{},
	}}
	for i, b := range plan.Blocks {
		if err := r.block(ctx, i, b); err != nil {
			return nil, err
		}
	}
	env.Loading(len(plan.Blocks))
	r.report.Usage = r.counters.series()
	if err := sink.conclude(ctx, &r.report.Observed, env.ExportQuiet); err != nil {
		return nil, err
	}
	return r.report, nil
}

type run struct {
	plan     *measure.Plan
	env      Environment
	ids      *actorIDs
	counters *counters
	report   *measure.Report
}

// block opens its own connections, primes them, and drives its load.
func (r *run) block(ctx context.Context, i int, b measure.Block) error {
	conns, err := r.open(ctx, b)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	defer hangUp(conns)
	// What the block before has left behind is cleared away now rather than during this one.
	runtime.GC()
	if b.Warmup {
		return r.warmUp(ctx, i, b, conns)
	}
	return r.measured(ctx, i, b, conns)
}

// open makes the connections of a block and primes them, and tries again for a while. Before an arm's first load, because a Service
// answers on a node only once its kube-proxy has heard of the pod, and a sidecar finds another only once its name resolves, both of
// which may come moments after the pods are ready. Later, because a container may be just being restarted: that makes a block invalid,
// and is no reason to lose the others.
func (r *run) open(ctx context.Context, b measure.Block) ([]*connection, error) {
	deadline := time.Now().Add(r.env.PathPatience)
	for {
		conns, err := r.openOnce(ctx, b)
		if err == nil || !time.Now().Before(deadline) {
			return conns, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(probePause):
		}
	}
}

func (r *run) openOnce(ctx context.Context, b measure.Block) ([]*connection, error) {
	conns, err := dial(r.plan, b, r.plan.PerConnection(b), r.ids)
	if err != nil {
		return nil, &Failure{Cause: measure.CausePath, Message: err.Error()}
	}
	// One that asks, and one over each connection.
	r.sent(b.Arm, 1+int64(len(conns)))
	if err := prime(ctx, r.plan, r.endpoint(b), conns); err != nil {
		hangUp(conns)
		return nil, err
	}
	if r.ids != nil && b.Warmup && b.Arm == measure.Dapr {
		r.ids.activate(ctx, conns)
	}
	return conns, nil
}

// endpoint that one request of the block goes to.
func (r *run) endpoint(b measure.Block) measure.Endpoint {
	endpoint := r.plan.Endpoints[b.Arm]
	if r.ids == nil {
		return endpoint
	}
	return r.ids.in(endpoint, r.ids.next())
}

// warmUp is load whose figures are thrown away. One of no duration was done by priming.
func (r *run) warmUp(ctx context.Context, i int, b measure.Block, conns []*connection) error {
	if b.Duration == 0 {
		r.env.Loading(i)
		return nil
	}
	report, err := r.load(ctx, i, b, conns)
	if err != nil {
		return err
	}
	if report.Succeeded == 0 {
		endpoint := r.endpoint(b)
		return ask(ctx, r.plan, endpoint).explain(r.plan, endpoint.URL, mostFrequent(report.Errors))
	}
	return nil
}

func (r *run) measured(ctx context.Context, i int, b measure.Block, conns []*connection) error {
	index := len(r.report.Blocks)
	if err := until(ctx, r.plan.Due(b), countersLead); err != nil {
		return err
	}
	r.counters.read(ctx, index, everything)
	tracesBefore := r.traces(ctx, b)
	nodesBefore := r.counters.nodes()
	stopSampling := r.counters.sampling(ctx, index)
	report, err := r.load(ctx, i, b, conns)
	stopSampling()
	if err != nil {
		return err
	}
	r.counters.read(ctx, index, everything)
	report.Steal = steal(nodesBefore, r.counters.nodes())
	r.count(tracesBefore, r.traces(ctx, b))
	r.report.Blocks = append(r.report.Blocks, report)
	r.env.Measured(report)
	return nil
}

// traces are what the target's applications have counted so far, by pod; none where nobody counts, or outside the Dapr arm.
func (r *run) traces(ctx context.Context, b measure.Block) map[string]measure.Traces {
	out := map[string]measure.Traces{}
	if b.Arm != measure.Dapr {
		return out
	}
	for pod, url := range r.plan.TracesURLs {
		if traces, err := r.counters.fetch.Traces(ctx, url); err == nil {
			out[pod] = traces
		}
	}
	return out
}

// count adds what has come between two looks. A target that was restarted in between counts from 0 again.
func (r *run) count(before, after map[string]measure.Traces) {
	seen := &r.report.Observed
	for pod, a := range after {
		b, ok := before[pod]
		if !ok || a.Traced < b.Traced {
			continue
		}
		seen.Traced += a.Traced - b.Traced
		seen.Sampled += a.Sampled - b.Sampled
		if len(r.plan.TracesURLs) > 1 {
			if seen.TracedBy == nil {
				seen.TracedBy = map[string]int64{}
			}
			seen.TracedBy[pod] += a.Traced - b.Traced
		}
	}
}

// load waits for the moment at which the block is due, if the plan has one, and sends its load.
func (r *run) load(ctx context.Context, i int, b measure.Block, conns []*connection) (measure.BlockReport, error) {
	due := r.plan.Due(b)
	if err := until(ctx, due, 0); err != nil {
		return measure.BlockReport{}, err
	}
	r.env.Loading(i)
	report, err := drive(ctx, r.plan, b, conns)
	if ctx.Err() != nil {
		return report, ctx.Err()
	}
	if err != nil {
		return report, failureOf(err)
	}
	if !due.IsZero() {
		// By the same clock as due: how late the block was does not depend on the time of day.
		report.Due, report.Start, report.End = due, due.Add(report.Start.Sub(due)), due.Add(report.End.Sub(due))
	}
	r.sent(b.Arm, report.Planned-report.Skipped)
	return report, nil
}

// sent counts the requests that the sink may get a trace of.
func (r *run) sent(arm measure.Arm, n int64) {
	if arm == measure.Dapr && r.plan.SinkURL != "" {
		r.report.Observed.Sent += n
	}
}

// anchored is a plan whose start is counted from now by the clock that nobody sets: one that is set during the run changes nothing then.
func anchored(plan *measure.Plan, now time.Time) *measure.Plan {
	if plan.Start.IsZero() {
		return plan
	}
	out := *plan
	// The difference is that of two times of day; what is added to now keeps its monotonic reading.
	out.Start = now.Add(plan.Start.Sub(now))
	return &out
}

// countersLead is how long before a block is due its counters are read: a dozen pages of metrics are read at once, in some 20 ms on an
// idle node. What lies between the readings counts as the block's time, and this is 1% of a block of 10 s.
const countersLead = 100 * time.Millisecond

// until waits for the moment that lies so long before due; not at all if that is over, or due is zero. The error is ctx's.
func until(ctx context.Context, due time.Time, before time.Duration) error {
	if due.IsZero() {
		return nil
	}
	timer := time.NewTimer(time.Until(due) - before)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func mostFrequent(errors map[int]int64) (code int) {
	code = noAnswer
	for c, n := range errors {
		if n > errors[code] || (n == errors[code] && c > code) {
			code = c
		}
	}
	return code
}

// failureOf turns any error of RunPlan into a Failure.
func failureOf(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return &Failure{Cause: measure.CauseInternal, Message: err.Error()}
}
