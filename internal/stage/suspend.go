package stage

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// Stops tells whether spec.suspend is to hold or to stop a run that goes on. One that is Collecting has no load left to stop, and its
// results are there.
func Stops(run *v1alpha1.PerfRun) bool {
	switch run.Status.Phase {
	case "", v1alpha1.PhaseQueued, v1alpha1.PhasePreparing, v1alpha1.PhaseMeasuring:
		return ptr.Deref(run.Spec.Suspend, false)
	default:
		return false
	}
}

// stopping ends the load. What the run created is deleted afterwards, so that nothing that goes wrong then keeps the next run waiting.
func stopping(o Observation) Decision {
	void := o.Run.Status.VoidAttempts
	if o.Run.Status.Phase == v1alpha1.PhaseMeasuring {
		void++
	}
	return Decision{Action: Stop, Phase: v1alpha1.PhaseSuspended, Reason: v1alpha1.ReasonSuspended, Message: held(void), After: soon}
}

// suspended deletes what there is, and then waits to be resumed.
func suspended(o Observation) Decision {
	d := Decision{Phase: v1alpha1.PhaseSuspended, Reason: v1alpha1.ReasonSuspended, Message: held(o.Run.Status.VoidAttempts)}
	switch {
	case len(o.Left) > 0:
		d.Action, d.After = Cleanup, pollPreparing
	case !ptr.Deref(o.Run.Spec.Suspend, false):
		return Decision{Phase: v1alpha1.PhaseQueued, Reason: v1alpha1.ReasonQueued, Message: "resumed: it starts afresh when it is its turn", After: soon}
	}
	return d
}

func held(void int32) string {
	if void == 0 {
		return "spec.suspend holds the run; when it is false, the run takes its place in the queue"
	}
	return fmt.Sprintf("spec.suspend has stopped attempt %d, of which nothing counts; when it is false, the run takes its place in the queue and starts afresh", void)
}

// deleting takes away what the run has. Owner references do that too, but only once the object is gone, which somebody's finalizer may put off.
func deleting(o Observation) Decision {
	d := Decision{Phase: o.Run.Status.Phase, Reason: v1alpha1.ReasonDeleting,
		Message: "the PerfRun is to be deleted, and its load has been stopped; it is there as long as these finalizers are: " + strings.Join(o.Run.Finalizers, ", ")}
	if len(o.Left) > 0 {
		d.Action, d.After = Remove, pollPreparing
	}
	return d
}
