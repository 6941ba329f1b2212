package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/measure"
)

// sinkCPU is what the sink requests: it only counts.
var sinkCPU = resource.MustParse("50m")

func telemetry(run *v1alpha1.PerfRun, s v1alpha1.Settings) dapr.Telemetry {
	out := dapr.Telemetry{Sampling: s.Sampling, Metrics: s.Metrics}
	if s.Export {
		out.Collector = fmt.Sprintf("%s.%s:%d", NamesOf(run).Sink, run.Namespace, measure.SinkPort)
	}
	return out
}

// sinkPod receives what the sidecars export. It has no sidecar, and goes to a node without a pod of the run where there is one: what it
// uses is not to be taken from those that are measured.
func sinkPod(run *v1alpha1.PerfRun, op Operator) pod {
	out := pod{name: NamesOf(run).Sink, role: RoleSink, replicas: 1, affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{LabelRun: string(run.UID)}},
			TopologyKey:   corev1.LabelHostname,
		}}},
	}}}
	if run.Spec.LoadTester != nil {
		// Its image is the load tester's.
		out.settings.ImagePullSecrets = run.Spec.LoadTester.ImagePullSecrets
	}
	out.containers = []container{{
		name: RoleSink, image: op.Image,
		args:      []string{"sink", fmt.Sprintf("--listen=:%d", measure.SinkPort), fmt.Sprintf("--counts-listen=:%d", measure.SinkCountsPort)},
		ports:     []corev1.ContainerPort{tcpPort("otlp", measure.SinkPort), tcpPort("counts", measure.SinkCountsPort)},
		ready:     answers(measure.SinkCountsPort),
		resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: sinkCPU}},
	}}
	return out
}

func sinkService(run *v1alpha1.PerfRun) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta(run, NamesOf(run).Sink, RoleSink),
		Spec: corev1.ServiceSpec{
			Selector: selector(run, RoleSink),
			Ports: []corev1.ServicePort{{
				Name: "otlp", Port: measure.SinkPort, TargetPort: intstr.FromString("otlp"), Protocol: corev1.ProtocolTCP}},
		},
	}
}
