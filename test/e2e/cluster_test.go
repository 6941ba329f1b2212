package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/plan"
)

// Where `make deploy` puts the operator.
const (
	operatorNamespace  = "perfrun-system"
	operatorDeployment = "perfrun-controller-manager"
	leaderLease        = "perfrun-manager"
)

// Every namespace of this suite is named and labelled so, and only those are deleted.
const (
	namespacePrefix = "perfrun-e2e-"
	suiteLabel      = "perfrun.dev/e2e"
)

// testCluster talks to the cluster as its administrator. Unknown fields are refused, as with kubectl.
type testCluster struct {
	client.Client
	clientset *kubernetes.Clientset
	// suite tells the namespaces of this suite, of all its processes, from those of another that runs at the same time.
	suite string
}

func connect(suite string) *testCluster {
	GinkgoHelper()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	Expect(err).NotTo(HaveOccurred(), "reading the kubeconfig of $KUBECONFIG")
	config.QPS = -1
	Expect(v1alpha1.AddToScheme(clientgoscheme.Scheme)).To(Succeed())
	direct, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	Expect(err).NotTo(HaveOccurred(), "connecting to the cluster of $KUBECONFIG")
	clientset, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	return &testCluster{
		Client:    client.WithFieldValidation(direct, metav1.FieldValidationStrict),
		clientset: clientset,
		suite:     suite,
	}
}

// expectOperator fails before anything is touched on a cluster that the suite was not meant for.
func (c *testCluster) expectOperator(ctx context.Context) {
	GinkgoHelper()
	var operator appsv1.Deployment
	Expect(c.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorDeployment}, &operator)).
		To(Succeed(), "the operator must be deployed on the cluster of $KUBECONFIG: make deploy IMG=...")
	Expect(operator.Status.AvailableReplicas).To(BeNumerically(">", 0),
		"the operator is not available; see: kubectl -n %s get pods", operatorNamespace)
}

// expectWhole looks for what the specs take away themselves: a suite that was killed may not have put it back.
func (c *testCluster) expectWhole(ctx SpecContext) {
	GinkgoHelper()
	injector := awayDeployment{Namespace: c.daprNamespace(ctx), Name: dapr.InjectorWebhook}
	Expect(injector.get(ctx).Status.AvailableReplicas).To(BeNumerically(">", 0),
		"Dapr's sidecar injector must be available: kubectl -n %s scale deployment %s --replicas=1", injector.Namespace, injector.Name)
	expectMetricsServed(ctx)
	var nodes corev1.NodeList
	Expect(c.List(ctx, &nodes)).To(Succeed())
	var free []string
	for i := range nodes.Items {
		if schedulable(&nodes.Items[i]) {
			free = append(free, nodes.Items[i].Name)
		}
	}
	Expect(len(free)).To(BeNumerically(">=", 2), "two nodes must take pods, only %v do; see: kubectl get nodes, kubectl uncordon", free)
}

// awaitEmptyQueue lets other people's runs finish: those of the suite would only wait behind them.
func (c *testCluster) awaitEmptyQueue(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() ([]string, error) {
		var runs v1alpha1.PerfRunList
		err := c.List(ctx, &runs)
		var unfinished []string
		for _, run := range runs.Items {
			if !run.Status.Phase.Finished() {
				unfinished = append(unfinished, run.Namespace+"/"+run.Name)
			}
		}
		return unfinished, err
	}).WithTimeout(5*time.Minute).WithPolling(time.Second).Should(BeEmpty(), "these PerfRuns are not finished and hold the cluster")
}

// newNamespace makes a namespace that goes with the spec, and with it everything in it. It enforces the strictest Pod Security, which lets
// Dapr's sidecar in where its chart has dapr_sidecar_injector.sidecarDropALLCapabilities=true.
func (c *testCluster) newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: namespacePrefix,
		Labels:       map[string]string{suiteLabel: c.suite, "pod-security.kubernetes.io/enforce": "restricted"},
	}}
	Expect(c.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(c.removeNamespace, namespace.Name, NodeTimeout(2*time.Minute))
	return namespace.Name
}

// unprivilegedPod and unprivileged are what such a namespace asks of the specs' own pods.
func unprivilegedPod() *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
}

func unprivileged() *corev1.SecurityContext {
	return &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
}

