package controllers

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/stage"
)

// rendered is what kustomize makes of one of the folders of config.
func rendered(folder string) (out []*unstructured.Unstructured) {
	GinkgoHelper()
	text, err := exec.Command(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), "kustomize", filepath.Join("..", "config", folder)).Output()
	Expect(err).NotTo(HaveOccurred())
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(string(text)), 4096); ; {
		one := &unstructured.Unstructured{}
		if err := decoder.Decode(one); err == io.EOF { //nolint:errorlint // the decoder's own word for the end
			return out
		} else if err != nil {
			Expect(err).NotTo(HaveOccurred())
		}
		out = append(out, one)
	}
}

func ofKind(objects []*unstructured.Unstructured, kind string) (out []*unstructured.Unstructured) {
	for _, o := range objects {
		if o.GetKind() == kind {
			out = append(out, o)
		}
	}
	return out
}

// restricted is a namespace that enforces the strictest Pod Security.
func restricted(ctx context.Context) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-",
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	Expect(admin.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

// admits expects the API server to take a Deployment's pod there, without the sidecar that Dapr adds.
func admits(ctx context.Context, namespace string, d *appsv1.Deployment) {
	GinkgoHelper()
	pod := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: *d.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.GenerateName = namespace, d.Name+"-"
	Expect(admin.Create(ctx, pod, client.DryRunAll)).To(Succeed(), d.Name)
	for _, c := range pod.Spec.Containers {
		Expect(c.SecurityContext).To(And(
			HaveField("ReadOnlyRootFilesystem", HaveValue(BeTrue())), HaveField("AllowPrivilegeEscalation", HaveValue(BeFalse())),
			HaveField("Capabilities.Drop", ConsistOf(corev1.Capability("ALL")))), "%s of %s", c.Name, d.Name)
	}
}

var _ = Describe("Restricted Pod Security", func() {
	It("holds for every pod that a run creates", func(ctx SpecContext) {
		namespace := restricted(ctx)
		operator := &PerfRunReconciler{Image: "example.org/perfrun", JavaHostImage: "example.org/java", Key: signingKey}
		By("being enforced at all")
		Expect(admin.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}, client.DryRunAll)).To(MatchError(ContainSubstring("violates PodSecurity")))
		for _, spec := range []v1alpha1.PerfRunSpec{
			{Scenario: v1alpha1.ScenarioInvocation, Telemetry: &v1alpha1.TelemetrySettings{Export: ptr.To(true)}},
			{Scenario: v1alpha1.ScenarioInvocation, Target: &v1alpha1.TargetSettings{Image: ptr.To("example.org/app")}},
			{Scenario: v1alpha1.ScenarioInvocation, Target: &v1alpha1.TargetSettings{Image: ptr.To("example.org/app"), RunAsUser: ptr.To[int64](1000)}},
			{Scenario: v1alpha1.ScenarioActors, Actors: &v1alpha1.ActorsSettings{Host: ptr.To(v1alpha1.ActorHostJava)}},
			{Scenario: v1alpha1.ScenarioActors},
			{Scenario: v1alpha1.ScenarioActors, Actors: &v1alpha1.ActorsSettings{Rebalance: ptr.To(true), StateStore: ptr.To("shared")}},
			{Scenario: v1alpha1.ScenarioControlPlane},
		} {
			run := &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "r", UID: "u"}, Spec: spec}
			n := 0
			for _, object := range operator.objects(&stage.Observation{Run: run, Settings: spec.EffectiveSettings()}) {
				if d, ok := object.(*appsv1.Deployment); ok {
					admits(ctx, namespace, d)
					n++
				}
			}
			Expect(n).To(BeNumerically(">", 0))
		}
	})

	It("is enforced on the operator's namespace, and holds for the operator", func(ctx SpecContext) {
		objects := rendered("default")
		Expect(ofKind(objects, "Namespace")).To(HaveExactElements(
			WithTransform((*unstructured.Unstructured).GetLabels, HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))))
		deployments := ofKind(objects, "Deployment")
		Expect(deployments).To(HaveLen(1))
		d := &appsv1.Deployment{}
		Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(deployments[0].Object, d)).To(Succeed())
		admits(ctx, restricted(ctx), d)
	})
})

