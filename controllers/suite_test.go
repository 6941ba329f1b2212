package controllers

import (
	"context"
	"crypto/ed25519"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"perfrun.dev/perfrun/api/v1alpha1"
)

var (
	config *rest.Config
	scheme = runtime.NewScheme()
	admin  client.Client
)

func TestControllers(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Controllers")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(GinkgoLogr)
	environment := &envtest.Environment{
		CRDDirectoryPaths:     []string{"../config/crd/bases", "testdata"},
		ErrorIfCRDPathMissing: true,
	}
	log := audited(environment)
	var err error
	config, err = environment.Start()
	Expect(err).NotTo(HaveOccurred(), "starting the API server; `make test` finds its binaries")
	DeferCleanup(environment.Stop)
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	admin, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	installRights(ctx)
	DeferCleanup(expectRightsUsed, log)
	installDapr(ctx)
	showProcesses()
})

// installDapr registers what the operator looks for: the injector's webhook (which selects no pod here) and a ready injector pod.
func installDapr(ctx context.Context) {
	Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "dapr-system"}})).To(Succeed())
	Expect(admin.Create(ctx, webhook())).To(Succeed())
	injector := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dapr-system", Name: "injector", Labels: map[string]string{"app": "dapr-sidecar-injector"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "injector", Image: "none"}}},
	}
	Expect(admin.Create(ctx, injector)).To(Succeed())
	injector.Status = readyStatus("127.20.0.1")
	Expect(admin.Status().Update(ctx, injector)).To(Succeed())
}

func webhook() *admissionv1.MutatingWebhookConfiguration {
	return &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "dapr-sidecar-injector"},
		Webhooks: []admissionv1.MutatingWebhook{{
			Name:                    "sidecar-injector.dapr.io",
			AdmissionReviewVersions: []string{"v1"},
			SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
			FailurePolicy:           ptr.To(admissionv1.Ignore),
			ObjectSelector:          &metav1.LabelSelector{MatchLabels: map[string]string{"never": "matches"}},
			ClientConfig:            admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "dapr-system", Name: "dapr-sidecar-injector"}},
			Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}}}},
		}},
	}
}

func readyStatus(ip string) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
}

// signingKey is the operator's, fixed so that each fresh reconciler is the same operator restarted.
var signingKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// newManager runs an operator process with its caches and as its own user, and returns what makes reconcilers on top of them; the controller runs only if asked for.
func newManager(ctx context.Context, transport http.RoundTripper, controller bool) func() *PerfRunReconciler {
	config := asOperator(config)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Cache: CacheOptions("default", nil),
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		GracefulShutdownTimeout: ptr.To(5 * time.Second),
		// Several specs run the controller, one after the other in one process.
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	Expect(err).NotTo(HaveOccurred())
	metrics, err := metricsclient.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	fresh := func() *PerfRunReconciler {
		return &PerfRunReconciler{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Metrics: metrics, Discovery: discovery.NewDiscoveryClientForConfigOrDie(config),
			Recorder: mgr.GetEventRecorder("perfrun"), Image: "perfrun:test", Key: signingKey, CallsFrom: operatorNamespace,
			HTTP: &http.Client{Timeout: 5 * time.Second, Transport: transport}, PrepareTimeout: time.Minute, Now: time.Now,
		}
	}
	Expect(mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.PerfRun{}, indexSchedule, scheduleOf)).To(Succeed())
	if controller {
		Expect(fresh().SetupWithManager(ctx, mgr)).To(Succeed())
	} else {
		Expect(mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.PerfRun{}, indexActive, active)).To(Succeed())
	}
	start(ctx, mgr)
	return fresh
}

// start a manager that goes with the spec.
func start(ctx context.Context, mgr ctrl.Manager) {
	running, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		Expect(mgr.Start(running)).To(Succeed())
	}()
	DeferCleanup(func() {
		stop()
		<-done
	})
	Expect(mgr.GetCache().WaitForCacheSync(ctx)).To(BeTrue())
}
