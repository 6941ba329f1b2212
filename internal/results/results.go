// Package results turns a load tester's report into the figures of a PerfRun's status and its verdict. It calls nothing and has no clock.
package results

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// Input is what a run's results are made from.
type Input struct {
	Settings v1alpha1.Settings
	// Thresholds to judge; nil: none.
	Thresholds *v1alpha1.Thresholds
	Report     *measure.Report
	// Components lists every pod that was measured, in the order in which usage is to be shown.
	Components []Component
	// Nodes that the pods ran on.
	Nodes v1alpha1.Nodes
	// ForeignTarget: the application is not perfrun's own, and counts no traces.
	ForeignTarget bool
	// Replaced are the target's pods that the measurement began with and that are no longer there.
	Replaced []string
	// SharedWith names the other runs that prepared or measured during the measurement.
	SharedWith []string
	// Rebalances are the changes of the actor hosts, by the operator's clock, and ClockOffset by how much the load tester's is ahead of it.
	Rebalances  []v1alpha1.Rebalance
	ClockOffset time.Duration
	// MetricsServer is why metrics-server's figures are missing; empty if they should be there.
	MetricsServer string

	// excluded are the indices in the report of the blocks that do not count.
	excluded map[int]bool
}

// Component is one component's pod, as the API server describes it.
type Component struct {
	Component v1alpha1.Component
	Pod, Node string
	// Restarts of its container since the measurement began, and how it ended before the last of them; empty if that is not known.
	Restarts      int32
	RestartReason string
	// Limits of its container; nil: none.
	Limits *v1alpha1.Limits
	// ControlPlane tells Dapr's control plane from the run's own pods.
	ControlPlane bool
}

// Outcome is what goes into the status.
type Outcome struct {
	Results      []v1alpha1.PointResult
	Usage        []v1alpha1.Usage
	ActorHosts   []v1alpha1.HostCalls
	Rebalances   []v1alpha1.Rebalance
	ControlPlane *v1alpha1.Total
	Summary      *v1alpha1.Summary
	// DaprVersion, MTLS and Sampling as observed.
	DaprVersion string
	MTLS        bool
	Sampling    string
	// Verdict is Succeeded, Failed or Inconclusive; Reason and Message are those of the condition Succeeded.
	Verdict         v1alpha1.Phase
	Reason, Message string
	Thresholds      []v1alpha1.ThresholdResult
	Reasons         []v1alpha1.Reason
	InvalidBlocks   []v1alpha1.InvalidBlock
	Warnings        []v1alpha1.Reason
	Telemetry       *v1alpha1.Telemetry
}

// Build makes the outcome of a report. An error means that the report cannot be read.
func Build(in Input) (*Outcome, error) {
	points, err := pointsOf(in)
	if err != nil {
		return nil, err
	}
	blocks := sift(in, points)
	in.excluded = blocks.excluded
	both := bothSidecars(in)
	reasons, warnings := shared(in.Settings, in.SharedWith)
	out := &Outcome{
		DaprVersion: in.Report.Observed.DaprVersion,
		MTLS:        in.Report.Observed.MTLS,
		Sampling:    observedSampling(in.Report.Observed),
		Thresholds:  thresholds(in.Thresholds, points, both),
		Reasons:     slices.Concat(interrupted(in), reasons, blocks.reasons, invalid(in, points)),
	}
	for _, p := range points {
		out.Results = append(out.Results, p.result(in.Report, both))
	}
	out.Usage = usage(in)
	out.InvalidBlocks, out.Warnings = listed(blocks.invalid, slices.Concat(warnings, drift(points), disagreements(in.Report, points), uncounted(in), tracesLost(in), throttled(out.Usage), contradicted(out.Usage)))
	out.Telemetry = telemetry(in)
	out.ActorHosts = actorHosts(in)
	out.Rebalances = rebalances(in)
	out.Reasons = append(out.Reasons, unfinished(in, out.Rebalances)...)
	out.ControlPlane = controlPlane(in.Components, out.Usage)
	out.Summary = summary(out.Usage)
	out.decide()
	if in.Settings.Rebalances() && out.Verdict == v1alpha1.PhaseSucceeded {
		out.Message = rebalanceHeadline(out.Rebalances)
	}
	return out, nil
}

