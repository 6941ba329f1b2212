package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/plan"
	"perfrun.dev/perfrun/internal/results"
	"perfrun.dev/perfrun/internal/stage"
	"perfrun.dev/perfrun/internal/usage"
)

// observeFleet reads a Deployment that is scaled in the course of the run, and its pods, from the cache.
func (r *PerfRunReconciler) observeFleet(ctx context.Context, o *stage.Observation, name, role string, into *stage.Fleet) error {
	key := client.ObjectKey{Namespace: o.Run.Namespace, Name: name}
	deployment := &appsv1.Deployment{}
	err := r.Get(ctx, key, deployment)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("reading Deployment %s: %w", key.Name, err)
	case err == nil && metav1.IsControlledBy(deployment, o.Run):
		into.Deployment = deployment
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(o.Run.Namespace),
		client.MatchingLabels{plan.LabelRun: string(o.Run.UID), plan.LabelRole: role}); err != nil {
		return fmt.Errorf("listing the pods of %s: %w", key.Name, err)
	}
	for i := range pods.Items {
		into.Pods = append(into.Pods, &pods.Items[i])
	}
	return nil
}

// scale gives the fleet, or the actor host that joins and leaves, the size of the step under way. The step was written down before, so that doing it twice does it once.
func (r *PerfRunReconciler) scale(ctx context.Context, o stage.Observation, status *v1alpha1.PerfRunStatus) error {
	deployment, size := o.Fleet.Deployment, stage.FleetSize
	if o.Settings.Rebalances() {
		deployment, size = o.Joining.Deployment, stage.JoiningHosts
	}
	asked := metav1.NewMicroTime(r.Now())
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: size(o)}}
	if err := r.SubResource("scale").Update(ctx, deployment.DeepCopy(), client.WithSubResourceBody(scale)); err != nil {
		return fmt.Errorf("scaling Deployment %s: %w", deployment.Name, err)
	}
	if n := len(status.Rebalances); n > 0 {
		// Should this be lost with the operator, the moment at which the change was recorded stands: a little early.
		status.Rebalances[n-1].Time = asked
	}
	return nil
}

// readControlPlane adds a reading of the control plane's counters to the status, and the results of the step that it ends.
func (r *PerfRunReconciler) readControlPlane(ctx context.Context, o stage.Observation, status *v1alpha1.PerfRunStatus) error {
	if err := r.observeDapr(ctx, &o); err != nil {
		return err
	}
	reading := v1alpha1.ControlPlaneReading{Pods: o.Fleet.Ready(), Parts: r.readParts(ctx, o.Dapr.ControlPlane)}
	reading.Time = metav1.NewMicroTime(r.Now())
	if !anyRead(reading.Parts) {
		return &stage.StepError{Reason: v1alpha1.ReasonMetricsMissing, Err: errors.New(
			"none of the control plane's pods shows its counters on port 9090: does a NetworkPolicy keep the operator from them, or are metrics switched off in Dapr's Helm chart?")}
	}
	if status.Environment == nil {
		version, err := r.Discovery.ServerVersion()
		if err != nil {
			return fmt.Errorf("asking the API server for its version: %w", err)
		}
		status.Environment = &v1alpha1.Environment{Kubernetes: version.GitVersion, Dapr: dapr.VersionOf(o.Dapr.ControlPlane)}
	}
	status.ControlPlaneReadings = append(status.ControlPlaneReadings, reading)
	status.ControlPlaneResults = results.ControlPlane(status.ControlPlaneReadings)
	status.Progress = stepProgress(len(status.ControlPlaneResults))
	return nil
}

// readParts reads all pods at once.
func (r *PerfRunReconciler) readParts(ctx context.Context, pods []corev1.Pod) []v1alpha1.PartReading {
	fetch := usage.Fetcher{HTTP: r.HTTP}
	var parts []v1alpha1.PartReading
	var addresses []string
	for i := range pods {
		if part, ok := dapr.PartOf(&pods[i]); ok {
			parts = append(parts, v1alpha1.PartReading{Component: v1alpha1.Component(part), Pod: pods[i].Name})
			addresses = append(addresses, pods[i].Status.PodIP)
		}
	}
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { readPart(ctx, fetch, addresses[i], &parts[i]) })
	}
	wg.Wait()
	return parts
}

func readPart(ctx context.Context, fetch usage.Fetcher, ip string, into *v1alpha1.PartReading) {
	if ip == "" {
		into.Error = "the pod has no address"
		return
	}
	works := dapr.WorkOf(dapr.Part(into.Component))
	names := make([]string, len(works))
	for i, w := range works {
		names[i] = w.Metric
	}
	used, sums, err := fetch.Process(ctx, dapr.MetricsURL(ip), names...)
	if err != nil {
		into.Error = err.Error()
		return
	}
	into.CPUTime.Duration = time.Duration(used.CPUSeconds * float64(time.Second))
	into.Memory = *resource.NewQuantity(used.Resident, resource.BinarySI)
	for _, w := range works {
		amount, ok := sums[w.Metric]
		switch {
		case !ok:
		case w.Level:
			into.Levels = with(into.Levels, w.Name, int64(amount))
		default:
			into.Counters = with(into.Counters, w.Name, int64(amount))
		}
	}
}

func with(m map[string]int64, name string, amount int64) map[string]int64 {
	if m == nil {
		m = map[string]int64{}
	}
	m[name] = amount
	return m
}

func anyRead(parts []v1alpha1.PartReading) bool {
	return slices.ContainsFunc(parts, func(p v1alpha1.PartReading) bool { return p.Error == "" })
}

// stepProgress counts steps as blocks. How long two of the four take is not known beforehand.
func stepProgress(done int) *v1alpha1.Progress {
	steps := v1alpha1.ControlPlaneSteps
	out := &v1alpha1.Progress{Block: int32(done), Blocks: int32(len(steps)), Percent: int32(100 * done / len(steps))}
	out.Display = fmt.Sprintf("%d%%", out.Percent)
	if done < len(steps) {
		out.Activity = "step " + string(steps[done])
	}
	return out
}

func concludeControlPlane(o stage.Observation, d *stage.Decision, status *v1alpha1.PerfRunStatus) {
	outcome := results.ControlPlaneVerdict(o.Settings, status.ControlPlaneResults, sharedWith(status))
	status.Reasons, status.Warnings = outcome.Reasons, outcome.Warnings
	*d = stage.Decision{Phase: outcome.Verdict, Reason: outcome.Reason, Message: outcome.Message, After: time.Millisecond}
}
