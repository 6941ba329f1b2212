package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/chart"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/rawdata"
)

// drawing is a chart that can be drawn.
type drawing interface{ Draw(id string) chart.Figure }

// figuresOf a run: those of its status first, then those of its raw data.
func figuresOf(run *v1alpha1.PerfRun, raw *rawdata.Document) ([]chart.Figure, error) {
	all := fromStatus(run, raw)
	if raw != nil {
		drawn, err := fromRaw(run, raw)
		if err != nil {
			return nil, err
		}
		all = append(all, drawn...)
	}
	figures := make([]chart.Figure, len(all))
	for i, d := range all {
		figures[i] = d.Draw(fmt.Sprintf("figure-%d", i+1))
	}
	return figures, nil
}

func fromStatus(run *v1alpha1.PerfRun, raw *rawdata.Document) (all []drawing) {
	if d, ok := addedLatency(run.Status.Results); ok {
		all = append(all, d)
	}
	if len(run.Status.Results) > 1 {
		for _, q := range []struct {
			name string
			of   func(*v1alpha1.LatencySummary) *v1alpha1.Latency
			q    float64
		}{{"p90", func(l *v1alpha1.LatencySummary) *v1alpha1.Latency { return l.P90 }, 0.9}, {"p99", func(l *v1alpha1.LatencySummary) *v1alpha1.Latency { return l.P99 }, 0.99}} {
			if d, ok := againstConnections(run.Status.Results, raw, q.name, q.of, q.q); ok {
				all = append(all, d)
			}
		}
	}
	all = append(all, usageByArm(run)...)
	return append(all, steps(run.Status.ControlPlaneResults)...)
}

func addedLatency(results []v1alpha1.PointResult) (chart.Rows, bool) {
	c := chart.Rows{
		Title:       "What Dapr adds to latency",
		Description: "The median over the pairs of blocks of the difference between the percentile through Dapr and that of the baseline, with its 95% interval.",
		X:           chart.Axis{Label: "ms"},
		Series:      []chart.RowSeries{{Name: "Added"}},
	}
	for _, r := range results {
		if r.Added == nil {
			continue
		}
		for _, one := range []struct {
			name  string
			added *v1alpha1.AddedLatency
		}{{"p50", r.Added.P50}, {"p90", r.Added.P90}, {"p99", r.Added.P99}} {
			if one.added == nil {
				continue
			}
			c.Names = append(c.Names, fmt.Sprintf("%s, %d connections", one.name, r.Connections))
			v := &chart.Value{At: millis(one.added.Value.Duration)}
			if one.added.Low != nil && one.added.High != nil {
				v.Low, v.High = new(millis(one.added.Low.Duration)), new(millis(one.added.High.Duration))
			}
			c.Series[0].Values = append(c.Series[0].Values, v)
		}
	}
	return c, len(c.Names) > 0
}

// againstConnections has a place for each point, evenly spaced where the numbers double.
func againstConnections(results []v1alpha1.PointResult, raw *rawdata.Document, name string,
	of func(*v1alpha1.LatencySummary) *v1alpha1.Latency, q float64) (chart.XY, bool) {
	c := chart.XY{
		Title:       "Latency against connections, " + name,
		Description: "The " + name + " of all requests of each arm, by the number of client connections.",
		X:           chart.Axis{Label: "client connections", Format: func(x float64) string { return chart.Number(math.Exp2(x)) }},
		Y:           chart.Axis{Label: name + " in ms"},
	}
	for _, r := range results {
		c.X.Ticks = append(c.X.Ticks, chart.Tick{At: math.Log2(float64(r.Connections)), Label: fmt.Sprint(r.Connections)})
	}
	if raw != nil {
		c.Description += " The bands reach from the block with the lowest " + name + " to the one with the highest."
	}
	some := false
	for _, arm := range []struct {
		name measure.Arm
		of   func(v1alpha1.PointResult) *v1alpha1.ArmResult
	}{{measure.Baseline, baseline}, {measure.Dapr, through}} {
		s := chart.Series{Name: string(arm.name), Line: true}
		for i, r := range results {
			if a := arm.of(r); a != nil && a.Latency != nil && of(a.Latency) != nil {
				p := chart.Point{X: c.X.Ticks[i].At, Y: millis(of(a.Latency).Duration)}
				p.Low, p.High = acrossBlocks(raw, i, arm.name, q)
				s.Points = append(s.Points, p)
				some = true
			}
		}
		slices.SortFunc(s.Points, func(a, b chart.Point) int { return cmp.Compare(a.X, b.X) })
		c.Series = append(c.Series, s)
	}
	slices.SortFunc(c.X.Ticks, func(a, b chart.Tick) int { return cmp.Compare(a.At, b.At) })
	return c, some
}

func baseline(r v1alpha1.PointResult) *v1alpha1.ArmResult { return r.Baseline }
func through(r v1alpha1.PointResult) *v1alpha1.ArmResult  { return r.Dapr }

