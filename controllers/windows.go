package controllers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/plan"
	"perfrun.dev/perfrun/internal/stage"
	"perfrun.dev/perfrun/internal/usage"
)

// windows reads metrics-server's latest figures of everything that is measured.
func (r *PerfRunReconciler) windows(ctx context.Context, o stage.Observation) ([]measure.Window, error) {
	if err := r.observeDapr(ctx, &o); err != nil {
		return nil, err
	}
	own, err := r.podMetrics(ctx, o.Run.Namespace, labels.Set{plan.LabelRun: string(o.Run.UID)}.String())
	if err != nil {
		return nil, err
	}
	if o.Dapr.Namespace != "" {
		control, err := r.podMetrics(ctx, o.Dapr.Namespace, dapr.ControlPlaneSelector())
		if err != nil {
			return nil, err
		}
		own = append(own, control...)
	}
	components := map[usage.Container]string{}
	for _, m := range measuredContainers(o) {
		components[usage.Container{Namespace: m.pod.Namespace, Pod: m.pod.Name, Name: m.container}] = string(m.component)
	}
	return usage.Windows(own, components), nil
}

func (r *PerfRunReconciler) podMetrics(ctx context.Context, namespace, selector string) ([]metricsv1beta1.PodMetrics, error) {
	list, err := r.Metrics.PodMetricses(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("the API metrics.k8s.io is not served on this cluster")
	case err != nil:
		return nil, fmt.Errorf("reading metrics.k8s.io: %w", err)
	}
	return list.Items, nil
}
