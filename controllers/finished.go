package controllers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// lastApplied is where `kubectl apply` keeps the object once more.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// cached is what the cache keeps of a PerfRun. Of a finished one that is how it ended, and not what was measured or under what conditions:
// nobody here asks for that again, and a thousand of them would fill the operator's memory. So the status of a finished run is never written from
// the cache.
func cached(object any) (any, error) {
	run, ok := object.(*v1alpha1.PerfRun)
	if !ok {
		return object, nil
	}
	run.ManagedFields = nil
	delete(run.Annotations, lastApplied)
	if s := &run.Status; s.Phase.Finished() {
		*s = v1alpha1.PerfRunStatus{Phase: s.Phase, Conditions: s.Conditions, StartTime: s.StartTime, CompletionTime: s.CompletionTime,
			VoidAttempts: s.VoidAttempts, Attempt: s.Attempt}
		if s.Attempt != nil {
			s.Attempt.Restarts = nil
		}
	}
	return run, nil
}

// acknowledge says of a finished run's conditions that they hold for its latest generation too: what may still be changed does not
// change a verdict. Whoever waits for the operator to have seen a change, as Argo CD's health does, waits for this.
func (r *PerfRunReconciler) acknowledge(ctx context.Context, run *v1alpha1.PerfRun) error {
	verdict := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded)
	if !run.Status.Phase.Finished() || verdict == nil || verdict.ObservedGeneration == run.Generation {
		return nil
	}
	// The conditions alone: of the rest the cache has a part only.
	next := run.DeepCopy()
	for i := range next.Status.Conditions {
		next.Status.Conditions[i].ObservedGeneration = run.Generation
	}
	err := r.Status().Patch(ctx, next, client.MergeFromWithOptions(run, client.MergeFromWithOptimisticLock{}))
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("writing the generation that the verdict holds for: %w", err)
	}
	return nil
}
