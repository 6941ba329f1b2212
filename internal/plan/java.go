package plan

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// javaHostMemory is the limit of the published test's host (dapr/dapr, tests/perf/actor_activation). Java takes a quarter of it for its
// heap, and without a limit a quarter of the node's memory: the figures of two nodes could not be compared.
var javaHostMemory = resource.MustParse("800Mi")

func javaHostResources() *corev1.ResourceRequirements {
	return &corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: targetCPU},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: javaHostMemory},
	}
}

// javaHost is the application made with Dapr's Java SDK; hosts/README.md describes its environment.
func javaHost(run *v1alpha1.PerfRun, settings v1alpha1.Settings, op Operator, resources corev1.ResourceRequirements) container {
	return container{
		name: RoleTarget, image: op.JavaHostImage, resources: resources,
		env: []corev1.EnvVar{
			{Name: "ACTOR_TYPE", Value: ActorType(run, settings)},
			{Name: "APP_PORT", Value: strconv.Itoa(measure.TargetPort)},
		},
		ports: []corev1.ContainerPort{tcpPort("http", measure.TargetPort)},
		ready: answers(measure.TargetPort),
	}
}
