package plan

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/measure"
)

// pod says in what the run's two Deployments differ.
type pod struct {
	name, role string
	replicas   int32
	// containers of ours, the main one first.
	containers []container
	// sidecar that Dapr is to add; zero: none.
	sidecar  dapr.Sidecar
	settings v1alpha1.PodSettings
	affinity *corev1.Affinity
}

// container says in what the containers differ.
type container struct {
	name, image string
	args        []string
	env         []corev1.EnvVar
	ports       []corev1.ContainerPort
	ready       corev1.ProbeHandler
	resources   corev1.ResourceRequirements
	// user that the process runs as; nil: the image's own.
	user *int64
}

func deployment(run *v1alpha1.PerfRun, p pod) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: meta(run, p.name, p.role),
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(p.replicas),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: selector(run, p.role)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: podMeta(run, p),
				Spec:       podSpec(run, p),
			},
		},
	}
}

func podMeta(run *v1alpha1.PerfRun, p pod) metav1.ObjectMeta {
	out := metav1.ObjectMeta{Labels: Labels(run, p.role)}
	if p.sidecar.AppID != "" {
		out.Labels[LabelMTLS] = strconv.FormatBool(p.sidecar.MTLS)
		out.Annotations = p.sidecar.Annotations()
	}
	return out
}

// spread asks for replicas on different nodes where that is possible: those of one node share its CPU and its network.
func spread(run *v1alpha1.PerfRun, p pod) []corev1.TopologySpreadConstraint {
	if p.replicas == 1 {
		return nil
	}
	return []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: selector(run, p.role)},
	}}
}

func podSpec(run *v1alpha1.PerfRun, p pod) corev1.PodSpec {
	spec := corev1.PodSpec{
		// The CPU and memory of every process of the pod, the sidecar's too, are read from /proc inside the pod:
		// exact, cumulative, and without asking for any permission.
		ShareProcessNamespace:         ptr.To(true),
		AutomountServiceAccountToken:  ptr.To(false),
		EnableServiceLinks:            ptr.To(false),
		TerminationGracePeriodSeconds: ptr.To[int64](5),
		NodeSelector:                  p.settings.NodeSelector,
		Tolerations:                   p.settings.Tolerations,
		ImagePullSecrets:              p.settings.ImagePullSecrets,
		Affinity:                      p.affinity,
		TopologySpreadConstraints:     spread(run, p),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   ptr.To(true),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	for _, c := range p.containers {
		spec.Containers = append(spec.Containers, c.spec())
	}
	return spec
}

func (c container) spec() corev1.Container {
	return corev1.Container{
		Name:            c.name,
		Image:           c.image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Args:            c.args,
		Env:             c.env,
		Ports:           c.ports,
		Resources:       c.resources,
		ReadinessProbe:  &corev1.Probe{ProbeHandler: c.ready, PeriodSeconds: 1},
		// What it said last is then in the pod's status, for the condition of a run that waits for it.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false),
			ReadOnlyRootFilesystem:   ptr.To(true),
			RunAsNonRoot:             ptr.To(true),
			RunAsUser:                c.user,
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}

func tcpPort(name string, port int32) corev1.ContainerPort {
	return corev1.ContainerPort{Name: name, ContainerPort: port, Protocol: corev1.ProtocolTCP}
}

// answers is the readiness of a program of ours.
func answers(port int32) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: measure.PathHealth, Port: intstr.FromInt32(port)}}
}
