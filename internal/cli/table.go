package cli

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// column of a table of PerfRuns: what it says of a run at a point. Runs without results have one row with a nil point.
type column struct {
	name string
	wide bool
	of   func(*v1alpha1.PerfRun, *v1alpha1.PointResult) string
}

// columns in their order; now is what ages count to.
func columns(namespaces bool, now time.Time) []column {
	var out []column
	if namespaces {
		out = append(out, column{name: "Namespace", of: func(r *v1alpha1.PerfRun, _ *v1alpha1.PointResult) string { return r.Namespace }})
	}
	return append(out,
		column{name: "Name", of: func(r *v1alpha1.PerfRun, _ *v1alpha1.PointResult) string { return r.Name }},
		column{name: "Scenario", of: func(r *v1alpha1.PerfRun, _ *v1alpha1.PointResult) string { return string(r.Spec.Scenario) }},
		column{name: "Phase", of: func(r *v1alpha1.PerfRun, _ *v1alpha1.PointResult) string { return string(phaseOf(r)) }},
		column{name: "Done", of: func(r *v1alpha1.PerfRun, _ *v1alpha1.PointResult) string { return done(r) }},
		column{name: "Connections", of: ofPoint(func(p *v1alpha1.PointResult) string { return fmt.Sprint(p.Connections) })},
		column{name: "RPS", of: ofDapr(func(a *v1alpha1.ArmResult) string { return a.AchievedRPS })},
		column{name: "P99", of: ofDapr(func(a *v1alpha1.ArmResult) string {
			if a.Latency == nil {
				return ""
			}
			return latency(a.Latency.P99)
		})},
		added("Added P50", func(a *v1alpha1.Added) *v1alpha1.AddedLatency { return a.P50 }),
		added("Added P90", func(a *v1alpha1.Added) *v1alpha1.AddedLatency { return a.P90 }),
		added("Added P99", func(a *v1alpha1.Added) *v1alpha1.AddedLatency { return a.P99 }),
		column{name: "CPU per 1000", of: ofPoint(func(p *v1alpha1.PointResult) string {
			if p.Added == nil || p.Added.CPUPer1000RPS == nil {
				return ""
			}
			return p.Added.CPUPer1000RPS.Value.String()
		})},
		column{name: "Age", of: func(r *v1alpha1.PerfRun, _ *v1alpha1.PointResult) string {
			return duration.HumanDuration(now.Sub(r.CreationTimestamp.Time))
		}},
		interval("95% of P50", func(a *v1alpha1.Added) *v1alpha1.AddedLatency { return a.P50 }),
		interval("95% of P90", func(a *v1alpha1.Added) *v1alpha1.AddedLatency { return a.P90 }),
		interval("95% of P99", func(a *v1alpha1.Added) *v1alpha1.AddedLatency { return a.P99 }),
		column{name: "Dapr", wide: true, of: ofEnvironment(func(e *v1alpha1.Environment) string { return e.Dapr })},
		column{name: "Kubernetes", wide: true, of: ofEnvironment(func(e *v1alpha1.Environment) string { return e.Kubernetes })},
		column{name: "Nodes", wide: true, of: ofEnvironment(func(e *v1alpha1.Environment) string {
			if e.Nodes == nil {
				return ""
			}
			return e.Nodes.LoadTester + " to " + e.Nodes.Target
		})},
		column{name: "Message", wide: true, of: func(r *v1alpha1.PerfRun, _ *v1alpha1.PointResult) string {
			if c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
				return c.Message
			}
			return ""
		}},
	)
}

func tableOf(runs []v1alpha1.PerfRun, namespaces bool, now time.Time) *metav1.Table {
	table := &metav1.Table{}
	all := columns(namespaces, now)
	for _, c := range all {
		definition := metav1.TableColumnDefinition{Name: c.name, Type: "string"}
		if c.wide {
			definition.Priority = 1
		}
		table.ColumnDefinitions = append(table.ColumnDefinitions, definition)
	}
	for i := range runs {
		run := &runs[i]
		points := []*v1alpha1.PointResult{nil}
		if n := len(run.Status.Results); n > 0 {
			points = make([]*v1alpha1.PointResult, n)
			for j := range run.Status.Results {
				points[j] = &run.Status.Results[j]
			}
		}
		for _, point := range points {
			row := metav1.TableRow{}
			for _, c := range all {
				row.Cells = append(row.Cells, c.of(run, point))
			}
			table.Rows = append(table.Rows, row)
		}
	}
	return table
}

func done(run *v1alpha1.PerfRun) string {
	switch {
	case run.Status.QueuePosition > 0:
		return fmt.Sprintf("queue %d", run.Status.QueuePosition)
	case run.Status.Progress != nil:
		return run.Status.Progress.Display
	default:
		return ""
	}
}

func ofPoint(of func(*v1alpha1.PointResult) string) func(*v1alpha1.PerfRun, *v1alpha1.PointResult) string {
	return func(_ *v1alpha1.PerfRun, p *v1alpha1.PointResult) string {
		if p == nil {
			return ""
		}
		return of(p)
	}
}

func ofDapr(of func(*v1alpha1.ArmResult) string) func(*v1alpha1.PerfRun, *v1alpha1.PointResult) string {
	return ofPoint(func(p *v1alpha1.PointResult) string {
		if p.Dapr == nil {
			return ""
		}
		return of(p.Dapr)
	})
}

func ofEnvironment(of func(*v1alpha1.Environment) string) func(*v1alpha1.PerfRun, *v1alpha1.PointResult) string {
	return func(r *v1alpha1.PerfRun, _ *v1alpha1.PointResult) string {
		if r.Status.Environment == nil {
			return ""
		}
		return of(r.Status.Environment)
	}
}

func ofAdded(which func(*v1alpha1.Added) *v1alpha1.AddedLatency, of func(*v1alpha1.AddedLatency) string) func(*v1alpha1.PerfRun, *v1alpha1.PointResult) string {
	return ofPoint(func(p *v1alpha1.PointResult) string {
		if p.Added == nil || which(p.Added) == nil {
			return ""
		}
		return of(which(p.Added))
	})
}

func added(name string, which func(*v1alpha1.Added) *v1alpha1.AddedLatency) column {
	return column{name: name, of: ofAdded(which, func(a *v1alpha1.AddedLatency) string { return a.Value.String() })}
}

func interval(name string, which func(*v1alpha1.Added) *v1alpha1.AddedLatency) column {
	return column{name: name, wide: true, of: ofAdded(which, func(a *v1alpha1.AddedLatency) string {
		if a.Low == nil || a.High == nil {
			return "none"
		}
		return a.Low.String() + " to " + a.High.String()
	})}
}

func latency(l *v1alpha1.Latency) string {
	if l == nil {
		return ""
	}
	return l.String()
}
