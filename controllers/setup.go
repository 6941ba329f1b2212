package controllers

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/plan"
)

// CacheOptions keep only our own objects in memory: a cluster's other pods are none of our business. Namespace is the operator's own; served
// are those whose PerfRuns it sees, all of the cluster's if there are none. What runs have measured is shown to the exporter, which is nil where no
// metrics are wanted.
func CacheOptions(namespace string, exporter *Exporter, served ...string) cache.Options {
	var only map[string]cache.Config
	if len(served) > 0 {
		only = map[string]cache.Config{}
		for _, n := range served {
			only[n] = cache.Config{}
		}
	}
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{plan.LabelManagedBy: plan.ManagedBy})}
	return cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.Deployment{}: ours,
			&corev1.Pod{}:        ours,
			&v1alpha1.PerfRun{}:  {Transform: exporter.cached},
			// Of these two one each, which is also all that the operator may read.
			&corev1.Secret{}: {Namespaces: map[string]cache.Config{namespace: {FieldSelector: named(certificateSecret)}}},
			&admissionv1.MutatingWebhookConfiguration{}: {Field: named(plan.MTLSConfiguration)},
		},
		DefaultNamespaces: only,
		DefaultTransform:  cache.TransformStripManagedFields(),
	}
}

// MetricsOptions serve the operator's metrics on an address (0: not at all) over TLS, to those whom the API server knows and lets read them.
func MetricsOptions(address string) metricsserver.Options {
	return metricsserver.Options{
		BindAddress: address, SecureServing: true,
		FilterProvider: filters.WithAuthenticationAndAuthorization,
		TLSOpts:        []func(*tls.Config){func(c *tls.Config) { c.MinVersion = tls.VersionTLS12 }},
	}
}

func named(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }

// SetupWithManager registers the reconciler, its index and its watches.
func (r *PerfRunReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.PerfRun{}, indexActive, active); err != nil {
		return fmt.Errorf("indexing unfinished PerfRuns: %w", err)
	}
	queue := handler.EnqueueRequestsFromMapFunc(r.queueMoved)
	if err := r.watches(mgr).Watches(&v1alpha1.PerfRun{}, queue, builder.WithPredicates(queueMoves)).Complete(r); err != nil {
		return fmt.Errorf("setting up the PerfRun controller: %w", err)
	}
	return nil
}

// The back-off of what fails: the longest wait is also how long a run stands still after an API server has come back.
const (
	minBackOff = 5 * time.Millisecond
	maxBackOff = 10 * time.Second
)

// moved: the spec or the phase has changed. All else in a status is the reconciler's own word, and it has said when to look again: woken by that
// it would ask the load tester, write the progress and be woken again, without a pause and beside the load that it measures.
var moved = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*v1alpha1.PerfRun)
	after, also := e.ObjectNew.(*v1alpha1.PerfRun)
	return !ok || !also || before.Generation != after.Generation || before.Status.Phase != after.Status.Phase
}}

// watches are those for a run's own sake.
func (r *PerfRunReconciler) watches(mgr ctrl.Manager) *builder.Builder {
	return ctrl.NewControllerManagedBy(mgr).
		WithOptions(controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minBackOff, maxBackOff)}).
		For(&v1alpha1.PerfRun{}, builder.WithPredicates(moved)).
		Owns(&appsv1.Deployment{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.runOfPod))
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
