package results

import (
	"slices"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// Samples are what the pairs and blocks of a point came to, one by one: the values whose medians a status has.
type Samples struct {
	// Connections of the point.
	Connections int32
	// Values by metric, in the words of a PerfSeries: added.p50 and its like of each pair, dapr.p50, baseline.p50 and added.cpuPer1000RPS of each
	// block. In seconds and vCPU.
	Values map[string][]float64
}

// Quantiles that are looked at, by their names.
var quantiles = []struct {
	name string
	q    float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}}

// SamplesOf are those of a finished run, by its raw data. Blocks that the status lists as invalid are in none. An error means that the
// report cannot be read.
func SamplesOf(status *v1alpha1.PerfRunStatus, r *measure.Report) ([]Samples, error) {
	if status.Settings == nil {
		return nil, nil
	}
	in := Input{Settings: *status.Settings, Report: r}
	for _, u := range status.Usage {
		if u.Arm == v1alpha1.ArmDapr && slices.Contains(sidecars, u.Component) {
			in.Components = append(in.Components, Component{Component: u.Component, Pod: u.Pod})
		}
	}
	points, err := pointsOf(in)
	if err != nil {
		return nil, err
	}
	both := bothSidecars(in)
	var out []Samples
	for _, p := range points {
		baseline, dapr := valid(p.allBaseline, status.InvalidBlocks), valid(p.allDapr, status.InvalidBlocks)
		s := Samples{Connections: p.connections, Values: map[string][]float64{"added.cpuPer1000RPS": cpuPerRequest(r, dapr, both)}}
		for _, of := range quantiles {
			s.Values["added."+of.name] = seconds(differences(of.q, baseline, dapr))
			s.Values["dapr."+of.name] = seconds(quantilesOf(of.q, dapr))
			s.Values["baseline."+of.name] = seconds(quantilesOf(of.q, baseline))
		}
		out = append(out, s)
	}
	return out, nil
}

func valid(blocks []block, invalid []v1alpha1.InvalidBlock) []block {
	var out []block
	for _, b := range blocks {
		if !slices.ContainsFunc(invalid, func(i v1alpha1.InvalidBlock) bool {
			return int(i.Connections) == b.Connections && int(i.Pair) == b.Pair+1 && string(i.Arm) == string(b.Arm)
		}) {
			out = append(out, b)
		}
	}
	return out
}

// quantilesOf are those of the blocks that have enough samples for it, in nanoseconds.
func quantilesOf(q float64, blocks []block) []float64 {
	var out []float64
	for _, b := range blocks {
		if d, ok := b.response.Quantile(q); ok {
			out = append(out, float64(d))
		}
	}
	return out
}

func seconds(nanoseconds []float64) []float64 {
	out := make([]float64, len(nanoseconds))
	for i, ns := range nanoseconds {
		out[i] = ns / 1e9
	}
	return out
}
