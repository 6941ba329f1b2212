package controllers

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/schedule"
	"perfrun.dev/perfrun/internal/trend"
)

// allKnown tells whether the latest results hold all runs. Where the history keeps older ones, the series itself is looked at.
func allKnown(results []v1alpha1.RunResult, finished []*v1alpha1.PerfRun) bool {
	for _, run := range finished {
		if !trend.Has(results, run) {
			return false
		}
	}
	return true
}

// series of a schedule as it is stored; an empty one without UID where there is none yet.
func (r *PerfScheduleReconciler) series(ctx context.Context, s *v1alpha1.PerfSchedule) (*v1alpha1.PerfSeries, error) {
	series := &v1alpha1.PerfSeries{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(s), series)
	switch {
	case apierrors.IsNotFound(err):
		series = &v1alpha1.PerfSeries{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}}
		if err := controllerutil.SetControllerReference(s, series, r.Scheme()); err != nil {
			return nil, fmt.Errorf("making the series the schedule's own: %w", err)
		}
		return series, nil
	case err != nil:
		return nil, fmt.Errorf("reading the series: %w", err)
	case !metav1.IsControlledBy(series, s):
		return nil, fmt.Errorf("keeping results: there is a PerfSeries %s that does not belong to this schedule", s.Name)
	}
	return series, nil
}

// addResults stores the series before any of the runs may be deleted.
func (r *PerfScheduleReconciler) addResults(ctx context.Context, series *v1alpha1.PerfSeries, finished []*v1alpha1.PerfRun) error {
	grown := false
	for _, known := range finished {
		if trend.Has(series.Results, known) {
			continue
		}
		run, err := r.whole(ctx, known)
		if err != nil {
			return err
		}
		added, err := trend.Add(series, run)
		if err != nil {
			return err
		}
		grown = grown || added
	}
	if !grown {
		return nil
	}
	var err error
	if series.UID == "" {
		err = r.Create(ctx, series)
	} else {
		err = r.Update(ctx, series)
	}
	if err != nil {
		return fmt.Errorf("storing the series: %w", err)
	}
	return nil
}

// whole reads a run past the cache, which holds nothing of what a finished one has measured. By a list, since that is what the operator may do with runs.
func (r *PerfScheduleReconciler) whole(ctx context.Context, run *v1alpha1.PerfRun) (*v1alpha1.PerfRun, error) {
	var list v1alpha1.PerfRunList
	if err := r.Live.List(ctx, &list, client.InNamespace(run.Namespace), client.MatchingFields{"metadata.name": run.Name}); err != nil {
		return nil, fmt.Errorf("reading run %s: %w", run.Name, err)
	}
	if len(list.Items) == 0 {
		// It was deleted meanwhile, and its figures with it.
		return run, nil
	}
	return &list.Items[0], nil
}

// conclude puts what was found into the status.
func (w *scheduleWork) conclude(series *v1alpha1.PerfSeries) error {
	found, err := trend.Analyse(series, w.Settings)
	if err != nil {
		return err
	}
	status := &w.next.Status
	fresh := trend.Fresh(series, status.Changes, found.Changes)
	status.Results, status.Changes = found.Results, found.Changes
	if len(found.Steps) > 0 && (len(status.Steps) == 0 || status.Steps[0].Since != found.Steps[0].Since) {
		w.tell(corev1.EventTypeNormal, v1alpha1.ReasonEnvironmentChanged, "Compare",
			fmt.Sprintf("from run %s on: %s; it is compared only with results of the same", found.Steps[0].Since, strings.Join(found.Steps[0].Causes, ", ")))
	}
	status.Steps = found.Steps
	if len(series.Results) > 0 {
		status.Series = &v1alpha1.SeriesReference{Name: series.Name, Results: int32(len(series.Results))}
	}
	w.condition(v1alpha1.ConditionRegressed, found.Regressed, found.Reason, found.Message)
	w.tellChanges(fresh)
	return nil
}

// tellChanges makes one event of all regressions that are new, and one of all improvements.
func (w *scheduleWork) tellChanges(fresh []v1alpha1.FigureChange) {
	var worse, better []string
	for _, c := range fresh {
		if c.Direction == v1alpha1.DirectionRegression {
			worse = append(worse, trend.Describe(c))
		} else {
			better = append(better, trend.Describe(c))
		}
	}
	if len(worse) > 0 {
		w.tell(corev1.EventTypeWarning, v1alpha1.ReasonRegression, "Compare", strings.Join(worse, "; "))
	}
	if len(better) > 0 {
		w.tell(corev1.EventTypeNormal, v1alpha1.ReasonImprovement, "Compare", strings.Join(better, "; "))
	}
}

// summarise writes down what is seen of the runs in each step.
func (w *scheduleWork) summarise() {
	status := &w.next.Status
	status.Active = schedule.Active(w.Runs)
	status.Active = status.Active[:min(len(status.Active), maxActive)]
	for i := range w.Runs {
		run := &w.Runs[i].Status
		if run.Phase == v1alpha1.PhaseSucceeded && (status.LastSuccessfulTime == nil || status.LastSuccessfulTime.Before(run.CompletionTime)) {
			status.LastSuccessfulTime = run.CompletionTime
		}
	}
}

// count adds up what did not run, and settles the times up to now.
func (w *scheduleWork) count(d schedule.Decision) {
	status := &w.next.Status
	status.Skipped += d.Skipped
	status.Missed += d.Missed
	if !d.Decided.IsZero() {
		decided := metav1.NewTime(d.Decided)
		status.DecidedTime = &decided
	}
	if d.Skipped > 0 {
		w.tell(corev1.EventTypeNormal, v1alpha1.ReasonRunSkipped, "Skip",
			fmt.Sprintf("no run for %s: %s is not finished", d.Decided.Format("2006-01-02 15:04 MST"), strings.Join(schedule.Active(w.Runs), ", ")))
	}
	if d.Missed > 0 {
		number := fmt.Sprint(d.Missed)
		if d.TooMany {
			number = "more than " + number
		}
		w.tell(corev1.EventTypeWarning, v1alpha1.ReasonRunsMissed, "Skip", number+" scheduled time(s) have passed without a run")
	}
}

func (w *scheduleWork) tell(kind, reason, action, note string) {
	w.events = append(w.events, scheduleEvent{kind, reason, action, note})
}

func (w *scheduleWork) condition(kind string, value metav1.ConditionStatus, reason, message string) {
	if len(message) > maxMessage {
		message = message[:maxMessage] + " ..."
	}
	meta.SetStatusCondition(&w.next.Status.Conditions, metav1.Condition{
		Type: kind, Status: value, Reason: reason, Message: message, ObservedGeneration: w.next.Generation})
}

// shortened fits a note into an event, which holds at most 1024 bytes of it.
func shortened(note string) string {
	if len(note) > 1000 {
		return note[:1000] + " ..."
	}
	return note
}
