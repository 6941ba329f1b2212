package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/stage"
)

// The index of unfinished runs.
const (
	indexActive = "status.active"
	indexTrue   = "true"
)

func active(o client.Object) []string {
	if run, ok := o.(*v1alpha1.PerfRun); ok && !run.Status.Phase.Finished() && run.DeletionTimestamp == nil {
		return []string{indexTrue}
	}
	return nil
}

// activeRuns are the unfinished runs, from an index of the cache, so that finished ones cost nothing. Not to be changed: they are the cache's own.
func (r *PerfRunReconciler) activeRuns(ctx context.Context) ([]v1alpha1.PerfRun, error) {
	var list v1alpha1.PerfRunList
	if err := r.List(ctx, &list, client.MatchingFields{indexActive: indexTrue}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing unfinished PerfRuns: %w", err)
	}
	return list.Items, nil
}

// holds tells whether a run has the cluster: it may have pods, and load. One that is being deleted holds nobody up: its load is stopped.
func holds(run *v1alpha1.PerfRun) bool {
	switch run.Status.Phase {
	case v1alpha1.PhasePreparing, v1alpha1.PhaseMeasuring, v1alpha1.PhaseCollecting:
		return run.DeletionTimestamp == nil
	default:
		return false
	}
}

// waits tells whether a run is in the queue.
func waits(run *v1alpha1.PerfRun) bool {
	return (run.Status.Phase == "" || run.Status.Phase == v1alpha1.PhaseQueued) && exclusive(run) && !ptr.Deref(run.Spec.Suspend, false) &&
		run.DeletionTimestamp == nil
}

func exclusive(run *v1alpha1.PerfRun) bool { return ptr.Deref(run.Spec.Exclusive, true) }

// inOrder is the order of the queue: by creation; runs of one second by namespace and name.
func inOrder(a, b *v1alpha1.PerfRun) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// ahead counts the exclusive runs that an exclusive one waits for: those that hold the cluster, and those that were created before it.
func (r *PerfRunReconciler) ahead(ctx context.Context, run *v1alpha1.PerfRun) (int, error) {
	if !exclusive(run) {
		return 0, nil
	}
	runs, err := r.activeRuns(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for i := range runs {
		other := &runs[i]
		switch {
		case other.UID == run.UID || !exclusive(other):
		case holds(other), waits(other) && (other.UID == r.started || inOrder(other, run) < 0):
			n++
		}
	}
	return n, nil
}

// leaves notes a run that has just left the queue, as the cache may not show yet, so that no other is let out as well. An older run may
// come into the queue at any time.
func (r *PerfRunReconciler) leaves(before, now *v1alpha1.PerfRun) {
	if waits(before) && holds(now) {
		r.started = now.UID
	}
}

// shown forgets that a run has left the queue once the cache shows it.
func (r *PerfRunReconciler) shown(run *v1alpha1.PerfRun) {
	if r.started == run.UID && !waits(run) {
		r.started = ""
	}
}

// beside names the other runs that hold the cluster.
func (r *PerfRunReconciler) beside(ctx context.Context, run *v1alpha1.PerfRun) ([]string, error) {
	runs, err := r.activeRuns(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for i := range runs {
		if other := &runs[i]; other.UID != run.UID && holds(other) {
			out = append(out, other.Namespace+"/"+other.Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// share adds the runs that have the cluster at this moment to those that had it while this one measured.
func share(o stage.Observation, status *v1alpha1.PerfRunStatus) {
	if status.Environment == nil {
		return
	}
	with := &status.Environment.SharedWith
	for _, name := range o.Beside {
		if len(*with) < v1alpha1.MaxSharedWith && !slices.Contains(*with, name) {
			*with = append(*with, name)
		}
	}
}

func sharedWith(status *v1alpha1.PerfRunStatus) []string {
	if status.Environment == nil {
		return nil
	}
	return status.Environment.SharedWith
}

// queueMoves selects the events after which another run may have its turn, another place, or company.
var queueMoves = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.PerfRun)
		now, ok2 := e.ObjectNew.(*v1alpha1.PerfRun)
		return ok && ok2 && (holds(before) != holds(now) || waits(before) != waits(now))
	},
	DeleteFunc: func(e event.DeleteEvent) bool {
		run, ok := e.Object.(*v1alpha1.PerfRun)
		return ok && (holds(run) || waits(run))
	},
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// queueMoved wakes whom a move concerns: the run whose turn it is, those near the front whose place is another now, and where a run has
// begun, those that measure already.
func (r *PerfRunReconciler) queueMoved(ctx context.Context, moved client.Object) []reconcile.Request {
	runs, err := r.activeRuns(ctx)
	if err != nil {
		return nil
	}
	var queue []*v1alpha1.PerfRun
	var out []reconcile.Request
	wake := func(run *v1alpha1.PerfRun) {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(run)})
	}
	held := 0
	for i := range runs {
		switch run := &runs[i]; {
		case waits(run):
			queue = append(queue, run)
		case holds(run):
			if exclusive(run) {
				held++
			}
			if run.UID != moved.GetUID() {
				wake(run)
			}
		}
	}
	slices.SortFunc(queue, inOrder)
	for i, run := range queue[:min(len(queue), stage.Told)] {
		if place := i + held; place == 0 || int(run.Status.QueuePosition) != place {
			wake(run)
		}
	}
	return out
}
