// Package dapr holds everything that knows Dapr: the annotations that its injector reads, the Configuration that its sidecars load,
// the URLs of service invocation, and how its parts are found in a cluster. It builds and reads Kubernetes API types; it calls nothing.
package dapr

import (
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SidecarContainer is the name that Dapr's injector gives to the sidecar's container.
const SidecarContainer = "daprd"

// Ports of a sidecar (Dapr's pkg/config and its documentation, "Dapr arguments and annotations").
const (
	// HTTPPort serves the Dapr API, on the pod's loopback only.
	HTTPPort = 3500
	// GRPCPort serves the same over gRPC, and passes other calls on to other applications.
	GRPCPort = 50001
	// InternalPort takes calls from other sidecars; TLS exactly if mTLS is on.
	InternalPort = 50002
	// MetricsPort serves Prometheus text, in sidecars and in the control plane alike.
	MetricsPort = 9090
)

// ConfigurationGVK is Dapr's Configuration, which a sidecar loads by the name in its annotation dapr.io/config.
var ConfigurationGVK = schema.GroupVersionKind{Group: "dapr.io", Version: "v1alpha1", Kind: "Configuration"}

// Telemetry says what sidecars tell of their work.
type Telemetry struct {
	// Sampling is the traced fraction, a decimal string.
	Sampling string
	// Collector is the host:port of an OTLP collector (gRPC, plain text) that traces are exported to. Empty: the sidecars make the spans of
	// sampled requests and throw them away.
	Collector string
	// Metrics: the sidecars count, and serve the counts.
	Metrics bool
}

// NewConfiguration is the Configuration of one run's sidecars.
func NewConfiguration(namespace, name string, t Telemetry) *unstructured.Unstructured {
	tracing := map[string]any{"samplingRate": t.Sampling}
	if t.Collector != "" {
		tracing["otel"] = map[string]any{"endpointAddress": t.Collector, "protocol": "grpc", "isSecure": false}
	}
	spec := map[string]any{"tracing": tracing}
	if !t.Metrics {
		// Dapr has the field by two names, each of which the API server fills in with enabled where it is missing; the second wins.
		spec["metric"], spec["metrics"] = map[string]any{"enabled": false}, map[string]any{"enabled": false}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(ConfigurationGVK)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// Sidecar says how a pod's sidecar is to be.
type Sidecar struct {
	// AppID that other sidecars call it by.
	AppID string
	// AppPort that the application listens on; 0 for a pure caller.
	AppPort int
	// AppProtocol that it speaks there: http or grpc.
	AppProtocol string
	// Configuration that it loads, by name.
	Configuration string
	// MTLS towards other sidecars. No annotation says so: MTLSPatch does it.
	MTLS bool
	// Metrics: it serves its metrics.
	Metrics bool
	// CPULimit and MemoryLimit; zero sets none.
	CPULimit, MemoryLimit resource.Quantity
	// Image and LogLevel; empty leaves Dapr's own.
	Image, LogLevel string
}

// cpuRequest is what a sidecar requests at most: enough for it to start at once, and small enough that both pods of a run
// find a place on a small cluster. Kubernetes would otherwise request as much as the limit.
var cpuRequest = resource.MustParse("100m")

// Annotations that make Dapr's injector add the sidecar.
func (s Sidecar) Annotations() map[string]string {
	a := map[string]string{
		"dapr.io/enabled": "true",
		"dapr.io/app-id":  s.AppID,
		"dapr.io/config":  s.Configuration,
		// A period of 1 s instead of 6 s: the run starts as soon as the sidecar is ready.
		"dapr.io/sidecar-readiness-probe-period-seconds": "1",
		"dapr.io/sidecar-readiness-probe-delay-seconds":  "1",
		// The run's pods have no API credentials, which the built-in secret store would ask for.
		"dapr.io/disable-builtin-k8s-secret-store": "true",
		// Nothing is in flight when a run's pods are deleted.
		"dapr.io/graceful-shutdown-seconds": "1",
	}
	if s.AppPort != 0 {
		a["dapr.io/app-port"] = strconv.Itoa(s.AppPort)
		a["dapr.io/app-protocol"] = s.AppProtocol
	}
	if !s.Metrics {
		a["dapr.io/enable-metrics"] = "false"
	}
	if !s.CPULimit.IsZero() {
		a["dapr.io/sidecar-cpu-limit"] = s.CPULimit.String()
		request := cpuRequest
		if s.CPULimit.Cmp(request) < 0 {
			request = s.CPULimit
		}
		a["dapr.io/sidecar-cpu-request"] = request.String()
	}
	if !s.MemoryLimit.IsZero() {
		a["dapr.io/sidecar-memory-limit"] = s.MemoryLimit.String()
	}
	if s.Image != "" {
		a["dapr.io/sidecar-image"] = s.Image
	}
	if s.LogLevel != "" {
		a["dapr.io/log-level"] = s.LogLevel
	}
	return a
}

// MetadataURL is the metadata of the sidecar of the pod that asks.
func MetadataURL() string { return fmt.Sprintf("http://127.0.0.1:%d/v1.0/metadata", HTTPPort) }

// MetricsURL is the metrics endpoint of the Dapr process in the pod with this address.
func MetricsURL(host string) string {
	return "http://" + net.JoinHostPort(host, strconv.Itoa(MetricsPort)) + "/metrics"
}

// InternalAddress is where the sidecar in the pod with this address takes calls from other sidecars.
func InternalAddress(host string) string { return net.JoinHostPort(host, strconv.Itoa(InternalPort)) }

// SidecarSpec is the sidecar's container in a pod: among the containers, or among the init containers where the cluster's
// injector makes native sidecars. Nil if there is none.
func SidecarSpec(pod *corev1.Pod) *corev1.Container {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == SidecarContainer {
				return &list[i]
			}
		}
	}
	return nil
}
