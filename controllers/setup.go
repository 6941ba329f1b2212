package controllers

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/plan"
)

// CacheOptions keep only our own objects in memory: a cluster's other pods are none of our business. Namespace is the operator's own.
func CacheOptions(namespace string) cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{plan.LabelManagedBy: plan.ManagedBy})}
	return cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.Deployment{}: ours,
			&corev1.Pod{}:        ours,
			&v1alpha1.PerfRun{}:  {Transform: cached},
			// Of these two one each, which is also all that the operator may read.
			&corev1.Secret{}: {Namespaces: map[string]cache.Config{namespace: {FieldSelector: named(certificateSecret)}}},
			&admissionv1.MutatingWebhookConfiguration{}: {Field: named(plan.MTLSConfiguration)},
		},
		DefaultTransform: cache.TransformStripManagedFields(),
	}
}

func named(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }

// SetupWithManager registers the reconciler, its index and its watches.
func (r *PerfRunReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.PerfRun{}, indexActive, active); err != nil {
		return fmt.Errorf("indexing unfinished PerfRuns: %w", err)
	}
	err := ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.PerfRun{}).
		Owns(&appsv1.Deployment{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.runOfPod)).
		Watches(&v1alpha1.PerfRun{}, handler.EnqueueRequestsFromMapFunc(r.queueMoved), builder.WithPredicates(queueMoves)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the PerfRun controller: %w", err)
	}
	return nil
}

// runOfPod finds the run that a pod of ours belongs to, by its label.
func (r *PerfRunReconciler) runOfPod(ctx context.Context, pod client.Object) []reconcile.Request {
	return r.requests(ctx, func(run *v1alpha1.PerfRun) bool {
		return string(run.UID) == pod.GetLabels()[plan.LabelRun] && run.Namespace == pod.GetNamespace()
	})
}

func (r *PerfRunReconciler) requests(ctx context.Context, matches func(*v1alpha1.PerfRun) bool) []reconcile.Request {
	runs, err := r.activeRuns(ctx)
	if err != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range runs {
		if matches(&runs[i]) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&runs[i])})
		}
	}
	return out
}
