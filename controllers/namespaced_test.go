package controllers

import (
	"context"
	"crypto/ed25519"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// TestTheRoleOfANamespaceIsThatOfTheCluster: config/namespaced has the rules of the generated ClusterRole, but for those on objects that are in
// no namespace.
func TestTheRoleOfANamespaceIsThatOfTheCluster(t *testing.T) {
	generated, err := rolesOf("role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	namespaced, err := rolesOf("../namespaced/runs/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want []rbacv1.PolicyRule
	for _, role := range generated {
		for _, rule := range role.Rules {
			ofTheCluster := slices.Contains([]string{"admissionregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io"}, rule.APIGroups[0])
			if role.Kind == "ClusterRole" && !ofTheCluster {
				want = append(want, rule)
			}
		}
	}
	if diff := cmp.Diff(want, namespaced[0].Rules); diff != "" {
		t.Errorf("config/namespaced/runs/role.yaml differs from config/rbac/role.yaml (-generated +namespaced):\n%s", diff)
	}
}

// namespacedUser stands for the service account of an operator that is installed with config/namespaced.
const namespacedUser = "namespaced-operator"

// installNamespaced gives it what config/namespaced has for the operator's service account, but for the Roles in one namespace.
func installNamespaced(ctx context.Context, objects []*unstructured.Unstructured, in func(namespace string) bool) {
	GinkgoHelper()
	for _, kind := range []string{"Role", "RoleBinding"} {
		for _, o := range ofKind(objects, kind) {
			if !in(o.GetNamespace()) {
				continue
			}
			o = o.DeepCopy()
			o.SetName("namespaced-" + o.GetName())
			if kind == "RoleBinding" {
				role, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
				Expect(unstructured.SetNestedField(o.Object, "namespaced-"+role, "roleRef", "name")).To(Succeed())
				Expect(unstructured.SetNestedSlice(o.Object, []any{map[string]any{"kind": rbacv1.UserKind, "apiGroup": rbacv1.GroupName, "name": namespacedUser}}, "subjects")).To(Succeed())
			}
			Expect(admin.Create(ctx, o)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, o)).To(Succeed()) })
		}
	}
}

// startNamespaced runs an operator with the flags of config/namespaced.
func startNamespaced(ctx context.Context, transport http.RoundTripper) {
	GinkgoHelper()
	c := rest.CopyConfig(config)
	c.Impersonate = rest.ImpersonationConfig{UserName: namespacedUser, Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	direct, err := client.New(c, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	var key ed25519.PrivateKey
	key, err = SigningKey(ctx, direct, operatorNamespace)
	Expect(err).NotTo(HaveOccurred())
	mgr, err := ctrl.NewManager(c, ctrl.Options{
		Scheme: scheme, Cache: CacheOptions(operatorNamespace, nil, "perfrun-runs"), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller:              ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
		GracefulShutdownTimeout: ptr.To(5 * time.Second),
	})
	Expect(err).NotTo(HaveOccurred())
	metrics, err := metricsclient.NewForConfig(c)
	Expect(err).NotTo(HaveOccurred())
	r := &PerfRunReconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Metrics: metrics, Discovery: discovery.NewDiscoveryClientForConfigOrDie(c),
		Recorder: mgr.GetEventRecorder("perfrun"), Image: "perfrun:test", Key: key, CallsFrom: operatorNamespace, DaprNamespace: "dapr-system",
		HTTP: &http.Client{Timeout: 5 * time.Second, Transport: transport}, PrepareTimeout: time.Minute, Now: time.Now,
	}
	Expect(r.SetupWithManager(ctx, mgr)).To(Succeed())
	schedules := &PerfScheduleReconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("perfrun"), Now: time.Now}
	Expect(schedules.SetupWithManager(ctx, mgr)).To(Succeed())
	start(ctx, mgr)
}

var _ = Describe("An operator without a right on the whole cluster", Serial, func() {
	It("completes the runs of its namespaces, and touches no others", func(ctx SpecContext) {
		objects := rendered("namespaced")
		for _, kind := range []string{"ClusterRoleBinding", "MutatingWebhookConfiguration", "Service"} {
			Expect(ofKind(objects, kind)).To(BeEmpty())
		}
		container := ofKind(objects, "Deployment")[0].Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
		Expect(container["args"]).To(ContainElements("--namespaces=perfrun-runs", "--dapr-namespace=dapr-system", "--metrics-bind-address=0", "--webhook-port=0"))

		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "perfrun-runs"}}
		Expect(admin.Create(ctx, namespace)).To(Succeed())
		installNamespaced(ctx, objects, func(namespace string) bool { return namespace != "dapr-system" })
		elsewhere := newRun(ctx)
		run := &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "invoke"}, Spec: elsewhere.Spec}
		Expect(admin.Create(ctx, run)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(admin.Delete(ctx, run))).To(Succeed()) })
		k := newKubelet(run.Namespace, run.Name)
		startNamespaced(ctx, k)

		By("saying what it lacks")
		Eventually(func() metav1.Condition { return verdict(reload(ctx, run)) }).WithContext(ctx).WithTimeout(20 * time.Second).Should(And(
			HaveField("Reason", v1alpha1.ReasonDaprForbidden), HaveField("Message", ContainSubstring("config/namespaced/dapr"))))

		By("going on when it has it")
		installNamespaced(ctx, objects, func(namespace string) bool { return namespace == "dapr-system" })
		Eventually(func() v1alpha1.Phase {
			k.sync(ctx)
			return reload(ctx, run).Status.Phase
		}).WithContext(ctx).WithTimeout(time.Minute).Should(haveFigures(), func() string { return describe(ctx, run) })
		Expect(reload(ctx, elsewhere).Status.Phase).To(BeEmpty())
	}, SpecTimeout(2*time.Minute))
})
