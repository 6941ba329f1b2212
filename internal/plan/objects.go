// Package plan turns a PerfRun into the objects that it needs and the measurement to make. It calls nothing and has no clock.
package plan

import (
	"crypto/ed25519"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/measure"
)

// Objects are what a run creates. None of them ever changes: what is measured is immutable.
type Objects struct {
	Configuration *unstructured.Unstructured
	// StateStore of the actors; nil where there are none, or where the spec names one.
	StateStore *unstructured.Unstructured
	Service    *corev1.Service
	Target     *appsv1.Deployment
	LoadTester *appsv1.Deployment
	// Joining is the actor host that joins and leaves; nil unless the run is about that.
	Joining *appsv1.Deployment
	// Fleet is all that there is in scenario ControlPlane beside the Configuration and the state store.
	Fleet *appsv1.Deployment
	// Sink and SinkService are nil unless the sidecars export their traces.
	Sink        *appsv1.Deployment
	SinkService *corev1.Service
	// Policies say who may call the pods; none where the operator makes none.
	Policies []*networkingv1.NetworkPolicy
}

// Operator is what the objects take from the operator that creates them.
type Operator struct {
	// Image of the operator, which is also the load tester's, the meter's and perfrun's own target's: versions cannot differ.
	Image string
	// JavaHostImage is that of the Java actor host; empty: the operator knows none.
	JavaHostImage string
	// PublicKey with which the load tester tells the operator's calls from others (Ed25519).
	PublicKey ed25519.PublicKey
	// CallsFrom is the namespace that the operator calls load testers from, for NetworkPolicies that let nobody else; empty: none are made.
	CallsFrom string
}

// ObjectsOf renders what the run needs.
func ObjectsOf(run *v1alpha1.PerfRun, settings v1alpha1.Settings, op Operator) Objects {
	names := NamesOf(run)
	out := Objects{
		Configuration: owned(run, dapr.NewConfiguration(run.Namespace, names.Configuration, telemetry(run, settings))),
		StateStore:    stateStore(run, settings),
		Policies:      policies(run, settings, op),
	}
	if settings.ControlPlane != nil {
		out.Fleet = fleet(run, settings, op)
		return out
	}
	out.Service = service(run, settings, names.Target)
	out.Target = deployment(run, targetPod(run, settings, op))
	out.LoadTester = deployment(run, loadTesterPod(run, settings, op))
	if settings.Rebalances() {
		out.Joining = deployment(run, joiningPod(run, settings, op))
	}
	if settings.Export {
		out.Sink, out.SinkService = deployment(run, sinkPod(run, op)), sinkService(run)
	}
	return out
}

func loadTesterPod(run *v1alpha1.PerfRun, settings v1alpha1.Settings, op Operator) pod {
	names := NamesOf(run)
	own := ptr.Deref(run.Spec.LoadTester, v1alpha1.LoadTesterSettings{}).PodSettings
	out := pod{
		name: names.LoadTester, role: RoleLoadTester, replicas: settings.LoadTesterReplicas,
		settings: podSettings(own, loadTesterCPU),
		sidecar:  sidecar(run, settings, names, names.LoadTester),
		affinity: affinity(run, settings.Placement),
	}
	out.containers = []container{{
		name: RoleLoadTester, image: op.Image,
		args: []string{"loadtester",
			fmt.Sprintf("--listen=:%d", measure.LoadTesterPort),
			"--run=" + string(run.UID),
			"--target=" + serviceHost(run),
			"--public-key=" + measure.FormatPublicKey(op.PublicKey)},
		ports:     []corev1.ContainerPort{tcpPort("http", measure.LoadTesterPort)},
		ready:     answers(measure.LoadTesterPort),
		resources: *out.settings.Resources,
	}}
	return out
}

// RawData is the ConfigMap that keeps a file of the run. It is none of its Objects: it is made when the measurement is over, is not
// cleaned up, and goes with the PerfRun.
func RawData(run *v1alpha1.PerfRun, key string, file []byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: meta(run, NamesOf(run).RawData, ""),
		Immutable:  ptr.To(true),
		BinaryData: map[string][]byte{key: file},
	}
}