// removeNamespace waits until the runs are gone, and their load with them: nothing is in the next run's way. Their pods take a second more and
// the namespace several, which the suite waits for at its end.
func (c *testCluster) removeNamespace(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(c.DeleteAllOf(ctx, &v1alpha1.PerfRun{}, client.InNamespace(name))).To(Succeed())
	Expect(client.IgnoreNotFound(c.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))).To(Succeed())
	Eventually(ctx, func() ([]v1alpha1.PerfRun, error) {
		var runs v1alpha1.PerfRunList
		err := c.List(ctx, &runs, client.InNamespace(name))
		return runs.Items, err
	}).WithTimeout(90*time.Second).WithPolling(pollEvery).Should(BeEmpty(), func() string {
		return "PerfRuns that are being deleted do not go\n" + c.describeNamespace(ctx, name)
	})
}

func (c *testCluster) awaitNamespacesGone(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() ([]corev1.Namespace, error) {
		var list corev1.NamespaceList
		err := c.List(ctx, &list, client.MatchingLabels{suiteLabel: c.suite})
		return list.Items, err
	}).WithTimeout(90 * time.Second).WithPolling(time.Second).Should(BeEmpty())
}

// newestPod of one of a run's roles that is not on its way out.
func (c *testCluster) newestPod(ctx context.Context, run *v1alpha1.PerfRun, role string) *corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(c.List(ctx, &pods, client.InNamespace(run.Namespace), client.MatchingLabels(plan.Labels(run, role)))).To(Succeed())
	var newest *corev1.Pod
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp == nil && (newest == nil || newest.CreationTimestamp.Before(&pod.CreationTimestamp)) {
			newest = pod
		}
	}
	Expect(newest).NotTo(BeNil(), "the run has no %s pod", role)
	return newest
}

// kill deletes a pod without giving it time.
func (c *testCluster) kill(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	Expect(c.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})).To(Succeed())
}

func (c *testCluster) setSuspend(ctx context.Context, run *v1alpha1.PerfRun, suspend bool) {
	GinkgoHelper()
	before := run.DeepCopy()
	run.Spec.Suspend = &suspend
	Expect(c.Patch(ctx, run, client.MergeFrom(before))).To(Succeed())
}

// traces asks the run's target, through the API server, what it has counted.
func (c *testCluster) traces(ctx context.Context, run *v1alpha1.PerfRun) measure.Traces {
	GinkgoHelper()
	target := c.newestPod(ctx, run, plan.RoleTarget)
	answer, err := c.clientset.CoreV1().Pods(run.Namespace).
		ProxyGet("http", target.Name, fmt.Sprint(measure.TargetTracesPort), measure.TargetTracesPath, nil).DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred(), "asking the target: %s", answer)
	var traces measure.Traces
	Expect(json.Unmarshal(answer, &traces)).To(Succeed())
	return traces
}

// leftovers names what a run has left in a namespace that holds nothing else. Dapr's own Services (APP-ID-dapr) carry no label of ours,
// so everything of these kinds counts.
func (c *testCluster) leftovers(ctx context.Context, namespace string) ([]string, error) {
	configurations := &unstructured.UnstructuredList{}
	configurations.SetGroupVersionKind(dapr.ConfigurationGVK.GroupVersion().WithKind(dapr.ConfigurationGVK.Kind + "List"))
	var out []string
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{}, &corev1.ServiceList{}, &networkingv1.NetworkPolicyList{}, configurations} {
		if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("listing what is left: %w", err)
		}
		names, err := namesOf(list)
		if err != nil {
			return nil, err
		}
		out = append(out, names...)
	}
	return out, nil
}

func (c *testCluster) expectNothingLeft(ctx context.Context, namespace string, within time.Duration) {
	GinkgoHelper()
	Eventually(ctx, func() ([]string, error) { return c.leftovers(ctx, namespace) }).
		WithTimeout(within).WithPolling(500*time.Millisecond).
		Should(BeEmpty(), func() string { return "the run left something behind\n" + c.describeNamespace(ctx, namespace) })
}

// daprNamespace is where the control plane runs, as the injector's webhook names it.
func (c *testCluster) daprNamespace(ctx context.Context) string {
	GinkgoHelper()
	var webhook admissionv1.MutatingWebhookConfiguration
	err := c.Get(ctx, client.ObjectKey{Name: dapr.InjectorWebhook}, &webhook)
	Expect(apierrors.IsNotFound(err)).To(BeFalse(), "Dapr must be installed on the cluster of $KUBECONFIG, with its sidecar injector")
	Expect(err).NotTo(HaveOccurred())
	return dapr.InjectorNamespace(&webhook)
}
