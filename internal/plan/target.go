package plan

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// ContainerMeter is the name of the container that reads what the target's pod uses.
const ContainerMeter = "meter"

// meterCPU is what the meter requests: a reading takes a millisecond or so, and is not to wait for the load.
var meterCPU = resource.MustParse("20m")

// ownPort is where perfrun's own application serves a protocol, and the Service whatever application it is.
func ownPort(protocol v1alpha1.Protocol) int32 {
	if protocol == v1alpha1.ProtocolGRPC {
		return measure.TargetGRPCPort
	}
	return measure.TargetPort
}

func portName(protocol v1alpha1.Protocol) string { return strings.ToLower(string(protocol)) }

// TargetPort is where the application under test serves a protocol. Another's image has one port and speaks one protocol there.
func TargetPort(run *v1alpha1.PerfRun, protocol v1alpha1.Protocol) int32 {
	if !run.Spec.Target.Foreign() {
		return ownPort(protocol)
	}
	return ptr.Deref(run.Spec.Target.Port, measure.TargetPort)
}

// targetPod has the application and, beside it, the meter: one way to read usage whatever the application is, which does not pay for it.
func targetPod(run *v1alpha1.PerfRun, settings v1alpha1.Settings, op Operator) pod {
	names := NamesOf(run)
	own := ptr.Deref(run.Spec.Target, v1alpha1.TargetSettings{}).PodSettings
	out := pod{
		name: names.Target, role: RoleTarget, replicas: int32(settings.Hosts()), //nolint:gosec // at most 16
		settings: podSettings(own, targetCPU),
		sidecar:  sidecar(run, settings, names, names.Target),
	}
	spoken := settings.Path().Target
	out.sidecar.AppPort, out.sidecar.AppProtocol = int(TargetPort(run, spoken)), portName(spoken)
	if settings.Actors.Java() && own.Resources == nil {
		out.settings.Resources = javaHostResources()
	}
	out.containers = []container{application(run, settings, op, *out.settings.Resources), meter(op)}
	return out
}

// application is the target's main container. Of another's image nothing is known but its port: it is ready when that is open.
func application(run *v1alpha1.PerfRun, settings v1alpha1.Settings, op Operator, resources corev1.ResourceRequirements) container {
	path := settings.Path()
	if run.Spec.Target.Foreign() {
		port := TargetPort(run, path.Target)
		return container{
			name: RoleTarget, image: *run.Spec.Target.Image, args: run.Spec.Target.Args, user: run.Spec.Target.RunAsUser, resources: resources,
			ports: []corev1.ContainerPort{tcpPort(portName(path.Target), port)},
			ready: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(port)}},
		}
	}
	if settings.Actors.Java() {
		return javaHost(run, settings, op, resources)
	}
	out := container{
		name: RoleTarget, image: op.Image, resources: resources,
		args:  []string{"target", fmt.Sprintf("--listen=:%d", measure.TargetPort), fmt.Sprintf("--traces-listen=:%d", measure.TargetTracesPort)},
		ports: []corev1.ContainerPort{tcpPort("http", measure.TargetPort), tcpPort("traces", measure.TargetTracesPort)},
		ready: answers(measure.TargetTracesPort),
	}
	if settings.Actors != nil {
		out.args = append(out.args, "--actor-type="+ActorType(run, settings))
	}
	// The sidecar speaks one protocol, the baseline the other where the path is mixed.
	if path.Caller == v1alpha1.ProtocolGRPC || path.Target == v1alpha1.ProtocolGRPC {
		out.args = append(out.args, fmt.Sprintf("--grpc-listen=:%d", measure.TargetGRPCPort))
		out.ports = append(out.ports, tcpPort("grpc", measure.TargetGRPCPort))
	}
	return out
}

func meter(op Operator) container {
	return container{
		name: ContainerMeter, image: op.Image,
		args:      []string{"meter", fmt.Sprintf("--listen=:%d", measure.TargetUsagePort)},
		ports:     []corev1.ContainerPort{tcpPort("usage", measure.TargetUsagePort)},
		ready:     answers(measure.TargetUsagePort),
		resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: meterCPU}},
	}
}
