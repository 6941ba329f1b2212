// Package export writes results as the files that other tools follow benchmarks by. No client, no clock.
package export

import (
	"fmt"
	"strings"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/trend"
)

// Measured is one run's figures.
type Measured struct {
	// Benchmark is a name that is the same from run to run.
	Benchmark string
	// Run by its own name, when it left the queue, and its verdict.
	Run     string
	Time    time.Time
	Verdict v1alpha1.Phase
	// Environment and Settings that the figures hold for, by path.
	Environment, Settings map[string]string
	Figures               []Figure

	context string
}

// Figure of a run, in seconds, vCPU or bytes; Low and High are its 95% interval, nil without one.
type Figure struct {
	// Metric in the words of a PerfSeries, and the point that it holds for; 0: all.
	Metric      string
	Connections int32
	Value       float64
	Low, High   *float64
}

// OfSeries are a schedule's results that have figures, oldest first.
func OfSeries(benchmark string, series *v1alpha1.PerfSeries) ([]Measured, error) {
	environments, settings := byDigest(series.Environments), byDigest(series.Settings)
	var out []Measured
	for _, r := range series.Results {
		if len(r.Figures) == 0 {
			continue
		}
		m := Measured{Benchmark: benchmark, Run: r.Run, Time: r.Time.UTC(), Verdict: r.Verdict,
			Environment: environments[r.Environment], Settings: settings[r.Settings], context: r.Environment + "/" + r.Settings}
		for _, f := range r.Figures {
			figure, err := figureOf(f)
			if err != nil {
				return nil, fmt.Errorf("reading the result of run %s: %w", r.Run, err)
			}
			m.Figures = append(m.Figures, figure)
		}
		out = append(out, m)
	}
	return out, nil
}

// OfRun is the result of a run; an error if it has none.
func OfRun(benchmark string, run *v1alpha1.PerfRun) (Measured, error) {
	var series v1alpha1.PerfSeries
	if _, err := trend.Add(&series, run); err != nil {
		return Measured{}, err
	}
	all, err := OfSeries(benchmark, &series)
	if err != nil {
		return Measured{}, err
	}
	if len(all) == 0 {
		return Measured{}, fmt.Errorf("PerfRun %s/%s has no figures to export; its phase is %s", run.Namespace, run.Name, run.Status.Phase)
	}
	return all[0], nil
}

func figureOf(f v1alpha1.Figure) (Figure, error) {
	out := Figure{Metric: f.Metric, Connections: f.Connections}
	var err error
	if out.Value, err = trend.Value(f.Metric, f.Value); err != nil {
		return out, err
	}
	if f.Low == "" || f.High == "" {
		return out, nil
	}
	low, err := trend.Value(f.Metric, f.Low)
	if err != nil {
		return out, err
	}
	high, err := trend.Value(f.Metric, f.High)
	if err != nil {
		return out, err
	}
	out.Low, out.High = &low, &high
	return out, nil
}

func byDigest(contexts []v1alpha1.SeriesContext) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, c := range contexts {
		out[c.Digest] = c.Values
	}
	return out
}

// unit that people read a metric in, and how many of it make one second, vCPU or byte.
func unit(metric string) (name string, per float64) {
	switch {
	case strings.HasSuffix(metric, ".memory"):
		return "MiB", 1.0 / (1 << 20)
	case strings.HasSuffix(metric, ".cpuPer1000RPS"):
		return "vCPU", 1
	default:
		return "ms", 1e3
	}
}
