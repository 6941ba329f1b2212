package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/schedule"
)

// PerfScheduleReconciler creates the runs that are due, keeps their results and says when these have changed.
type PerfScheduleReconciler struct {
	// Client reads PerfSchedules and PerfRuns from the cache.
	client.Client
	// Live reads past the cache: PerfSeries are large, and needed only when a result is added.
	Live client.Reader
	// Recorder writes events.
	Recorder events.EventRecorder
	// Now is the clock.
	Now func() time.Time
}

// +kubebuilder:rbac:groups=perfrun.dev,resources=perfschedules,verbs=list;watch
// +kubebuilder:rbac:groups=perfrun.dev,resources=perfschedules/status,verbs=update
// +kubebuilder:rbac:groups=perfrun.dev,resources=perfschedules/finalizers,verbs=update
// +kubebuilder:rbac:groups=perfrun.dev,resources=perfruns,verbs=create;delete
// +kubebuilder:rbac:groups=perfrun.dev,resources=perfseries,verbs=get;create;update

// Reconcile creates what is due, adds what is finished to the series, deletes what the history limits leave no room for, and writes the status once.
func (r *PerfScheduleReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s := &v1alpha1.PerfSchedule{}
	if err := r.Get(ctx, req.NamespacedName, s); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if s.DeletionTimestamp != nil {
		// Owner references take the runs and the series away.
		return ctrl.Result{}, nil
	}
	w := &scheduleWork{former: s, next: s.DeepCopy(),
		Observation: schedule.Observation{Now: r.Now(), Schedule: s, Settings: s.Spec.EffectiveSettings()}}
	var err error
	if w.Runs, err = r.runsOf(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	after, actErr := r.act(ctx, w)
	w.summarise()
	if !equality.Semantic.DeepEqual(s.Status, w.next.Status) {
		if err := r.Status().Update(ctx, w.next); err != nil {
			if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
				return ctrl.Result{RequeueAfter: 100 * time.Millisecond}, nil
			}
			return ctrl.Result{}, fmt.Errorf("writing the status: %w", err)
		}
	}
	for _, e := range w.events {
		r.Recorder.Eventf(w.next, nil, e.kind, e.reason, e.action, "%s", shortened(e.note))
	}
	return ctrl.Result{RequeueAfter: after}, actErr
}

const (
	// maxActive is how many names of unfinished runs a status holds.
	maxActive = 100
	// lookAgain bounds the time to the next look: a clock that is put forward meanwhile makes a run late by no more.
	lookAgain = 10 * time.Minute
	// refusedPause is how long the API server is left alone with a run that it refuses. A change of the template is looked at at once.
	refusedPause = time.Minute
)

// scheduleWork is one step of a schedule: what was seen, and what becomes of it.
type scheduleWork struct {
	schedule.Observation
	former, next *v1alpha1.PerfSchedule
	// events to be told once the status has been written.
	events []scheduleEvent
}

type scheduleEvent struct{ kind, reason, action, note string }

// act does what is due, and returns when to look again.
func (r *PerfScheduleReconciler) act(ctx context.Context, w *scheduleWork) (time.Duration, error) {
	var after time.Duration
	table, err := schedule.Parse(w.Settings.Schedule, w.Settings.TimeZone)
	if err == nil {
		after, err = r.follow(ctx, w, table)
	}
	var invalid *schedule.Invalid
	if errors.As(err, &invalid) {
		w.next.Status.NextScheduleTime = nil
		w.condition(v1alpha1.ConditionAccepted, metav1.ConditionFalse, invalid.Reason, invalid.Message)
		after, err = refusedPause, nil
	}
	if err != nil {
		return 0, err
	}
	if err := r.keepResults(ctx, w); err != nil {
		return 0, err
	}
	// What follows from a change of the settings is done.
	w.next.Status.Settings = &w.Settings
	return after, r.prune(ctx, w)
}

// follow creates the runs that are due.
func (r *PerfScheduleReconciler) follow(ctx context.Context, w *scheduleWork, table schedule.Timetable) (time.Duration, error) {
	d := schedule.Decide(w.Observation, table)
	status := &w.next.Status
	suspended := ptr.Deref(w.Schedule.Spec.Suspend, false)
	if !suspended && d.Next.IsZero() {
		return 0, &schedule.Invalid{Reason: v1alpha1.ReasonNeverDue, Message: fmt.Sprintf("no day within five years fits schedule %q", w.Settings.Schedule)}
	}
	if err := r.replace(ctx, w, d.Replace); err != nil {
		return 0, err
	}
	for _, run := range d.Create {
		if err := r.create(ctx, w, run); err != nil {
			return 0, err
		}
	}
	w.count(d)
	if suspended {
		status.NextScheduleTime = nil
		w.condition(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonSuspended, "suspended: no run is created unless perfrun.dev/trigger asks for one")
		return 0, nil
	}
	next := metav1.NewTime(d.Next)
	status.NextScheduleTime = &next
	w.condition(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonScheduled, "runs are created when they are due")
	return min(d.Next.Sub(w.Now), lookAgain), nil
}

// prune deletes the finished runs beyond the history limits; keepResults has their results by now.
func (r *PerfScheduleReconciler) prune(ctx context.Context, w *scheduleWork) error {
	for _, name := range schedule.Expired(w.Runs, w.Settings) {
		if err := r.delete(ctx, w, name); err != nil {
			return err
		}
	}
	return nil
}

// keepResults adds the finished runs that are not in the series yet, and looks for changes.
func (r *PerfScheduleReconciler) keepResults(ctx context.Context, w *scheduleWork) error {
	finished := schedule.Finished(w.Runs)
	settled := w.former.Status.Settings
	if settled != nil && equality.Semantic.DeepEqual(*settled, w.Settings) && allKnown(w.former.Status.Results, finished) {
		return nil
	}
	series, err := r.series(ctx, w.Schedule)
	if err != nil {
		return err
	}
	if err := r.addResults(ctx, series, finished); err != nil {
		return err
	}
	return w.conclude(series)
}
