package controllers

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"perfrun.dev/perfrun/internal/plan"
	"perfrun.dev/perfrun/internal/servingcert"
)

// The Secret in the operator's own namespace that holds the webhook's certificate, of the type kubernetes.io/tls.
const (
	certificateSecret = "perfrun-webhook-certificate"
	authoritiesEntry  = "ca.crt"
)

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=perfrun-mtls,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",namespace=perfrun-system,resources=secrets,resourceNames=perfrun-webhook-certificate,verbs=get;list;watch;update

// CertificateReconciler keeps the certificate of the webhook: the replica that leads makes and renews it in the Secret, and tells the API
// server whom to trust; every replica serves what the Secret holds.
type CertificateReconciler struct {
	// Client reads from the cache.
	client.Client
	// Live reads past the cache: a renewal must not rest on a Secret that has just been replaced.
	Live client.Reader
	// Namespace of the operator.
	Namespace string
	// Names that the API server may call the webhook by.
	Names []string
	// Now is the clock.
	Now func() time.Time

	served atomic.Pointer[tls.Certificate]
}

// SetupWithManager registers two controllers: one on the leader that writes, and one on every replica that serves.
func (r *CertificateReconciler) SetupWithManager(mgr ctrl.Manager) error {
	// The first look must not wait for an event: there may be neither Secret nor configuration yet.
	once := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(r.request())
		return nil
	})
	same := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{r.request()}
	})
	err := ctrl.NewControllerManagedBy(mgr).Named("webhook-certificate").
		For(&corev1.Secret{}).
		Watches(&admissionv1.MutatingWebhookConfiguration{}, same).
		WatchesRawSource(once).
		Complete(reconcile.Func(r.keep))
	if err != nil {
		return fmt.Errorf("setting up the controller that keeps the webhook's certificate: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).Named("webhook-serving").
		For(&corev1.Secret{}).
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)}).
		Complete(reconcile.Func(r.serve))
	if err != nil {
		return fmt.Errorf("setting up the controller that serves the webhook's certificate: %w", err)
	}
	return nil
}

func (r *CertificateReconciler) request() reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: r.Namespace, Name: certificateSecret}}
}

// keep renews the certificate where it is due. The API server trusts a new authority before any replica serves its certificate, and goes on
// trusting the former one, so that no call fails in between; a crash in between leaves an authority behind whose key nobody has.
func (r *CertificateReconciler) keep(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	secret := &corev1.Secret{}
	err := r.Live.Get(ctx, req.NamespacedName, secret)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("reading the webhook's certificate: %w", err)
	}
	missing, set, now := err != nil, setOf(secret), r.Now()
	renewAt, err := set.RenewAt(r.Names, now)
	if err == nil && now.Before(renewAt) {
		return ctrl.Result{RequeueAfter: renewAt.Sub(now)}, r.trust(ctx, set.Authorities)
	}
	logf.FromContext(ctx).Info("making a certificate for the webhook", "cause", because(err))
	if set, err = servingcert.New(r.Names, set, now); err != nil {
		return ctrl.Result{}, fmt.Errorf("making a certificate for the webhook: %w", err)
	}
	if err := r.trust(ctx, set.Authorities); err != nil {
		return ctrl.Result{}, err
	}
	if err = r.store(ctx, secret, missing, set); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			// Someone was faster: look again, with what is there now.
			return ctrl.Result{RequeueAfter: time.Second}, nil
		}
		return ctrl.Result{}, fmt.Errorf("writing the webhook's certificate: %w", err)
	}
	// What was written comes back as an event, which asks for the next renewal.
	return ctrl.Result{}, nil
}

func because(err error) string {
	if err == nil {
		return "it is time to renew it"
	}
	return err.Error()
}

func (r *CertificateReconciler) store(ctx context.Context, secret *corev1.Secret, missing bool, set servingcert.Set) error {
	secret.Data = map[string][]byte{authoritiesEntry: set.Authorities, corev1.TLSCertKey: set.Cert, corev1.TLSPrivateKeyKey: set.Key}
	if missing {
		secret.ObjectMeta = metav1.ObjectMeta{Namespace: r.Namespace, Name: certificateSecret}
		secret.Type = corev1.SecretTypeTLS
		return r.Create(ctx, secret)
	}
	return r.Update(ctx, secret)
}

// trust makes the API server trust these authorities, if the webhook is installed at all.
func (r *CertificateReconciler) trust(ctx context.Context, authorities []byte) error {
	configuration := &admissionv1.MutatingWebhookConfiguration{}
	err := r.Get(ctx, client.ObjectKey{Name: plan.MTLSConfiguration}, configuration)
	if apierrors.IsNotFound(err) {
		logf.FromContext(ctx).Info("the webhook is not installed: runs measure with the mTLS that the cluster has", "MutatingWebhookConfiguration", plan.MTLSConfiguration)
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading MutatingWebhookConfiguration %s: %w", plan.MTLSConfiguration, err)
	}
	before := configuration.DeepCopy()
	changed := false
	for i := range configuration.Webhooks {
		c := &configuration.Webhooks[i].ClientConfig
		changed = changed || !bytes.Equal(c.CABundle, authorities)
		c.CABundle = authorities
	}
	if !changed {
		return nil
	}
	if err := r.Patch(ctx, configuration, client.StrategicMergeFrom(before)); err != nil {
		return fmt.Errorf("patching MutatingWebhookConfiguration %s: %w", plan.MTLSConfiguration, err)
	}
	return nil
}

// serve takes over what the Secret holds. One that is of no use is left to the leader, and the last good one is served meanwhile.
func (r *CertificateReconciler) serve(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	secret := &corev1.Secret{}
	if err := r.Get(ctx, req.NamespacedName, secret); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	pair, err := setOf(secret).Pair()
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("taking over the webhook's certificate: %w", err)
	}
	r.served.Store(pair)
	logf.FromContext(ctx).Info("serving the webhook's certificate", "until", pair.Leaf.NotAfter)
	return ctrl.Result{}, nil
}

// errNoCertificate: the Secret has not been read yet, or there is none.
var errNoCertificate = errors.New("there is no certificate for the webhook yet")

// TLS makes a server serve the certificate of the moment.
func (r *CertificateReconciler) TLS(c *tls.Config) {
	c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if pair := r.served.Load(); pair != nil {
			return pair, nil
		}
		return nil, errNoCertificate
	}
}

// Ready is the check that the webhook can be served: before that, this replica must get no calls.
func (r *CertificateReconciler) Ready(*http.Request) error {
	if r.served.Load() == nil {
		return errNoCertificate
	}
	return nil
}

func setOf(secret *corev1.Secret) servingcert.Set {
	return servingcert.Set{Authorities: secret.Data[authoritiesEntry], Cert: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]}
}