// CPU that the main containers request where nothing is said. A container without a request has next to no weight beside a sidecar that
// has one, and gets the CPU last: the load tester would send late whenever the CPUs are busy, and be the bottleneck that it is to measure.
// So it has five times its sidecar's weight, and the target as much as its own.
var (
	loadTesterCPU = resource.MustParse("500m")
	targetCPU     = resource.MustParse("100m")
	// The pods of scenario ControlPlane only sit there, many of them.
	fleetCPU = resource.MustParse("10m")
)

// podSettings are the user's, with the request of CPU for a main container whose resources are not set.
func podSettings(own v1alpha1.PodSettings, cpu resource.Quantity) v1alpha1.PodSettings {
	if own.Resources == nil {
		own.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: cpu}}
	}
	return own
}

func sidecar(run *v1alpha1.PerfRun, settings v1alpha1.Settings, names Names, appID string) dapr.Sidecar {
	own := ptr.Deref(run.Spec.Sidecar, v1alpha1.SidecarSettings{})
	return dapr.Sidecar{
		AppID: appID, Configuration: names.Configuration, MTLS: settings.MTLS, Metrics: settings.Metrics,
		CPULimit: settings.SidecarCPU, MemoryLimit: settings.SidecarMemory,
		Image: ptr.Deref(own.Image, ""), LogLevel: ptr.Deref(own.LogLevel, ""),
	}
}

// service is what the baseline calls, over the caller's protocol.
func service(run *v1alpha1.PerfRun, settings v1alpha1.Settings, name string) *corev1.Service {
	protocol := settings.Path().Caller
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta(run, name, RoleTarget),
		Spec: corev1.ServiceSpec{
			Selector: selector(run, RoleTarget),
			Ports: []corev1.ServicePort{{
				Name: portName(protocol), Port: ownPort(protocol), TargetPort: intstr.FromString(portName(protocol)), Protocol: corev1.ProtocolTCP}},
		},
	}
}

// affinity places the load testers in relation to the target. Who comes first does not matter for one; several go after the target, which
// would find no node left if they had spread over all of them (TargetFirst); and several actor hosts after the load tester, for the same
// reason (LoadTesterFirst): the API server's scheduler keeps pods apart whichever of them has the term.
func affinity(run *v1alpha1.PerfRun, placement v1alpha1.Placement) *corev1.Affinity {
	terms := []corev1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: selector(run, RoleTarget)},
		TopologyKey:   corev1.LabelHostname,
	}}
	switch placement {
	case v1alpha1.PlacementDifferentNode:
		return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	case v1alpha1.PlacementSameNode:
		return &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	default:
		return nil
	}
}

// TargetFirst tells whether the load testers are to be created only once the target has a node.
func TargetFirst(s v1alpha1.Settings) bool {
	return s.LoadTesterReplicas > 1 && s.Placement == v1alpha1.PlacementDifferentNode
}

// LoadTesterFirst tells whether the target is to be created only once the load tester has a node.
func LoadTesterFirst(s v1alpha1.Settings) bool {
	return s.Hosts() > 1 && s.Placement == v1alpha1.PlacementDifferentNode
}

func meta(run *v1alpha1.PerfRun, name, role string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: run.Namespace, Name: name,
		Labels:          Labels(run, role),
		OwnerReferences: []metav1.OwnerReference{owner(run)},
	}
}

func owned(run *v1alpha1.PerfRun, u *unstructured.Unstructured) *unstructured.Unstructured {
	u.SetLabels(Labels(run, ""))
	u.SetOwnerReferences([]metav1.OwnerReference{owner(run)})
	return u
}

func owner(run *v1alpha1.PerfRun) metav1.OwnerReference {
	return *metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("PerfRun"))
}

func selector(run *v1alpha1.PerfRun, role string) map[string]string {
	return map[string]string{LabelRun: string(run.UID), LabelRole: role}
}
