package plan

import (
	"fmt"

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

// TargetPort is where the application under test serves.
func TargetPort(run *v1alpha1.PerfRun) int32 {
	if !run.Spec.Target.Foreign() {
		return measure.TargetPort
	}
	return ptr.Deref(run.Spec.Target.Port, measure.TargetPort)
}

// targetPod has the application and, beside it, the meter: one way to read usage whatever the application is, which does not pay for it.
func targetPod(run *v1alpha1.PerfRun, settings v1alpha1.Settings, op Operator) pod {
	names := NamesOf(run)
	var own *v1alpha1.PodSettings
	if run.Spec.Target != nil {
		own = &run.Spec.Target.PodSettings
	}
	out := pod{
		name: names.Target, role: RoleTarget, replicas: 1,
		settings: podSettings(own, targetCPU),
		sidecar:  sidecar(run, settings, names, names.Target, int(TargetPort(run))),
	}
	out.containers = []container{application(run, op, *out.settings.Resources), meter(op)}
	return out
}

// application is the target's main container. Of another's image nothing is known but its port: it is ready when that is open.
func application(run *v1alpha1.PerfRun, op Operator, resources corev1.ResourceRequirements) container {
	port := TargetPort(run)
	if run.Spec.Target.Foreign() {
		return container{
			name: RoleTarget, image: *run.Spec.Target.Image, args: run.Spec.Target.Args, user: run.Spec.Target.RunAsUser, resources: resources,
			ports: []corev1.ContainerPort{tcpPort("http", port)},
			ready: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(port)}},
		}
	}
	return container{
		name: RoleTarget, image: op.Image, resources: resources,
		args:  []string{"target", fmt.Sprintf("--listen=:%d", port), fmt.Sprintf("--traces-listen=:%d", measure.TargetTracesPort)},
		ports: []corev1.ContainerPort{tcpPort("http", port), tcpPort("traces", measure.TargetTracesPort)},
		ready: answers(measure.TargetTracesPort),
	}
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
