// Package controllers holds the reconcilers. They observe, let internal/stage decide, act, and write the status once;
// nothing else in the project writes to the cluster.
package controllers

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/events"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/plan"
	"perfrun.dev/perfrun/internal/stage"
)

// PerfRunReconciler brings PerfRuns from Queued to their verdict.
type PerfRunReconciler struct {
	// Client reads PerfRuns, and the objects that carry our label, from the cache.
	client.Client
	// Live reads past the cache: what is not ours, and what must not be stale.
	Live client.Reader
	// Metrics reads metrics-server.
	Metrics metricsclient.PodMetricsesGetter
	// Discovery tells the API server's version.
	Discovery discovery.ServerVersionInterface
	// Recorder writes events.
	Recorder events.EventRecorder
	// Image for the load tester and the target.
	Image string
	// JavaHostImage is that of the Java actor host; empty: runs that ask for it are refused.
	JavaHostImage string
	// Key signs the tokens that load testers ask for.
	Key ed25519.PrivateKey
	// CallsFrom is the namespace that load testers are called from, for NetworkPolicies that let nobody else; empty: none are made.
	CallsFrom string
	// DaprNamespace is where Dapr's control plane is; empty: where its injector's webhook says, which takes a right on the whole cluster.
	DaprNamespace string
	// HTTP talks to load testers.
	HTTP *http.Client
	// PrepareTimeout is how long a run may prepare before the obstacle at hand becomes its verdict.
	PrepareTimeout time.Duration
	// Now is the clock.
	Now func() time.Time

	// started is the run that left the queue last, until the cache shows that it has; only Reconcile, one at a time, knows it.
	started types.UID
}

// +kubebuilder:rbac:groups=perfrun.dev,resources=perfruns,verbs=list;watch
// +kubebuilder:rbac:groups=perfrun.dev,resources=perfruns/status,verbs=update;patch
// +kubebuilder:rbac:groups=perfrun.dev,resources=perfruns/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=apps,resources=deployments/scale,verbs=update
// +kubebuilder:rbac:groups="",resources=services,verbs=get;create;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;create;delete
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;create
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=dapr.io,resources=configurations,verbs=get;create;delete
// +kubebuilder:rbac:groups=dapr.io,resources=components,verbs=get;list;create;delete
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=dapr-sidecar-injector,verbs=get
// +kubebuilder:rbac:groups=metrics.k8s.io,resources=pods,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups="",namespace=perfrun-system,resources=pods,verbs=get
// +kubebuilder:rbac:groups="",namespace=perfrun-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",namespace=perfrun-system,resources=secrets,resourceNames=perfrun-signing-key,verbs=get

// Reconcile takes one step: observe, decide, act, write the status.
func (r *PerfRunReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	run := &v1alpha1.PerfRun{}
	if err := r.Get(ctx, req.NamespacedName, run); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.shown(run)
	if err := r.acknowledge(ctx, run); err != nil {
		return ctrl.Result{}, err
	}
	seen, err := r.observe(ctx, run)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observing: %w", err)
	}
	decision := stage.Decide(seen)
	next := run.DeepCopy()
	share(seen, &next.Status)
	actErr := r.act(ctx, seen, &decision, &next.Status)
	if actErr != nil && decision.Message != "" {
		decision = stage.Obstructed(seen, actErr)
	}
	applyDecision(next, decision, seen)
	// Of a finished run the cache holds a part only, see cached.
	if !run.Status.Phase.Finished() && !equality.Semantic.DeepEqual(run.Status, next.Status) {
		if err := r.Status().Update(ctx, next); err != nil {
			if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
				// Someone was faster, or the run is gone: look again with what is there now.
				return ctrl.Result{RequeueAfter: 100 * time.Millisecond}, nil
			}
			return ctrl.Result{}, fmt.Errorf("writing the status: %w", err)
		}
		r.leaves(run, next)
		r.announce(next, run.Status.Phase)
	}
	if actErr != nil {
		return ctrl.Result{}, actErr
	}
	return ctrl.Result{RequeueAfter: decision.After}, nil
}

func (r *PerfRunReconciler) operator() plan.Operator {
	public, _ := r.Key.Public().(ed25519.PublicKey)
	return plan.Operator{Image: r.Image, JavaHostImage: r.JavaHostImage, PublicKey: public, CallsFrom: r.CallsFrom}
}
