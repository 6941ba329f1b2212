package stage

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/plan"
)

// grace is what a measurement may take beyond its load's time: priming, the readings between the blocks,
// and an API server or operator that is away for a while.
const grace = 3 * time.Minute

// collectPatience is how long the results may take after the load has ended.
const collectPatience = 5 * time.Minute

// measuring follows the recorded attempt. A plan is posted only to the very process that the attempt was recorded for and that
// does not know it yet, so that load is sent once whatever restarts. What fails on one load tester ends the load of all.
func measuring(o Observation) Decision {
	attempt := o.Run.Status.Attempt
	if attempt == nil {
		return failed(v1alpha1.ReasonMeasurementFailed, "the status has lost its attempt: something other than perfrun has written it")
	}
	if end := over(o); end != nil {
		end.Action = Stop
		return *end
	}
	going := Decision{Action: Follow, Phase: v1alpha1.PhaseMeasuring, Reason: v1alpha1.ReasonMeasuring, After: pollMeasuring}
	if i := slices.IndexFunc(o.Testers, func(t Tester) bool { return t.Err != nil }); i >= 0 {
		going.Action = None
		going.Message = fmt.Sprintf("the load tester in pod %s does not answer (%v); trying again", o.LoadTester.Pods[i].Name, o.Testers[i].Err)
		return going
	}
	if slices.ContainsFunc(o.Testers, func(t Tester) bool { return t.Progress == nil }) {
		going.Action, going.Message, going.After = Start, "starting the load", time.Second
		if mustSchedule(o) {
			going.Action, going.After = Schedule, soon
		}
		return going
	}
	p := Together(o.Testers)
	if p.State == measure.Done {
		return Decision{Phase: v1alpha1.PhaseCollecting, Reason: v1alpha1.ReasonCollecting, Message: "reading the report", After: soon}
	}
	going.Message = fmt.Sprintf("block %d of %d measured", p.MeasuredDone, p.Measured)
	// Near the end the next look is when the load ends, so that the verdict does not wait for the poll.
	going.After = min(pollMeasuring, max(p.LoadTime-p.Elapsed, 500*time.Millisecond))
	return rebalancing(o, going)
}

// over tells what has put an end to a measurement; nil if nothing has.
func over(o Observation) *Decision {
	attempt := o.Run.Status.Attempt
	end := func(reason, message string) *Decision {
		d := failed(reason, message)
		return &d
	}
	for _, tester := range attempt.LoadTesters {
		if !slices.ContainsFunc(o.LoadTester.Pods, func(pod *corev1.Pod) bool { return pod.Name == tester.Pod }) {
			return end(v1alpha1.ReasonLoadTesterLost,
				"the load tester's pod "+tester.Pod+" went away during the measurement; what it had measured is lost")
		}
	}
	// All are there, so that the two lists have the same order: that of the pods' names.
	for i, tester := range attempt.LoadTesters {
		if info := o.Testers[i].Info; info != nil && info.Instance != tester.Instance {
			return end(v1alpha1.ReasonLoadTesterLost, "the load tester in pod "+tester.Pod+
				" restarted during the measurement; what it had measured is lost"+lastEnds(o.LoadTester.Pods[i]))
		}
	}
	if d := otherContract(o); d != nil {
		return d
	}
	for _, tester := range o.Testers {
		if p := tester.Progress; p != nil && p.State != measure.Running && p.State != measure.Done {
			return end(failureReason(p), p.Message+mtlsAdvice(p)+targetGone(o))
		}
	}
	if late := overdue(o); late != "" {
		return end(v1alpha1.ReasonMeasurementFailed, late)
	}
	return nil
}

// minNotice is how long before their start plans must be posted.
const minNotice = 2 * time.Second

// mustSchedule tells whether a common start has to be found: there is none yet, or nobody knows of it and it is too late to tell. Once one
// load tester knows its plan, the others get theirs as they are, late or not.
func mustSchedule(o Observation) bool {
	attempt := o.Run.Status.Attempt
	if len(attempt.LoadTesters) == 1 || slices.ContainsFunc(o.Testers, func(t Tester) bool { return t.Progress != nil }) {
		return false
	}
	return attempt.LoadStartTime == nil || o.Now.Add(minNotice).After(attempt.LoadStartTime.Time)
}

// Together is the progress of an attempt's load testers as one: that of the last. Nil unless all have told theirs.
func Together(testers []Tester) *measure.Progress {
	var out *measure.Progress
	for _, t := range testers {
		p := t.Progress
		if p == nil {
			return nil
		}
		behind := out == nil || out.State == measure.Done && p.State != measure.Done
		if behind || p.State == out.State && p.Elapsed < out.Elapsed {
			out = p
		}
	}
	return out
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

// mtlsAdvice names what should have made the sidecars as the run asks.
func mtlsAdvice(p *measure.Progress) string {
	if p.Cause != measure.CauseMTLS {
		return ""
	}
	return "; perfrun's webhook switches it for a run's pods, and did not: is it installed (kubectl get mutatingwebhookconfiguration " +
		plan.MTLSConfiguration + "), and does it come after the one of Dapr's injector?"
}

func failureReason(p *measure.Progress) string {
	switch {
	case p.State == measure.Stopped:
		return v1alpha1.ReasonMeasurementFailed
	case p.Cause == measure.CauseMTLS:
		return v1alpha1.ReasonMTLSMismatch
	case p.Cause == measure.CausePath:
		return v1alpha1.ReasonPathNotWorking
	case p.Cause == measure.CauseActorHost:
		return v1alpha1.ReasonActorHostMissing
	default:
		return v1alpha1.ReasonMeasurementFailed
	}
}

// deadline for a whole measurement. A block is cut off at 1.5 times its length and two request timeouts (internal/loadtester), so a plan
// of blocks that all run into theirs still ends within it.
func deadline(s v1alpha1.Settings) time.Duration {
	load := plan.LoadTime(s)
	return load + load/2 + time.Duration(len(plan.Blocks(s)))*10*time.Second + grace
}

// overdue tells that an attempt takes too long; empty if it does not. A load that has ended is never late: an operator that comes back after
// hours finds the report where it is.
func overdue(o Observation) string {
	attempt := o.Run.Status.Attempt
	var msg string
	switch p := Together(o.Testers); {
	case attempt.EndTime != nil && o.Now.Sub(attempt.EndTime.Time) > collectPatience:
		msg = fmt.Sprintf("no results %s after the load had ended", collectPatience)
		if c := meta.FindStatusCondition(o.Run.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
			msg += ": " + c.Message
		}
	case attempt.EndTime == nil && (p == nil || p.State != measure.Done) && o.Now.Sub(attempt.StartTime.Time) > deadline(o.Settings):
		msg = fmt.Sprintf("no report %s after the start", deadline(o.Settings).Round(time.Second))
	default:
		return ""
	}
	for i, tester := range o.Testers {
		if tester.Err != nil {
			msg += fmt.Sprintf("; the load tester in pod %s does not answer: %v", o.LoadTester.Pods[i].Name, tester.Err)
		}
	}
	return msg
}

// targetGone names what a load that finds no way any more may come from.
func targetGone(o Observation) string {
	name := o.Run.Status.Attempt.Target
	if pod := o.Target.Pod(); pod != nil && pod.Name == name {
		return ""
	}
	return "; the target's pod " + name + " went away during the measurement"
}

func lastEnds(pod *corev1.Pod) string {
	for _, s := range containerStatuses(pod) {
		if s.Name == plan.RoleLoadTester {
			return lastEnd(s)
		}
	}
	return ""
}
