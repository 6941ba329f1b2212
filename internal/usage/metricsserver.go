package usage

import (
	"math"

	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"perfrun.dev/perfrun/internal/measure"
)

// Container names a container in a cluster.
type Container struct{ Namespace, Pod, Name string }

// Windows turns metrics-server's answer into the windows of the named containers; it leaves the others out, and what
// is no amount.
// A PodMetrics holds the mean CPU over [Timestamp-Window, Timestamp] and the working set at Timestamp.
func Windows(pods []metricsv1beta1.PodMetrics, components map[Container]string) []measure.Window {
	var out []measure.Window
	for _, pod := range pods {
		for _, c := range pod.Containers {
			component, ok := components[Container{pod.Namespace, pod.Name, c.Name}]
			if !ok || pod.Window.Duration <= 0 {
				continue
			}
			w := measure.Window{
				Component: component, Pod: pod.Name,
				End: pod.Timestamp.Time, Length: pod.Window.Duration,
				CPU: c.Usage.Cpu().AsApproximateFloat64(), WorkingSet: c.Usage.Memory().Value(),
			}
			if w.CPU >= 0 && !math.IsInf(w.CPU, 0) && w.WorkingSet >= 0 {
				out = append(out, w)
			}
		}
	}
	return out
}
