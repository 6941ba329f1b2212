package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/plan"
	"perfrun.dev/perfrun/internal/results"
	"perfrun.dev/perfrun/internal/stage"
)

// act does what was decided. What it learns goes into the status; Collect also puts the verdict into the decision.
func (r *PerfRunReconciler) act(ctx context.Context, o stage.Observation, d *stage.Decision, status *v1alpha1.PerfRunStatus) error {
	switch d.Action {
	case stage.Create:
		return r.create(ctx, o)
	case stage.Record:
		return r.record(o, status)
	case stage.Start:
		return r.start(ctx, o)
	case stage.Follow:
		r.follow(ctx, o, status)
	case stage.Collect:
		return r.collect(ctx, o, d, status)
	case stage.Cleanup:
		return r.cleanup(ctx, o)
	}
	return nil
}

// create makes the objects that are missing. They never change, so that there is nothing to apply; one that exists by now is looked at next time.
func (r *PerfRunReconciler) create(ctx context.Context, o stage.Observation) error {
	for _, object := range r.objects(&o) {
		err := r.Create(ctx, object)
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			// The run goes with its namespace in a moment.
			return nil
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating %s %s: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
		}
	}
	return nil
}

// record notes the attempt, before any load, with all that has to be known of its beginning at its end.
func (r *PerfRunReconciler) record(o stage.Observation, status *v1alpha1.PerfRunStatus) error {
	version, err := r.Discovery.ServerVersion()
	if err != nil {
		return fmt.Errorf("asking the API server for its version: %w", err)
	}
	status.Attempt = &v1alpha1.Attempt{
		ID:         plan.AttemptID,
		LoadTester: o.LoadTester.Pod.Name,
		Instance:   o.Tester.Info.Instance,
		Target:     o.Target.Pod.Name,
		Restarts:   restartCounts(o),
		StartTime:  metav1.NewTime(o.Now),
	}
	status.Environment = environment(o, version.GitVersion)
	return nil
}

// start posts the plan. The load tester takes it once, and only for the instance that was recorded.
func (r *PerfRunReconciler) start(ctx context.Context, o stage.Observation) error {
	if o.Target.Pod == nil {
		return fmt.Errorf("starting the load: the target's pod is gone")
	}
	if err := r.observeDapr(ctx, &o); err != nil {
		return err
	}
	measurement := plan.Measurement(o.Run, o.Settings, *o.Run.Status.Attempt,
		plan.Pods{LoadTester: o.LoadTester.Pod, Target: o.Target.Pod, ControlPlane: o.Dapr.ControlPlane})
	if _, err := r.tester(o.Run, o.LoadTester.Pod).Start(ctx, measurement); err != nil {
		return fmt.Errorf("starting the load: %w", err)
	}
	logf.FromContext(ctx).Info("load started", "blocks", len(measurement.Blocks), "loadTime", measurement.LoadTime().String())
	return nil
}

// follow adds metrics-server's latest windows to the attempt, so that they outlive this process. Their absence is told and harms nothing.
func (r *PerfRunReconciler) follow(ctx context.Context, o stage.Observation, status *v1alpha1.PerfRunStatus) {
	status.Progress = progress(o)
	windows, err := r.windows(ctx, o)
	if err == nil && len(windows) > 0 {
		err = r.tester(o.Run, o.LoadTester.Pod).PostWindows(ctx, o.Run.Status.Attempt.ID, windows)
	}
	if err != nil {
		logf.FromContext(ctx).V(1).Info("metrics-server's figures are missing", "cause", err.Error())
	}
	setMetricsServer(o.Run, status, err)
}

// collect keeps the report as it is and turns it into results and the verdict.
func (r *PerfRunReconciler) collect(ctx context.Context, o stage.Observation, d *stage.Decision, status *v1alpha1.PerfRunStatus) error {
	report, err := r.tester(o.Run, o.LoadTester.Pod).Report(ctx, o.Run.Status.Attempt.ID)
	if err != nil {
		return fmt.Errorf("reading the report: %w", err)
	}
	if err := r.observeDapr(ctx, &o); err != nil {
		return err
	}
	if err := r.keepRaw(ctx, o, report, status); err != nil {
		return err
	}
	outcome, err := results.Build(resultsInput(o, report, *status))
	if err != nil {
		*d = stage.Decision{Phase: v1alpha1.PhaseError, Reason: v1alpha1.ReasonMeasurementFailed, Message: err.Error(), After: time.Millisecond}
		return nil
	}
	applyOutcome(status, outcome)
	status.Progress = progress(o)
	*d = stage.Decision{Phase: outcome.Verdict, Reason: outcome.Reason, Message: outcome.Message, After: time.Millisecond}
	return nil
}

// cleanup deletes what the run created, the Deployments last: while one is there, clean-up is not finished and comes again.
func (r *PerfRunReconciler) cleanup(ctx context.Context, o stage.Observation) error {
	for _, object := range r.objects(&o) {
		found := &metav1.PartialObjectMetadata{}
		found.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
		err := r.Live.Get(ctx, client.ObjectKeyFromObject(object), found)
		if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(found, o.Run) {
			continue
		}
		if err == nil {
			err = r.Delete(ctx, found, client.PropagationPolicy(metav1.DeletePropagationBackground),
				client.Preconditions{UID: &found.UID})
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %s: %w", object.GetName(), err)
		}
	}
	return nil
}
