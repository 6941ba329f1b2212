package stage

import (
	"fmt"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/plan"
)

// grace is what a measurement may take beyond its load's time: priming, the readings between the blocks,
// and an API server or operator that is away for a while.
const grace = 3 * time.Minute

// measuring follows the recorded attempt. The plan is posted only to the very process that the attempt was recorded for and that
// does not know it yet, so that load is sent once whatever restarts.
func measuring(o Observation) Decision {
	attempt, tester := o.Run.Status.Attempt, o.Tester
	if attempt == nil {
		return failed(v1alpha1.ReasonMeasurementFailed, "the status has lost its attempt: something other than perfrun has written it")
	}
	if o.LoadTester.Pod == nil || o.LoadTester.Pod.Name != attempt.LoadTester {
		return failed(v1alpha1.ReasonLoadTesterLost,
			"the load tester's pod "+attempt.LoadTester+" went away during the measurement; what it had measured is lost")
	}
	if tester.Info != nil && tester.Info.Instance != attempt.Instance {
		return failed(v1alpha1.ReasonLoadTesterLost, "the load tester restarted during the measurement; what it had measured is lost"+lastEnds(o))
	}
	if late := o.Now.Sub(attempt.StartTime.Time) > deadline(o.Settings); late {
		return failed(v1alpha1.ReasonMeasurementFailed, overdue(o))
	}
	going := Decision{Action: Follow, Phase: v1alpha1.PhaseMeasuring, Reason: v1alpha1.ReasonMeasuring, After: pollMeasuring}
	switch p := tester.Progress; {
	case tester.Err != nil:
		going.Action = None
		going.Message = fmt.Sprintf("the load tester does not answer (%v); trying again", tester.Err)
		return going
	case p == nil:
		going.Action, going.Message = Start, "starting the load"
		return going
	case p.State == measure.Done:
		return Decision{Phase: v1alpha1.PhaseCollecting, Reason: v1alpha1.ReasonCollecting, Message: "reading the report", After: soon}
	case p.State == measure.Running:
		going.Message = fmt.Sprintf("block %d of %d measured", p.MeasuredDone, p.Measured)
		// Near the end the next look is when the load ends, so that the verdict does not wait for the poll.
		going.After = min(pollMeasuring, max(p.LoadTime-p.Elapsed, 500*time.Millisecond))
		return going
	default:
		return failed(failureReason(p), p.Message)
	}
}

// collecting reads the report until it has it, or the load tester is gone with it.
func collecting(o Observation) Decision {
	d := measuring(o)
	if d.Phase == v1alpha1.PhaseCollecting {
		d.Action, d.After = Collect, pollMeasuring
		return d
	}
	if d.Phase.Finished() {
		return d
	}
	return Decision{Phase: v1alpha1.PhaseCollecting, Reason: v1alpha1.ReasonCollecting, Message: d.Message, After: pollMeasuring}
}

func failureReason(p *measure.Progress) string {
	switch {
	case p.State == measure.Stopped:
		return v1alpha1.ReasonMeasurementFailed
	case p.Cause == measure.CauseMTLS:
		return v1alpha1.ReasonMTLSMismatch
	case p.Cause == measure.CausePath:
		return v1alpha1.ReasonPathNotWorking
	default:
		return v1alpha1.ReasonMeasurementFailed
	}
}

// deadline for a whole measurement. A block is cut off at 1.5 times its length and two request timeouts (internal/loadtester), so a plan
// of blocks that all run into theirs still ends within it.
func deadline(s v1alpha1.Settings) time.Duration {
	var load time.Duration
	blocks := plan.Blocks(s)
	for _, b := range blocks {
		load += b.Duration
	}
	return load + load/2 + time.Duration(len(blocks))*10*time.Second + grace
}

func overdue(o Observation) string {
	msg := fmt.Sprintf("no report %s after the start", deadline(o.Settings).Round(time.Second))
	if o.Tester.Err != nil {
		msg += fmt.Sprintf("; the load tester does not answer: %v", o.Tester.Err)
	}
	return msg
}

func lastEnds(o Observation) string {
	for _, s := range containerStatuses(o.LoadTester.Pod) {
		if s.Name == plan.RoleLoadTester {
			return lastEnd(s)
		}
	}
	return ""
}
