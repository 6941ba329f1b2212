package e2e

import (
	"context"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/internal/dapr"
)

// redisImage is the environment variable that names an image of test/e2e/redis, or of anything that serves Redis on port 6379 as its entry point.
const redisImage = "E2E_REDIS_IMAGE"

// startStore makes a state store for the actors of an app id, outside their sidecars: a pod, and a Component that names it.
func startStore(ctx context.Context, namespace, name, appID string) {
	GinkgoHelper()
	image := os.Getenv(redisImage)
	if image == "" {
		Skip(redisImage + " names no image of a Redis that the cluster can run")
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](1),
			AutomountServiceAccountToken:  ptr.To(false),
			SecurityContext:               unprivilegedPod(),
			Containers: []corev1.Container{{
				Name: "redis", Image: image, ImagePullPolicy: corev1.PullIfNotPresent, SecurityContext: unprivileged(),
				ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(6379)}}},
			}},
		},
	}
	Expect(cluster.Create(ctx, pod)).To(Succeed())
	Eventually(ctx, func() (bool, error) {
		err := cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		return podReady(pod), err
	}).WithTimeout(preparing).WithPolling(pollEvery).Should(BeTrue(), func() string {
		return "the state store's pod does not become ready\n" + cluster.describeNamespace(ctx, namespace)
	})
	store := dapr.NewActorStateStore(namespace, name, appID)
	spec := store.Object["spec"].(map[string]any)
	spec["type"] = "state.redis"
	spec["metadata"] = append(spec["metadata"].([]any), map[string]any{"name": "redisHost", "value": pod.Status.PodIP + ":6379"})
	Expect(cluster.Create(ctx, store)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		// The namespace waits for its pods; a Component is no pod.
		Expect(client.IgnoreNotFound(cluster.Delete(ctx, &unstructured.Unstructured{Object: store.Object}))).To(Succeed())
	})
}