// usageByArm is the CPU and the memory of each component with and without Dapr's load: those of the run's own pods, which carry it, and those of
// the control plane, which would all be at the bottom of the same axis.
func usageByArm(run *v1alpha1.PerfRun) (all []drawing) {
	const over = " over exactly the blocks of each arm. During the baseline's blocks "
	for _, of := range []struct {
		name, idle   string
		controlPlane bool
	}{{"the run's pods", "the sidecars idle.", false}, {"the control plane", "no request goes through Dapr.", true}} {
		cpu := chart.Rows{Title: "CPU of " + of.name, Description: "Mean vCPU" + over + of.idle, X: chart.Axis{Label: "vCPU"}}
		memory := chart.Rows{Title: "Memory of " + of.name, Description: "Mean resident memory" + over + of.idle + " The lines reach to the largest reading.",
			X: chart.Axis{Label: "MiB"}}
		for _, c := range []*chart.Rows{&cpu, &memory} {
			c.Series = []chart.RowSeries{{Name: "Baseline arm"}, {Name: "Dapr arm"}}
		}
		for _, u := range run.Status.Usage {
			if isControlPlane(u.Component) != of.controlPlane {
				continue
			}
			arm := 0
			if u.Arm == v1alpha1.ArmDapr {
				arm = 1
			}
			row := name(run, u.Component, u.Pod)
			if u.CPU != nil {
				put(&cpu, row, arm, chart.Value{At: u.CPU.AsApproximateFloat64()})
			}
			if u.Memory != nil && u.Memory.Kind == v1alpha1.MemoryResident {
				mean := mebibytes(&u.Memory.Mean)
				put(&memory, row, arm, chart.Value{At: mean, Low: new(mean), High: new(mebibytes(&u.Memory.Max))})
			}
		}
		for _, c := range []chart.Rows{cpu, memory} {
			if len(c.Names) > 0 {
				all = append(all, c)
			}
		}
	}
	return all
}

// put a value into its row, which is added if it is new.
func put(c *chart.Rows, row string, series int, v chart.Value) {
	at := slices.Index(c.Names, row)
	if at < 0 {
		at = len(c.Names)
		c.Names = append(c.Names, row)
		for i := range c.Series {
			c.Series[i].Values = append(c.Series[i].Values, nil)
		}
	}
	c.Series[series].Values[at] = &v
}

func isControlPlane(c v1alpha1.Component) bool {
	switch c {
	case v1alpha1.ComponentApp, v1alpha1.ComponentLoadTester, v1alpha1.ComponentCallerSidecar, v1alpha1.ComponentTargetSidecar:
		return false
	default:
		return true
	}
}

// steps of scenario ControlPlane: CPU time and memory of each part in each.
func steps(results []v1alpha1.ControlPlaneResult) []drawing {
	if len(results) == 0 {
		return nil
	}
	cpu := chart.Rows{
		Title: "CPU of the control plane in each step", X: chart.Axis{Label: "vCPU"},
		Description: "Mean vCPU over each step, of each of Dapr's control-plane pods.",
	}
	memory := chart.Rows{
		Title: "Memory of the control plane in each step", X: chart.Axis{Label: "MiB"},
		Description: "Resident memory at the end of each step, of each of Dapr's control-plane pods.",
	}
	rows := map[string]int{}
	for _, part := range results[0].Parts {
		rows[part.Pod] = len(cpu.Names)
		cpu.Names, memory.Names = append(cpu.Names, string(part.Component)), append(memory.Names, string(part.Component))
	}
	for _, step := range results {
		used := chart.RowSeries{Name: string(step.Step), Values: make([]*chart.Value, len(rows))}
		held := chart.RowSeries{Name: string(step.Step), Values: make([]*chart.Value, len(rows))}
		for _, part := range step.Parts {
			if at, ok := rows[part.Pod]; ok && part.CPU != nil && part.Memory != nil {
				used.Values[at] = &chart.Value{At: part.CPU.AsApproximateFloat64()}
				held.Values[at] = &chart.Value{At: mebibytes(part.Memory)}
			}
		}
		cpu.Series, memory.Series = append(cpu.Series, used), append(memory.Series, held)
	}
	return []drawing{cpu, memory}
}

// name of a component; where it has several pods, with the end of the pod's name, which tells them apart.
func name(run *v1alpha1.PerfRun, component v1alpha1.Component, pod string) string {
	end := pod[strings.LastIndex(pod, "-")+1:]
	several := false
	for _, u := range run.Status.Usage {
		if u.Component != component || u.Pod == pod {
			continue
		}
		if strings.HasSuffix(u.Pod, "-"+end) {
			return pod
		}
		several = true
	}
	if several {
		return string(component) + " " + end
	}
	return string(component)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func mebibytes(q *resource.Quantity) float64 { return q.AsApproximateFloat64() / (1 << 20) }
