package trend

import (
	"fmt"
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// Figures are the figures of a measured run that are worth following.
func Figures(status *v1alpha1.PerfRunStatus) []v1alpha1.Figure {
	var out []v1alpha1.Figure
	for _, point := range status.Results {
		out = append(out, pointFigures(point)...)
	}
	return append(out, usageFigures(status.Usage)...)
}

func pointFigures(point v1alpha1.PointResult) []v1alpha1.Figure {
	var out []v1alpha1.Figure
	add := func(metric, value, low, high string) {
		out = append(out, v1alpha1.Figure{Metric: metric, Connections: point.Connections, Value: value, Low: low, High: high})
	}
	text := func(l *v1alpha1.Latency) string {
		if l == nil {
			return ""
		}
		return l.String()
	}
	quantity := func(q *resource.Quantity) string {
		if q == nil {
			return ""
		}
		return q.String()
	}
	if added := point.Added; added != nil {
		for i, a := range []*v1alpha1.AddedLatency{added.P50, added.P90, added.P99} {
			if a != nil {
				add("added."+percentiles[i], a.Value.String(), text(a.Low), text(a.High))
			}
		}
		if cpu := added.CPUPer1000RPS; cpu != nil {
			add("added.cpuPer1000RPS", cpu.Value.String(), quantity(cpu.Low), quantity(cpu.High))
		}
	}
	// What slows both arms alike, such as the network between the nodes, adds nothing to Dapr's cost; the medians show it. Where there is
	// no baseline, they and the other percentiles are all there is.
	followed := percentiles[:1]
	if point.Baseline == nil {
		followed = percentiles[:]
	}
	for _, arm := range []struct {
		name   string
		result *v1alpha1.ArmResult
	}{{"dapr.", point.Dapr}, {"baseline.", point.Baseline}} {
		if arm.result == nil || arm.result.Latency == nil {
			continue
		}
		all := []*v1alpha1.Latency{arm.result.Latency.P50, arm.result.Latency.P90, arm.result.Latency.P99}
		for i, percentile := range followed {
			if all[i] != nil {
				add(arm.name+percentile, all[i].String(), "", "")
			}
		}
	}
	return out
}

var percentiles = [...]string{"p50", "p90", "p99"}

// components in the order in which they are reported.
var components = []v1alpha1.Component{
	v1alpha1.ComponentCallerSidecar, v1alpha1.ComponentTargetSidecar, v1alpha1.ComponentApp, v1alpha1.ComponentLoadTester,
	v1alpha1.ComponentOperator, v1alpha1.ComponentSentry, v1alpha1.ComponentInjector, v1alpha1.ComponentPlacement, v1alpha1.ComponentScheduler,
}

// usageFigures are those of the Dapr arm. A component of which a pod could not be read has none: a sum over fewer pods is another figure.
func usageFigures(usage []v1alpha1.Usage) []v1alpha1.Figure {
	var out []v1alpha1.Figure
	for _, component := range components {
		var pods, cpus, memories int
		var cpu, memory float64
		for _, u := range usage {
			if u.Component != component || u.Arm != v1alpha1.ArmDapr {
				continue
			}
			pods++
			if u.CPUPer1000RPS != nil {
				cpus++
				cpu += u.CPUPer1000RPS.AsApproximateFloat64()
			}
			if u.Memory != nil && u.Memory.Kind == v1alpha1.MemoryResident {
				memories++
				memory += u.Memory.Mean.AsApproximateFloat64()
			}
		}
		if pods == 0 {
			continue
		}
		if cpus == pods {
			metric := string(component) + suffixCPU
			out = append(out, v1alpha1.Figure{Metric: metric, Value: Format(metric, cpu/float64(pods))})
		}
		if memories == pods {
			metric := string(component) + suffixMemory
			out = append(out, v1alpha1.Figure{Metric: metric, Value: Format(metric, memory)})
		}
	}
	return out
}

const (
	suffixCPU    = ".cpuPer1000RPS"
	suffixMemory = ".memory"
)

// Value reads a figure: seconds, vCPU or bytes.
func Value(metric, value string) (float64, error) {
	if strings.HasSuffix(metric, suffixCPU) || strings.HasSuffix(metric, suffixMemory) {
		q, err := resource.ParseQuantity(value)
		if err != nil {
			return 0, fmt.Errorf("reading %s %q: %w", metric, value, err)
		}
		return q.AsApproximateFloat64(), nil
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		return 0, fmt.Errorf("reading %s %q: %w", metric, value, err)
	}
	return d.Seconds(), nil
}

// Format writes a figure as the PerfRun's status does, in steps of at most 1% of it: results that are rounded to coarser ones lie on two
// steps without any noise between them, which no test takes for chance.
func Format(metric string, value float64) string {
	switch {
	case strings.HasSuffix(metric, suffixMemory):
		step := float64(1 << 20)
		if math.Abs(value) < 100*step {
			step = 1 << 10
		}
		return resource.NewQuantity(int64(math.Round(value/step)*step), resource.BinarySI).String()
	case strings.HasSuffix(metric, suffixCPU):
		scale := resource.Milli
		if math.Abs(value) < 0.1 {
			scale = resource.Micro
		}
		return resource.NewScaledQuantity(int64(math.Round(value*math.Pow10(-int(scale)))), scale).String()
	default:
		return v1alpha1.NewLatency(time.Duration(math.Round(value * float64(time.Second)))).String()
	}
}
