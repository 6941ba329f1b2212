package report

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// usage shows each component's CPU under Dapr's load beside its CPU during the baseline's blocks, when the sidecars idle, and what metrics-server says.
func usage(run *v1alpha1.PerfRun) []Section {
	if len(run.Status.Usage) == 0 {
		return nil
	}
	s := Section{
		Title: "CPU and memory (CPU in vCPU, mean over exactly the blocks of each arm)",
		Head:  row("COMPONENT", "POD", "DAPR ARM", "PER 1000 RPS", "BASELINE ARM", "MEMORY", "MAX", "LIMIT", "THROTTLED", "RESTARTS", "SOURCE", "METRICS-SERVER"),
	}
	for _, u := range run.Status.Usage {
		if u.Arm == v1alpha1.ArmDapr {
			s.Rows = append(s.Rows, usageRow(u, baselineOf(run, u)))
		}
	}
	if t := run.Status.ControlPlane; t != nil {
		s.row("control plane", fmt.Sprintf("%d pods", t.Pods), cpu(&t.CPU), "", "", quantity(&t.Memory), "", "", "", "", "", "")
	}
	s.note("Source proc: /proc in the run's pods, memory Resident. daprMetrics: the process's own counters, memory Resident.")
	s.note("THROTTLED: of the kernel's periods in which the container ran, those in which its CPU limit held it back.")
	s.note("METRICS-SERVER: its mean CPU over its own windows / ours over the same windows, and its working set.")
	return []Section{s}
}

func usageRow(u v1alpha1.Usage, baseline *v1alpha1.Usage) []string {
	idle, mem, most, limit := "-", "-", "-", "none"
	if baseline != nil {
		idle = cpu(baseline.CPU)
	}
	if u.Memory != nil {
		mem, most = quantity(&u.Memory.Mean), quantity(&u.Memory.Max)
	}
	if u.Limits != nil && u.Limits.CPU != nil {
		limit = u.Limits.CPU.String()
	}
	return row(string(u.Component), u.Pod, cpu(u.CPU), cpu(u.CPUPer1000RPS), idle, mem, most, limit,
		throttled(u.Throttling), restarts(u), known(string(u.Source)), metricsServer(u))
}

// throttled is the part of the periods in which a container was held back.
func throttled(t *v1alpha1.Throttling) string {
	if t == nil || t.Periods == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(t.ThrottledPeriods)/float64(t.Periods))
}

func restarts(u v1alpha1.Usage) string {
	if u.RestartReason == "" {
		return fmt.Sprint(u.Restarts)
	}
	return fmt.Sprintf("%d, last after %s", u.Restarts, u.RestartReason)
}

func baselineOf(run *v1alpha1.PerfRun, u v1alpha1.Usage) *v1alpha1.Usage {
	i := slices.IndexFunc(run.Status.Usage, func(x v1alpha1.Usage) bool {
		return x.Arm == v1alpha1.ArmBaseline && x.Component == u.Component && x.Pod == u.Pod
	})
	if i < 0 {
		return nil
	}
	return &run.Status.Usage[i]
}

func metricsServer(u v1alpha1.Usage) string {
	for _, c := range u.CrossChecks {
		if c.Source != v1alpha1.SourceMetricsServer || c.CPU == nil {
			continue
		}
		out := cpu(c.CPU) + " / " + cpu(c.ComparedCPU)
		if c.Memory != nil {
			out += ", " + quantity(&c.Memory.Mean)
		}
		return out
	}
	return "-"
}

// notes tell what is missing from the tables, and why.
func notes(run *v1alpha1.PerfRun) []Section {
	s := Section{Title: "Notes"}
	for _, u := range run.Status.Usage {
		if u.Note != "" {
			s.note("%s in %s (%s arm): %s", u.Component, u.Pod, u.Arm, u.Note)
		}
	}
	for _, w := range run.Status.Warnings {
		s.Notes = append(s.Notes, w.Message)
	}
	for _, kind := range []string{v1alpha1.ConditionMetricsServer, v1alpha1.ConditionRawData} {
		if c := meta.FindStatusCondition(run.Status.Conditions, kind); c != nil && c.Status != metav1.ConditionTrue {
			s.Notes = append(s.Notes, c.Message)
		}
	}
	for i := range run.Status.Results {
		s.Notes = append(s.Notes, withoutInterval(&run.Status.Results[i])...)
	}
	if len(s.Notes) == 0 {
		return nil
	}
	return []Section{s}
}

// withoutInterval says once what holds for several figures of a point.
func withoutInterval(r *v1alpha1.PointResult) []string {
	var notes []string
	if r.Added == nil {
		return nil
	}
	for _, a := range []*v1alpha1.AddedLatency{r.Added.P50, r.Added.P90, r.Added.P99} {
		if a == nil || a.Note == "" {
			continue
		}
		if note := fmt.Sprintf("at %d connections: %s", r.Connections, a.Note); !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}

// cpu writes vCPU in thousandths, as kubectl top does, with a digit more below 10m.
func cpu(q *resource.Quantity) string {
	if q == nil {
		return "-"
	}
	if milli := q.AsApproximateFloat64() * 1000; milli < 10 {
		return fmt.Sprintf("%.2fm", milli)
	}
	return fmt.Sprintf("%dm", q.MilliValue())
}

func quantity(q *resource.Quantity) string {
	if q == nil {
		return "-"
	}
	return q.String()
}
