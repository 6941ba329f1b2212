// Package compare tells what is different between two runs, and what is noise. No client, no clock.
package compare

import (
	"fmt"
	"slices"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/results"
	"perfrun.dev/perfrun/internal/stats"
	"perfrun.dev/perfrun/internal/trend"
)

// Outcome of a comparison.
type Outcome string

// The outcomes. All figures are costs: higher is worse.
const (
	// Higher: the whole interval of the difference is above 0.
	Higher Outcome = "Higher"
	// Lower: it is below 0.
	Lower Outcome = "Lower"
	// WithinNoise: it holds 0.
	WithinNoise Outcome = "WithinNoise"
	// Undecided: one side has too few pairs for an interval.
	Undecided Outcome = "Undecided"
)

// Difference of one figure between two runs, written as a PerfRun's status writes it.
type Difference struct {
	// Metric in the words of a PerfSeries, and the point that it holds for.
	Metric      string `json:"metric"`
	Connections int32  `json:"connections"`
	// A and B are the medians over each run's pairs, or blocks.
	A string `json:"a"`
	B string `json:"b"`
	// Change is B minus A, Low and High its 95% interval; those are empty where it is Undecided.
	Change string `json:"change"`
	Low    string `json:"low,omitempty"`
	High   string `json:"high,omitempty"`
	// Detectable is the smallest true change that two such runs show in 4 of 5 cases.
	Detectable string  `json:"detectable,omitempty"`
	Outcome    Outcome `json:"outcome"`
}

// metrics in the order in which they are shown.
var metrics = []string{"added.p50", "added.p90", "added.p99", "added.cpuPer1000RPS", "dapr.p50", "dapr.p90", "dapr.p99", "baseline.p50", "baseline.p90", "baseline.p99"}

// Differences between the runs, of all figures that both have.
func Differences(a, b []results.Samples) []Difference {
	var out []Difference
	for _, before := range a {
		at := slices.IndexFunc(b, func(s results.Samples) bool { return s.Connections == before.Connections })
		if at < 0 {
			continue
		}
		for _, metric := range metrics {
			if was, is := before.Values[metric], b[at].Values[metric]; len(was) > 0 && len(is) > 0 {
				out = append(out, difference(metric, before.Connections, was, is))
			}
		}
	}
	return out
}

func difference(metric string, connections int32, a, b []float64) Difference {
	format := func(v float64) string { return trend.Format(metric, v) }
	was, is := stats.Median(a), stats.Median(b)
	out := Difference{Metric: metric, Connections: connections, A: format(was), B: format(is), Change: format(is - was), Outcome: Undecided}
	interval, ok := stats.MedianDifferenceInterval(a, b)
	if !ok {
		return out
	}
	out.Low, out.High, out.Detectable = format(interval.Low), format(interval.High), format(interval.Detectable())
	switch {
	case interval.Low > 0:
		out.Outcome = Higher
	case interval.High < 0:
		out.Outcome = Lower
	default:
		out.Outcome = WithinNoise
	}
	return out
}

// Obstacles are why the figures of two runs are not to be compared as they are: other settings, another environment, a verdict that says that
// figures do not hold under the declared conditions.
func Obstacles(a, b *v1alpha1.PerfRun) ([]string, error) {
	var out []string
	for _, run := range []*v1alpha1.PerfRun{a, b} {
		if run.Status.Phase == v1alpha1.PhaseInconclusive {
			out = append(out, fmt.Sprintf("%s was Inconclusive: its figures do not hold under the declared conditions", run.Name))
		}
	}
	environmentA, settingsA, err := trend.Contexts(a)
	if err != nil {
		return nil, err
	}
	environmentB, settingsB, err := trend.Contexts(b)
	if err != nil {
		return nil, err
	}
	out = append(out, trend.Differences("settings.", settingsA.Values, settingsB.Values)...)
	return append(out, trend.Differences("environment.", environmentA.Values, environmentB.Values)...), nil
}