var _ = Describe("The operator's metrics", func() {
	It("are for those alone whom the API server lets read them, over TLS", func(ctx SpecContext) {
		address := fmt.Sprintf("127.0.0.1:%d", freePort())
		mgr, err := ctrl.NewManager(asOperator(config), ctrl.Options{Scheme: scheme, Cache: CacheOptions(operatorNamespace, nil),
			Metrics: MetricsOptions(address), GracefulShutdownTimeout: ptr.To(5 * time.Second)})
		Expect(err).NotTo(HaveOccurred())
		start(ctx, mgr)

		namespace := newNamespace(ctx)
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "scraper"}}
		Expect(admin.Create(ctx, account)).To(Succeed())
		token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](600)}}
		Expect(admin.SubResource("token").Create(ctx, account, token)).To(Succeed())
		strangers := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // its certificate is made when it starts, and known to nobody
		scrape := func(token string) (int, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", http.NoBody)
			if err != nil {
				return 0, err
			}
			if token != "" {
				req.Header.Set("Authorization", "Bearer "+token)
			}
			res, err := strangers.Do(req)
			if err != nil {
				return 0, err
			}
			return res.StatusCode, res.Body.Close()
		}
		Eventually(func() (int, error) { return scrape("") }).WithContext(ctx).WithTimeout(10 * time.Second).Should(Equal(http.StatusUnauthorized))
		// A token that is none makes controller-runtime's filter answer with the API server's error.
		Expect(scrape("a.b.c")).To(BeElementOf(http.StatusUnauthorized, http.StatusInternalServerError))
		Expect(scrape(token.Status.Token)).To(Equal(http.StatusForbidden))
		res, err := http.Get("http://" + address + "/metrics")
		Expect(err).NotTo(HaveOccurred())
		Expect(res.Body.Close()).To(Succeed())
		Expect(res.StatusCode).To(Equal(http.StatusBadRequest), "without TLS")

		reader, err := rolesOf("metrics_reader_role.yaml")
		Expect(err).NotTo(HaveOccurred())
		Expect(admin.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "metrics-reader"}, Rules: reader[0].Rules})).To(Succeed())
		Expect(admin.Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "scraper"},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "metrics-reader"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account.Name}}})).To(Succeed())
		// The operator keeps an answer of the API server for a while.
		second := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](1200)}}
		Expect(admin.SubResource("token").Create(ctx, account, second)).To(Succeed())
		Eventually(func() (int, error) { return scrape(second.Status.Token) }).WithContext(ctx).WithTimeout(40 * time.Second).WithPolling(500 * time.Millisecond).Should(Equal(http.StatusOK))
	}, SpecTimeout(time.Minute))
})

var _ = Describe("The installation", func() {
	It("is taken by the API server as config/default renders it", func(ctx SpecContext) {
		for _, o := range rendered("default") {
			if o.GetKind() == "Namespace" || o.GetKind() == "CustomResourceDefinition" {
				// They are there, and have to be for the others.
				continue
			}
			o.SetName(o.GetName() + "-dry")
			Expect(admin.Create(ctx, o, client.DryRunAll)).To(Succeed(), "%s %s", o.GetKind(), o.GetName())
		}
	})
})

// as is a person with these rights in a namespace, and no others.
func as(ctx context.Context, namespace, name string, rules ...rbacv1.PolicyRule) client.Client {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	Expect(admin.Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules})).To(Succeed())
	Expect(admin.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}}})).To(Succeed())
	c := rest.CopyConfig(config)
	c.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
	out, err := client.New(c, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return out
}

var _ = Describe("Whoever may create PerfRuns", Serial, func() {
	It("must be allowed to run pods in that namespace", func(ctx SpecContext) {
		for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
			for _, o := range ofKind(rendered("default"), kind) {
				Expect(admin.Create(ctx, o)).To(Succeed())
				DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, o)).To(Succeed()) })
			}
		}
		namespace, elsewhere := newNamespace(ctx), newNamespace(ctx)
		runs := rbacv1.PolicyRule{APIGroups: []string{"perfrun.dev"}, Resources: []string{"perfruns", "perfschedules"}, Verbs: []string{"create", "update"}}
		pods := rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"create"}}
		perfRun := func(namespace string) *v1alpha1.PerfRun {
			return &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "r-"},
				Spec: v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioInvocation, Target: &v1alpha1.TargetSettings{Image: ptr.To("example.org/mine")}}}
		}
		clerk, developer := as(ctx, namespace, "clerk", runs), as(ctx, namespace, "developer", runs, pods)
		// A policy takes a moment.
		Eventually(func() error { return clerk.Create(ctx, perfRun(namespace), client.DryRunAll) }).WithContext(ctx).WithTimeout(20 * time.Second).
			Should(And(Satisfy(apierrors.IsForbidden), MatchError(ContainSubstring("clerk may not create Deployments in namespace "+namespace))))
		Expect(developer.Create(ctx, perfRun(namespace), client.DryRunAll)).To(Succeed())
		Expect(developer.Create(ctx, perfRun(elsewhere), client.DryRunAll)).To(Satisfy(apierrors.IsForbidden))
		Expect(admin.Create(ctx, perfRun(elsewhere), client.DryRunAll)).To(Succeed())

		By("asking the same of those whose PerfSchedule makes the operator create them")
		schedule := &v1alpha1.PerfSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nightly"},
			Spec: v1alpha1.PerfScheduleSpec{Schedule: "0 3 * * *", Suspend: ptr.To(true), RunTemplate: v1alpha1.RunTemplate{Spec: perfRun(namespace).Spec}}}
		Expect(clerk.Create(ctx, schedule.DeepCopy(), client.DryRunAll)).To(MatchError(ContainSubstring("a PerfSchedule runs pods, and clerk may not")))
		Expect(developer.Create(ctx, schedule)).To(Succeed())
		changed := schedule.DeepCopy()
		changed.Spec.RunTemplate.Spec.Target.Image = ptr.To("example.org/another")
		Expect(clerk.Update(ctx, changed.DeepCopy(), client.DryRunAll)).To(Satisfy(apierrors.IsForbidden))
		Expect(developer.Update(ctx, changed, client.DryRunAll)).To(Succeed())
		schedule.Annotations = map[string]string{"note": "a finalizer goes in the same way"}
		Expect(clerk.Update(ctx, schedule, client.DryRunAll)).To(Succeed())
	}, SpecTimeout(time.Minute))
})
