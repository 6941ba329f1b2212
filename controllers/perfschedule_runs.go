package controllers

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/schedule"
)

// Marks on a schedule's runs.
const (
	// labelSchedule is the schedule's name.
	labelSchedule = "perfrun.dev/schedule"
	// annotationScheduled is the time that the run was scheduled for.
	annotationScheduled = "perfrun.dev/scheduled-at"
)

// indexSchedule finds the runs of a schedule by its UID.
const indexSchedule = "metadata.scheduleUID"

// SetupWithManager registers the reconciler, its index and its watches.
func (r *PerfScheduleReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.PerfRun{}, indexSchedule, scheduleOf); err != nil {
		return fmt.Errorf("indexing PerfRuns by their schedule: %w", err)
	}
	// A run that measures changes every second; only its beginning and its verdict concern its schedule.
	turned := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		former, ok := e.ObjectOld.(*v1alpha1.PerfRun)
		now, ok2 := e.ObjectNew.(*v1alpha1.PerfRun)
		return !ok || !ok2 || former.Status.Phase != now.Status.Phase
	}}
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	err := ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.PerfSchedule{}, builder.WithPredicates(changed)).
		Owns(&v1alpha1.PerfRun{}, builder.WithPredicates(turned)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the PerfSchedule controller: %w", err)
	}
	return nil
}

func scheduleOf(o client.Object) []string {
	if owner := metav1.GetControllerOf(o); owner != nil && owner.Kind == "PerfSchedule" {
		return []string{string(owner.UID)}
	}
	return nil
}

// runsOf are the runs of a schedule that are not being deleted.
func (r *PerfScheduleReconciler) runsOf(ctx context.Context, s *v1alpha1.PerfSchedule) ([]v1alpha1.PerfRun, error) {
	var list v1alpha1.PerfRunList
	if err := r.List(ctx, &list, client.InNamespace(s.Namespace), client.MatchingFields{indexSchedule: string(s.UID)}); err != nil {
		return nil, fmt.Errorf("listing the schedule's runs: %w", err)
	}
	out := list.Items[:0]
	for _, run := range list.Items {
		if run.DeletionTimestamp == nil {
			out = append(out, run)
		}
	}
	return out, nil
}

// create makes a run. One of that name that is the schedule's own has been made by an earlier try whose status was lost.
func (r *PerfScheduleReconciler) create(ctx context.Context, w *scheduleWork, due schedule.Run) error {
	run := runFrom(w.Schedule, due)
	if err := controllerutil.SetControllerReference(w.Schedule, run, r.Scheme()); err != nil {
		return fmt.Errorf("making run %s the schedule's own: %w", run.Name, err)
	}
	err := r.Create(ctx, run)
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	case apierrors.IsAlreadyExists(err):
		own, err := r.owns(ctx, w.Schedule, run.Name)
		if err != nil {
			return err
		}
		if !own {
			return &schedule.Invalid{Reason: v1alpha1.ReasonNameTaken,
				Message: fmt.Sprintf("there is a PerfRun %s that does not belong to this schedule; delete it, or give the schedule another name", run.Name)}
		}
	case apierrors.IsInvalid(err) || apierrors.IsForbidden(err):
		return &schedule.Invalid{Reason: v1alpha1.ReasonRunRefused, Message: "the API server refuses the run that runTemplate makes: " + err.Error()}
	case err != nil:
		return fmt.Errorf("creating run %s: %w", run.Name, err)
	default:
		w.Runs = append(w.Runs, *run)
		w.tell(corev1.EventTypeNormal, v1alpha1.ReasonRunCreated, "Create", "created PerfRun "+run.Name)
	}
	if due.Manual {
		w.next.Status.LastTrigger = w.Schedule.Annotations[schedule.AnnotationTrigger]
		return nil
	}
	at := metav1.NewTime(due.Time)
	w.next.Status.LastScheduleTime = &at
	return nil
}

// owns looks for a run past the cache, which may not have it yet. By a list, since that is what the operator may do with runs.
func (r *PerfScheduleReconciler) owns(ctx context.Context, s *v1alpha1.PerfSchedule, name string) (bool, error) {
	var list v1alpha1.PerfRunList
	if err := r.Live.List(ctx, &list, client.InNamespace(s.Namespace), client.MatchingFields{"metadata.name": name}); err != nil {
		return false, fmt.Errorf("looking for run %s: %w", name, err)
	}
	return len(list.Items) == 0 || metav1.IsControlledBy(&list.Items[0], s), nil
}

// runFrom is a run as the template has it. Nothing of the schedule's own labels and annotations is copied: Argo CD would take the run for its own.
func runFrom(s *v1alpha1.PerfSchedule, due schedule.Run) *v1alpha1.PerfRun {
	run := &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: due.Name,
		Labels: map[string]string{}, Annotations: map[string]string{}}}
	if m := s.Spec.RunTemplate.Metadata; m != nil {
		maps.Copy(run.Labels, m.Labels)
		maps.Copy(run.Annotations, m.Annotations)
	}
	run.Labels[labelSchedule] = s.Name
	if !due.Manual {
		run.Annotations[annotationScheduled] = due.Time.UTC().Format(time.RFC3339)
	}
	s.Spec.RunTemplate.Spec.DeepCopyInto(&run.Spec)
	return run
}

// replace deletes the runs that another takes the place of.
func (r *PerfScheduleReconciler) replace(ctx context.Context, w *scheduleWork, names []string) error {
	for _, name := range names {
		if err := r.delete(ctx, w, name); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		w.tell(corev1.EventTypeNormal, v1alpha1.ReasonRunReplaced, "Delete", "deleted "+strings.Join(names, ", ")+", not finished when the next run was due")
	}
	return nil
}

// delete takes a run out of the cluster and out of what was seen.
func (r *PerfScheduleReconciler) delete(ctx context.Context, w *scheduleWork, name string) error {
	for i := range w.Runs {
		run := &w.Runs[i]
		if run.Name != name {
			continue
		}
		err := r.Delete(ctx, run, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &run.UID})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting run %s: %w", name, err)
		}
		w.Runs = append(w.Runs[:i:i], w.Runs[i+1:]...)
		return nil
	}
	return nil
}
