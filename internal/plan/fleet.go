package plan

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// fleet is the Deployment whose pods come and go in scenario ControlPlane. It begins with none, and is scaled afterwards.
func fleet(run *v1alpha1.PerfRun, settings v1alpha1.Settings, op Operator) *appsv1.Deployment {
	names := NamesOf(run)
	own := ptr.Deref(run.Spec.Target, v1alpha1.TargetSettings{}).PodSettings
	p := pod{
		name: names.Fleet, role: RoleFleet,
		settings: podSettings(own, fleetCPU),
		sidecar:  sidecar(run, settings, names, names.Fleet),
	}
	p.sidecar.AppPort, p.sidecar.AppProtocol = measure.TargetPort, portName(v1alpha1.ProtocolHTTP)
	args := []string{"target", fmt.Sprintf("--listen=:%d", measure.TargetPort), fmt.Sprintf("--traces-listen=:%d", measure.TargetTracesPort)}
	if settings.ControlPlane.ActorHosts {
		args = append(args, "--actor-type="+names.ActorType)
	}
	p.containers = []container{{
		name: RoleFleet, image: op.Image, args: args, resources: *p.settings.Resources,
		ports: []corev1.ContainerPort{tcpPort("http", measure.TargetPort), tcpPort("traces", measure.TargetTracesPort)},
		ready: answers(measure.TargetTracesPort),
	}}
	return deployment(run, p)
}
