package results

import (
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// driven are the components whose CPU the load drives, so that a figure per 1000 requests/s means something.
var driven = []v1alpha1.Component{
	v1alpha1.ComponentApp, v1alpha1.ComponentLoadTester, v1alpha1.ComponentCallerSidecar, v1alpha1.ComponentTargetSidecar}

var sidecars = []v1alpha1.Component{v1alpha1.ComponentCallerSidecar, v1alpha1.ComponentTargetSidecar}

var sources = map[measure.Source]v1alpha1.Source{
	measure.SourceLocalProc:  v1alpha1.SourceProc,
	measure.SourceRemoteProc: v1alpha1.SourceProc,
	measure.SourcePrometheus: v1alpha1.SourceDaprMetrics,
}

// usage has the Dapr arm's entries first, since they are what people came for.
func usage(in Input) []v1alpha1.Usage {
	var out []v1alpha1.Usage
	arms := []measure.Arm{measure.Dapr, measure.Baseline}
	if in.Settings.Baseline == v1alpha1.BaselineNone {
		arms = arms[:1]
	}
	for _, arm := range arms {
		for _, c := range in.Components {
			out = append(out, usageOf(in, c, arm))
		}
	}
	return out
}

func usageOf(in Input, c Component, arm measure.Arm) v1alpha1.Usage {
	out := v1alpha1.Usage{Component: c.Component, Arm: v1alpha1.Arm(arm), Pod: c.Pod, Node: c.Node, Restarts: c.Restarts, RestartReason: c.RestartReason, Limits: c.Limits}
	all := seriesOf(in.Report, c)
	var primary *measure.Series
	var unread string
	for _, s := range all {
		f, ok := figuresOf(in, s, arm)
		switch {
		case !ok:
			unread = unreadable(s)
		case primary == nil:
			primary = s
			setFigures(&out, f, s.Source)
			out.CPUPer1000RPS = per1000(in, c, arm, f.cpu)
			out.Throttling = throttlingOf(in, s, arm)
		default:
			out.CrossChecks = append(out.CrossChecks, v1alpha1.CrossCheck{
				Source: sources[s.Source], CPU: milli(f.cpu), ComparedCPU: out.CPU, Memory: memory(v1alpha1.MemoryResident, f.memory)})
		}
	}
	if primary == nil {
		out.Note = unread
		if out.Note == "" {
			out.Note = "not read"
		}
	}
	if !in.Settings.Metrics && slices.Contains(sidecars, c.Component) {
		out.CrossChecks = append(out.CrossChecks, v1alpha1.CrossCheck{
			Source: v1alpha1.SourceDaprMetrics, Note: "unavailable: the sidecars' metrics are off (spec.telemetry.metrics)"})
	}
	if arm == measure.Dapr {
		out.CrossChecks = append(out.CrossChecks, metricsServer(in, c, primary))
	}
	return out
}

func setFigures(u *v1alpha1.Usage, f figures, source measure.Source) {
	u.Source = sources[source]
	u.Coverage = fmt.Sprintf("%.2f", f.coverage)
	u.CPU = milli(f.cpu)
	u.Memory = memory(v1alpha1.MemoryResident, f.memory)
	if f.anonymous > 0 {
		u.AnonymousMemory = mebi(f.anonymous)
	}
}

// seriesOf finds the component's series, /proc before the process's own metrics.
func seriesOf(r *measure.Report, c Component) []*measure.Series {
	var out []*measure.Series
	for i := range r.Usage {
		if s := &r.Usage[i]; s.Component == string(c.Component) && s.Pod == c.Pod {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b *measure.Series) int { return rank(a.Source) - rank(b.Source) })
	return out
}

func rank(s measure.Source) int {
	if s == measure.SourcePrometheus {
		return 1
	}
	return 0
}

func unreadable(s *measure.Series) string {
	if s.Error != "" {
		return string(s.Source) + ": " + s.Error
	}
	return string(s.Source) + ": no block with a reading at both of its ends"
}

// figures of one component over the blocks of one arm.
type figures struct {
	// cpu is mean vCPU; memory the resident bytes of each reading; anonymous their mean.
	cpu       float64
	memory    []float64
	anonymous float64
	// coverage is the fraction of the blocks' time between the readings.
	coverage float64
}

// figuresOf adds up, block by block, the CPU between the block's first and last reading and the time between them. A counter that went
// back (the process restarted) makes that block count for nothing.
func figuresOf(in Input, s *measure.Series, arm measure.Arm) (figures, bool) {
	var f figures
	var cpu, seconds, load, anonymous float64
	readingsOf := byBlock(s)
	for i, b := range in.Report.Blocks {
		if b.Arm != arm || in.excluded[i] {
			continue
		}
		load += loadSeconds(in.Report, b)
		readings := readingsOf[i]
		for _, reading := range readings {
			f.memory = append(f.memory, float64(reading.Resident))
			anonymous += float64(reading.Anonymous)
		}
		if used, over, ok := usedIn(readings); ok {
			cpu += used
			seconds += over
		}
	}
	if seconds <= 0 || load <= 0 {
		return figures{}, false
	}
	f.cpu, f.coverage = cpu/seconds, min(1, seconds/load)
	f.anonymous = anonymous / float64(len(f.memory))
	return f, true
}

func per1000(in Input, c Component, arm measure.Arm, cpu float64) *resource.Quantity {
	if !slices.Contains(driven, c.Component) || arm == measure.Baseline && slices.Contains(sidecars, c.Component) {
		return nil
	}
	var succeeded int64
	var seconds float64
	replica := replicaOf(in.Report, c.Pod)
	for i, b := range in.Report.Blocks {
		if b.Arm == arm && !in.excluded[i] {
			if replica >= 0 {
				succeeded += b.Replicas[replica].Succeeded
			} else {
				succeeded += b.Succeeded
			}
			seconds += loadSeconds(in.Report, b)
		}
	}
	rps := rate(succeeded, seconds)
	if rps == 0 {
		return nil
	}
	return milli(cpu / rps * 1000)
}

// milli rounds vCPU to thousandths, below 10m to a hundred-thousandth: an idle control plane is not zero.
func milli(vcpu float64) *resource.Quantity {
	if vcpu < 0.01 {
		return resource.NewScaledQuantity(int64(math.Round(vcpu*1e5))*10, resource.Micro)
	}
	return resource.NewMilliQuantity(int64(math.Round(vcpu*1e3)), resource.DecimalSI)
}

func memory(kind v1alpha1.MemoryKind, bytes []float64) *v1alpha1.Memory {
	if len(bytes) == 0 {
		return nil
	}
	var sum float64
	for _, b := range bytes {
		sum += b
	}
	return &v1alpha1.Memory{Kind: kind, Mean: *mebi(sum / float64(len(bytes))), Max: *mebi(slices.Max(bytes))}
}

// mebi rounds bytes to whole MiB: pages come and go by the hundred.
func mebi(bytes float64) *resource.Quantity {
	const step = 1 << 20
	return resource.NewQuantity(int64(math.Round(bytes/step))*step, resource.BinarySI)
}
