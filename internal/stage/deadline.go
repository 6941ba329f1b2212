package stage

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// bounded ends a run that takes longer than spec.activeDeadlineSeconds, and has it looked at when they are over. A load that has ended is
// not lost to it.
func bounded(o Observation, d Decision) Decision {
	limit, started := o.Run.Spec.ActiveDeadlineSeconds, o.Run.Status.StartTime
	ended := d.Action == Collect || d.Phase == v1alpha1.PhaseCollecting && o.Run.Status.Phase == v1alpha1.PhaseMeasuring
	if limit == nil || started == nil || ended || d.Phase.Finished() {
		return d
	}
	deadline := time.Duration(*limit) * time.Second
	if left := started.Add(deadline).Sub(o.Now); left > 0 {
		d.After = min(d.After, left)
		return d
	}
	out := failed(v1alpha1.ReasonDeadlineExceeded, fmt.Sprintf("not measured %s after it left the queue, which is spec.activeDeadlineSeconds; it was %s: %s",
		deadline, o.Run.Status.Phase, d.Message))
	if o.Run.Status.Phase != v1alpha1.PhasePreparing {
		out.Action = Stop
	}
	return out
}

// StepError is why a step could not be done, with a reason of its own for the condition.
type StepError struct {
	Reason string
	Err    error
}

// Error is the cause's.
func (e *StepError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *StepError) Unwrap() error { return e.Err }

// Obstructed is what becomes of a run whose next step could not be done: it stays where it is, says why and tries again; what still fails
// at the deadline is its verdict.
func Obstructed(o Observation, err error) Decision {
	phase := o.Run.Status.Phase
	reason, verdict := string(phase), v1alpha1.ReasonStepFailed
	var known *StepError
	if errors.As(err, &known) {
		reason, verdict = known.Reason, known.Reason
	}
	if limit, since := patience(o); limit > 0 && since > limit {
		return failed(verdict, fmt.Sprintf("not done after %s: %s", limit.Round(time.Second), err))
	}
	return bounded(o, Decision{Phase: phase, Reason: reason, Message: err.Error()})
}

// patience is how long the run's next step may fail, and how long ago it could first have been done. A measurement's own deadline is in measuring.
func patience(o Observation) (limit, since time.Duration) {
	readings := o.Run.Status.ControlPlaneReadings
	switch started := o.Run.Status.StartTime; {
	case o.Run.Status.Phase == v1alpha1.PhasePreparing && started != nil:
		return o.PrepareTimeout, o.Now.Sub(started.Time)
	case o.Run.Status.Phase == v1alpha1.PhaseMeasuring && len(readings) > 0:
		return o.Settings.Duration.Duration + fleetPatience(o), o.Now.Sub(readings[len(readings)-1].Time.Time)
	default:
		return 0, 0
	}
}

// HalfMade tells whether a run may have made some of its objects, but no Deployment: it could not go on, or not in time. Elsewhere the
// Deployments, which the cache knows, tell whether something is left.
func HalfMade(run *v1alpha1.PerfRun) bool {
	c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded)
	return run.Status.Phase == v1alpha1.PhaseError && run.Status.Attempt == nil && c != nil &&
		(c.Reason == v1alpha1.ReasonStepFailed || c.Reason == v1alpha1.ReasonDeadlineExceeded)
}

// finished cleans up: at once, or when what was kept has been kept for long enough.
func finished(o Observation) Decision {
	d := Decision{Phase: o.Run.Status.Phase}
	if o.LoadTester.Deployment == nil && o.Target.Deployment == nil && o.Fleet.Deployment == nil && len(o.Left) == 0 {
		return d
	}
	switch cleanup := ptr.Deref(o.Run.Spec.Cleanup, v1alpha1.CleanupAlways); {
	case cleanup == v1alpha1.CleanupAlways, cleanup == v1alpha1.CleanupOnSuccess && d.Phase == v1alpha1.PhaseSucceeded:
		d.Action = Cleanup
	case o.Run.Spec.TTLSecondsAfterFinished != nil && o.Run.Status.CompletionTime != nil:
		kept := time.Duration(*o.Run.Spec.TTLSecondsAfterFinished) * time.Second
		if d.After = o.Run.Status.CompletionTime.Add(kept).Sub(o.Now); d.After <= 0 {
			d.Action, d.After = Cleanup, 0
		}
	}
	return d
}