func observedSampling(o measure.Observed) string {
	if o.Traced == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", float64(o.Sampled)/float64(o.Traced))
}

// decide comes to the verdict. Conditions that did not hold come first: what was measured under others neither meets nor misses a
// threshold. A threshold that is missed for certain outweighs one that is undecided.
func (out *Outcome) decide() {
	missed, undecided := outcomes(out.Thresholds, v1alpha1.OutcomeMissed), outcomes(out.Thresholds, v1alpha1.OutcomeUndecided)
	switch {
	case len(out.Reasons) > 0:
		unjudged(out.Thresholds)
		messages := make([]string, len(out.Reasons))
		for i, r := range out.Reasons {
			messages[i] = r.Message
		}
		out.Verdict, out.Reason = v1alpha1.PhaseInconclusive, out.Reasons[0].Reason
		out.Message = "measured, but not under the declared conditions: " + strings.Join(messages, "; ")
		out.Reasons = bounded(out.Reasons)
	case len(missed) > 0:
		out.Verdict, out.Reason = v1alpha1.PhaseFailed, v1alpha1.ReasonThresholdMissed
		out.Message = fmt.Sprintf("%d of %d thresholds missed: %s", len(missed), len(out.Thresholds), strings.Join(missed, "; "))
	case len(undecided) > 0:
		out.Verdict, out.Reason = v1alpha1.PhaseInconclusive, v1alpha1.ReasonThresholdUndecided
		out.Message = fmt.Sprintf("%d of %d thresholds undecided: %s", len(undecided), len(out.Thresholds), strings.Join(undecided, "; "))
		for _, message := range undecided {
			out.Reasons = append(out.Reasons, v1alpha1.Reason{Reason: v1alpha1.ReasonThresholdUndecided, Message: message})
		}
		out.Reasons = bounded(out.Reasons)
	default:
		out.Verdict, out.Reason, out.Message = v1alpha1.PhaseSucceeded, v1alpha1.ReasonMeasured, headline(out.Results)
	}
}

// maxReasons is the most that the API server takes in status.reasons.
const maxReasons = 32

// bounded cuts a list short, and says so, before the API server refuses the whole status.
func bounded(reasons []v1alpha1.Reason) []v1alpha1.Reason {
	if len(reasons) <= maxReasons {
		return reasons
	}
	last := v1alpha1.Reason{Reason: reasons[maxReasons-1].Reason, Message: fmt.Sprintf("and %d more", len(reasons)-maxReasons+1)}
	return append(slices.Clone(reasons[:maxReasons-1]), last)
}

// headline is the answer in one sentence: what Dapr adds, or without a baseline what the path through it takes.
func headline(points []v1alpha1.PointResult) string {
	parts := make([]string, 0, len(points))
	for _, p := range points {
		if figures := addedFigures(p.Added); figures != "" {
			parts = append(parts, fmt.Sprintf("at %d connections Dapr adds %s", p.Connections, figures))
		} else if p.Baseline == nil && p.Dapr != nil {
			parts = append(parts, fmt.Sprintf("at %d connections requests through Dapr take %s", p.Connections, latencyFigures(p.Dapr.Latency)))
		}
	}
	return strings.Join(parts, "; ")
}

func addedFigures(added *v1alpha1.Added) string {
	if added == nil {
		return ""
	}
	var out []string
	for _, f := range []struct {
		name  string
		added *v1alpha1.AddedLatency
	}{{"p50", added.P50}, {"p90", added.P90}, {"p99", added.P99}} {
		if f.added != nil {
			out = append(out, f.name+" "+f.added.Value.String())
		}
	}
	return strings.Join(out, ", ")
}

func latencyFigures(l *v1alpha1.LatencySummary) string {
	if l == nil {
		return "an unknown time: none was answered"
	}
	out := []string{"mean " + l.Mean.String()}
	for _, f := range []struct {
		name  string
		value *v1alpha1.Latency
	}{{"p50", l.P50}, {"p90", l.P90}, {"p99", l.P99}} {
		if f.value != nil {
			out = append(out, f.name+" "+f.value.String())
		}
	}
	return strings.Join(out, ", ")
}
