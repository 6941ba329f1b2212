// Package results turns a load tester's report into the figures of a PerfRun's status and its verdict. It calls nothing and has no clock.
package results

import (
	"fmt"
	"strings"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// Input is what a run's results are made from.
type Input struct {
	Settings v1alpha1.Settings
	Report   *measure.Report
	// Components lists every pod that was measured, in the order in which usage is to be shown.
	Components []Component
	// Nodes that the two pods ran on.
	Nodes v1alpha1.Nodes
	// TargetReplaced: another pod than the one that the measurement began with is the target now.
	TargetReplaced bool
	// MetricsServer is why metrics-server's figures are missing; empty if they should be there.
	MetricsServer string
}

// Component is one component's pod, as the API server describes it.
type Component struct {
	Component v1alpha1.Component
	Pod, Node string
	// Restarts of its container since the measurement began.
	Restarts int32
	// Limits of its container; nil: none.
	Limits *v1alpha1.Limits
	// ControlPlane tells Dapr's control plane from the run's own pods.
	ControlPlane bool
}

// Outcome is what goes into the status.
type Outcome struct {
	Results      []v1alpha1.PointResult
	Usage        []v1alpha1.Usage
	ControlPlane *v1alpha1.Total
	Summary      *v1alpha1.Summary
	// DaprVersion, MTLS and Sampling as observed.
	DaprVersion string
	MTLS        bool
	Sampling    string
	// Verdict is Succeeded or Inconclusive; Reason and Message are those of the condition Succeeded.
	Verdict         v1alpha1.Phase
	Reason, Message string
	Reasons         []v1alpha1.Reason
}

// Build makes the outcome of a report. An error means that the report cannot be read.
func Build(in Input) (*Outcome, error) {
	points, err := points(in)
	if err != nil {
		return nil, err
	}
	out := &Outcome{
		Results:     points,
		DaprVersion: in.Report.Observed.DaprVersion,
		MTLS:        in.Report.Observed.MTLS,
		Sampling:    observedSampling(in.Report.Observed),
	}
	out.Usage = usage(in)
	out.ControlPlane = controlPlane(in.Components, out.Usage)
	out.Summary = summary(out.Usage)
	out.Reasons = invalid(in, points)
	out.Verdict, out.Reason, out.Message = verdict(points, out.Reasons)
	return out, nil
}

func observedSampling(o measure.Observed) string {
	if o.Traced == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", float64(o.Sampled)/float64(o.Traced))
}

func verdict(points []v1alpha1.PointResult, reasons []v1alpha1.Reason) (phase v1alpha1.Phase, reason, message string) {
	if len(reasons) > 0 {
		messages := make([]string, len(reasons))
		for i, r := range reasons {
			messages[i] = r.Message
		}
		return v1alpha1.PhaseInconclusive, reasons[0].Reason, "measured, but not under the declared conditions: " + strings.Join(messages, "; ")
	}
	return v1alpha1.PhaseSucceeded, v1alpha1.ReasonMeasured, headline(points)
}

// headline is the answer in one sentence.
func headline(points []v1alpha1.PointResult) string {
	parts := make([]string, 0, len(points))
	for _, p := range points {
		if p.Added == nil {
			continue
		}
		var figures []string
		for _, f := range []struct {
			name  string
			added *v1alpha1.AddedLatency
		}{{"p50", p.Added.P50}, {"p90", p.Added.P90}, {"p99", p.Added.P99}} {
			if f.added != nil {
				figures = append(figures, f.name+" "+f.added.Value.String())
			}
		}
		parts = append(parts, fmt.Sprintf("at %d connections Dapr adds %s", p.Connections, strings.Join(figures, ", ")))
	}
	return strings.Join(parts, "; ")
}
