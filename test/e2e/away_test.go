package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// awayDeployment is one that a spec takes away for a while.
type awayDeployment struct {
	Namespace, Name string
	replicas        int32
}

func (d *awayDeployment) get(ctx SpecContext) *appsv1.Deployment {
	GinkgoHelper()
	deployment := &appsv1.Deployment{}
	Expect(cluster.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: d.Name}, deployment)).To(Succeed())
	return deployment
}

// scaleToZero waits for the pods to go. The spec ends with what brings them back, if that has not been done before.
func (d *awayDeployment) scaleToZero(ctx SpecContext, back func(SpecContext)) {
	GinkgoHelper()
	deployment := d.get(ctx)
	d.replicas = ptr.Deref(deployment.Spec.Replicas, 1)
	Expect(d.replicas).To(BeNumerically(">", 0), "Deployment %s/%s has no replicas to begin with", d.Namespace, d.Name)
	DeferCleanup(back, NodeTimeout(2*time.Minute))
	d.scale(ctx, 0)
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	Expect(err).NotTo(HaveOccurred())
	Eventually(ctx, func() ([]corev1.Pod, error) {
		var pods corev1.PodList
		err := cluster.List(ctx, &pods, client.InNamespace(d.Namespace), client.MatchingLabelsSelector{Selector: selector})
		return pods.Items, err
	}).WithTimeout(time.Minute).WithPolling(pollEvery).Should(BeEmpty(), "the pods of %s/%s do not go", d.Namespace, d.Name)
}

// scaleBack to as many replicas as there were.
func (d *awayDeployment) scaleBack(ctx SpecContext) {
	GinkgoHelper()
	d.scale(ctx, d.replicas)
}

// restore scales back and waits until all replicas are available.
func (d *awayDeployment) restore(ctx SpecContext) {
	GinkgoHelper()
	d.scaleBack(ctx)
	Eventually(ctx, func() int32 { return d.get(ctx).Status.AvailableReplicas }).
		WithTimeout(90*time.Second).WithPolling(pollEvery).
		Should(Equal(d.replicas), func() string {
			return "Deployment " + d.Name + " does not come back\n" + cluster.describeNamespace(ctx, d.Namespace)
		})
}

func (d *awayDeployment) scale(ctx SpecContext, replicas int32) {
	GinkgoHelper()
	deployment := d.get(ctx)
	before := deployment.DeepCopy()
	deployment.Spec.Replicas = ptr.To(replicas)
	Expect(cluster.Patch(ctx, deployment, client.MergeFrom(before))).To(Succeed())
}

// metricsAPI is the APIService behind which metrics-server stands, wherever it is installed.
func metricsAPI(ctx SpecContext) *unstructured.Unstructured {
	GinkgoHelper()
	api := &unstructured.Unstructured{}
	api.SetAPIVersion("apiregistration.k8s.io/v1")
	api.SetKind("APIService")
	Expect(cluster.Get(ctx, client.ObjectKey{Name: "v1beta1.metrics.k8s.io"}, api)).To(Succeed(), "metrics-server must be installed")
	return api
}

// metricsServer finds the Deployment whose pods the API's Service selects.
func metricsServer(ctx SpecContext) *awayDeployment {
	GinkgoHelper()
	api := metricsAPI(ctx)
	namespace, _, err := unstructured.NestedString(api.Object, "spec", "service", "namespace")
	Expect(err).NotTo(HaveOccurred())
	name, _, err := unstructured.NestedString(api.Object, "spec", "service", "name")
	Expect(err).NotTo(HaveOccurred())
	var service corev1.Service
	Expect(cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &service)).To(Succeed())
	var deployments appsv1.DeploymentList
	Expect(cluster.List(ctx, &deployments, client.InNamespace(namespace))).To(Succeed())
	for _, d := range deployments.Items {
		if selects(service.Spec.Selector, d.Spec.Template.Labels) {
			return &awayDeployment{Namespace: namespace, Name: d.Name}
		}
	}
	Fail("no Deployment is behind the Service " + namespace + "/" + name + " of metrics-server")
	return nil
}

func selects(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return len(selector) > 0
}

// expectMetricsServed waits until the API server answers for metrics-server again: until then no namespace can go.
func expectMetricsServed(ctx SpecContext) {
	GinkgoHelper()
	Eventually(ctx, func() (string, error) {
		conditions, _, err := unstructured.NestedSlice(metricsAPI(ctx).Object, "status", "conditions")
		for _, c := range conditions {
			if condition, ok := c.(map[string]any); ok && condition["type"] == "Available" {
				status, _ := condition["status"].(string)
				return status, err
			}
		}
		return "", err
	}).WithTimeout(time.Minute).WithPolling(pollEvery).Should(Equal("True"), "the API metrics.k8s.io does not come back")
}
