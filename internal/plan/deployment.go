package plan

import (
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
	name, role, image string
	args              []string
	ports             []corev1.ContainerPort
	probePort         int32
	sidecar           dapr.Sidecar
	settings          v1alpha1.PodSettings
	affinity          *corev1.Affinity
}

func deployment(run *v1alpha1.PerfRun, p pod) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: meta(run, p.name, p.role),
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: selector(run, p.role)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: Labels(run, p.role), Annotations: p.sidecar.Annotations()},
				Spec:       podSpec(p),
			},
		},
	}
}

func podSpec(p pod) corev1.PodSpec {
	return corev1.PodSpec{
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
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   ptr.To(true),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name:            p.role,
			Image:           p.image,
			ImagePullPolicy: corev1.PullIfNotPresent,
			Args:            p.args,
			Ports:           p.ports,
			Resources:       *p.settings.Resources,
			ReadinessProbe: &corev1.Probe{
				ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
					Path: measure.PathHealth, Port: intstr.FromInt32(p.probePort)}},
				PeriodSeconds: 1,
			},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false),
				ReadOnlyRootFilesystem:   ptr.To(true),
				RunAsNonRoot:             ptr.To(true),
				Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}
}
