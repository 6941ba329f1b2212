package controllers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/merge"
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
		return r.record(ctx, o, status)
	case stage.Schedule:
		status.Attempt.LoadStartTime = &metav1.Time{Time: o.Now.Add(plan.Lead).Truncate(time.Second)}
	case stage.Start:
		return r.start(ctx, o)
	case stage.Follow:
		r.follow(ctx, o, status)
	case stage.Change:
		r.change(o, status)
	case stage.Scale:
		return r.scale(ctx, o, status)
	case stage.Read:
		return r.readControlPlane(ctx, o, status)
	case stage.Collect:
		if o.Settings.ControlPlane != nil {
			concludeControlPlane(o, d, status)
			return nil
		}
		return r.collect(ctx, o, d, status)
	case stage.Stop:
		return r.stop(ctx, o)
	case stage.Cleanup:
		return r.cleanup(ctx, o)
	case stage.Remove:
		return errors.Join(r.stop(ctx, o), r.cleanup(ctx, o))
	}
	return nil
}

// create makes the objects that are missing. They never change, so that there is nothing to apply; one that exists by now is looked at next time.
func (r *PerfRunReconciler) create(ctx context.Context, o stage.Observation) error {
	for _, object := range r.wanted(&o) {
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
func (r *PerfRunReconciler) record(ctx context.Context, o stage.Observation, status *v1alpha1.PerfRunStatus) error {
	version, err := r.Discovery.ServerVersion()
	if err != nil {
		return fmt.Errorf("asking the API server for its version: %w", err)
	}
	testers := make([]v1alpha1.LoadTester, len(o.Testers))
	for i, pod := range o.LoadTester.Pods {
		testers[i] = v1alpha1.LoadTester{Pod: pod.Name, Instance: o.Testers[i].Info.Instance}
		if len(testers) == 1 && !o.Settings.Rebalances() {
			continue
		}
		offset, err := r.clockOffset(ctx, o.Run, pod)
		if err != nil {
			return err
		}
		testers[i].ClockOffset = &offset
	}
	status.Attempt = &v1alpha1.Attempt{
		ID:          plan.AttemptID(status.VoidAttempts),
		LoadTesters: testers,
		Target:      o.Target.Pod().Name,
		Targets:     several(o.Target, func(pod *corev1.Pod) string { return pod.Name }),
		Restarts:    restartCounts(o),
		StartTime:   metav1.NewTime(o.Now),
	}
	status.Environment = environment(o, version.GitVersion)
	return nil
}

// start posts their plans to the load testers that do not know them yet. Each takes its own once, and only for the instance that was recorded.
func (r *PerfRunReconciler) start(ctx context.Context, o stage.Observation) error {
	if len(o.Target.Pods) < o.Settings.Hosts() {
		return fmt.Errorf("starting the load: the target's pod is gone")
	}
	if err := r.observeDapr(ctx, &o); err != nil {
		return err
	}
	measurements := plan.Measurements(o.Run, o.Settings, *o.Run.Status.Attempt,
		plan.Pods{LoadTesters: o.LoadTester.Pods, Targets: o.Target.Pods, Sink: o.Sink.Pod(), ControlPlane: o.Dapr.ControlPlane})
	for i, measurement := range measurements {
		if o.Testers[i].Progress != nil {
			continue
		}
		if _, err := r.tester(o.Run, o.LoadTester.Pods[i]).Start(ctx, measurement); err != nil {
			return fmt.Errorf("starting the load: %w", err)
		}
		logf.FromContext(ctx).Info("load started", "pod", o.LoadTester.Pods[i].Name, "blocks", len(measurement.Blocks),
			"loadTime", measurement.LoadTime().String())
	}
	return nil
}

// stopPatience is how long a load tester may take to stop. Whoever stops one deletes its pod next, which ends its load as well.
const stopPatience = 3 * time.Second

// stop ends what load there is. A load tester that does not answer cannot be stopped by asking: its load ends with its pod or its plan. One
// that has just said that it is at work is asked again until it stops: with cleanup: Never its load would go on beside the next run's.
func (r *PerfRunReconciler) stop(ctx context.Context, o stage.Observation) error {
	attempt := o.Run.Status.Attempt
	if attempt == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	errs := make([]error, len(o.LoadTester.Pods))
	var all sync.WaitGroup
	for i, pod := range o.LoadTester.Pods {
		if pod.Status.PodIP == "" {
			continue
		}
		all.Go(func() {
			err := r.tester(o.Run, pod).Stop(ctx, attempt.ID)
			switch {
			case err == nil, errors.Is(err, measure.ErrUnknownAttempt):
			case i < len(o.Testers) && o.Testers[i].Progress != nil && o.Testers[i].Progress.State == measure.Running:
				errs[i] = fmt.Errorf("ending the load of pod %s: %w", pod.Name, err)
			default:
				logf.FromContext(ctx).Info("the load could not be stopped", "pod", pod.Name, "cause", err.Error())
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// follow adds metrics-server's latest windows to the attempt, so that they outlive this process. Their absence is told and harms nothing.
func (r *PerfRunReconciler) follow(ctx context.Context, o stage.Observation, status *v1alpha1.PerfRunStatus) {
	status.Progress = progress(o)
	windows, err := r.windows(ctx, o)
	if err == nil && len(windows) > 0 {
		err = r.tester(o.Run, o.LoadTester.Pod()).PostWindows(ctx, o.Run.Status.Attempt.ID, windows)
	}
	if err != nil {
		logf.FromContext(ctx).V(1).Info("metrics-server's figures are missing", "cause", err.Error())
	}
	setMetricsServer(o.Run, status, err)
}

// collect keeps the report as it is and turns it into results and the verdict.
func (r *PerfRunReconciler) collect(ctx context.Context, o stage.Observation, d *stage.Decision, status *v1alpha1.PerfRunStatus) error {
	shares, err := r.reports(ctx, o)
	if err != nil {
		return err
	}
	if err := r.observeDapr(ctx, &o); err != nil {
		return err
	}
	unreadable := func(err error) {
		*d = stage.Decision{Phase: v1alpha1.PhaseError, Reason: v1alpha1.ReasonMeasurementFailed, Message: err.Error(), After: time.Millisecond}
	}
	report, err := merge.Reports(shares)
	if err != nil {
		unreadable(err)
		return nil
	}
	if err := r.keepRaw(ctx, o, report, status); err != nil {
		return err
	}
	outcome, err := results.Build(resultsInput(o, report, *status))
	if err != nil {
		unreadable(err)
		return nil
	}
	applyOutcome(status, outcome)
	status.Progress = progress(o)
	*d = stage.Decision{Phase: outcome.Verdict, Reason: outcome.Reason, Message: outcome.Message, After: time.Millisecond}
	return nil
}

// reports of the attempt's load testers, in the order of their shares.
func (r *PerfRunReconciler) reports(ctx context.Context, o stage.Observation) ([]merge.Share, error) {
	attempt := o.Run.Status.Attempt
	shares := make([]merge.Share, len(attempt.LoadTesters))
	for i, tester := range attempt.LoadTesters {
		report, err := r.tester(o.Run, o.LoadTester.Pods[i]).Report(ctx, attempt.ID)
		if err != nil {
			return nil, fmt.Errorf("reading the report: %w", err)
		}
		shares[i] = merge.Share{Pod: tester.Pod, ClockOffset: ptr.Deref(tester.ClockOffset, v1alpha1.Latency{}).Duration, Report: report}
	}
	return shares, nil
}

// cleanup deletes what the run created, the Deployments last: while one is there, clean-up is not finished and comes again.
func (r *PerfRunReconciler) cleanup(ctx context.Context, o stage.Observation) error {
	left, err := r.left(ctx, &o)
	if err != nil {
		return err
	}
	for _, object := range left {
		err := r.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &object.UID})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %s: %w", object.Name, err)
		}
	}
	return nil
}
