package controllers

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/stage"
)

// change records what has become of the last change of the actor hosts, and the next one before it is made.
func (r *PerfRunReconciler) change(o stage.Observation, status *v1alpha1.PerfRunStatus) {
	changes, _ := stage.NextChanges(o)
	now := metav1.NewMicroTime(r.Now())
	n := len(status.Rebalances)
	if changes.Obstacle != "" {
		status.Rebalances[n-1].Note = changes.Obstacle
	}
	if changes.Done {
		last := &status.Rebalances[n-1]
		last.DoneTime, last.Note = &now, ""
		switch {
		case last.Change == v1alpha1.HostAdded:
			last.Host = o.Joining.ReadyPod().Name
		case n > 1:
			last.Host = status.Rebalances[n-2].Host
		}
	}
	if changes.Begin {
		next := v1alpha1.Rebalance{Change: v1alpha1.HostAdded, Pair: int32(n/2) + 1, Time: now} //nolint:gosec // at most 64
		if n%2 == 1 {
			next.Change = v1alpha1.HostRemoved
		}
		status.Rebalances = append(status.Rebalances, next)
	}
	status.Progress = progress(o)
}
