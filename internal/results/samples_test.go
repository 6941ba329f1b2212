package results

import (
	"math"
	"testing"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/stats"
)

// The medians of the samples are the figures of the status.
func TestSamplesAreThoseOfTheStatus(t *testing.T) {
	in := synthetic(t, func(in *Input) {
		// No pair is like another.
		for i := range in.Report.Blocks {
			b := &in.Report.Blocks[i]
			if b.Arm == measure.Dapr {
				b.Response = histogram(t, 3*time.Millisecond+time.Duration(b.Pair)*100*time.Microsecond, 1000)
			}
		}
		caller := in.Report.Usage[0]
		caller.Component, caller.Pod = "callerSidecar", "lt"
		in.Report.Usage = append(in.Report.Usage, caller)
		in.Components = append(in.Components, Component{Component: v1alpha1.ComponentCallerSidecar, Pod: "lt"})
	})
	built := build(t, in)
	status := &v1alpha1.PerfRunStatus{Settings: &in.Settings, Usage: built.Usage}
	samples, err := SamplesOf(status, in.Report)
	if err != nil || len(samples) != 1 {
		t.Fatalf("%d points, %v", len(samples), err)
	}
	added := built.Results[0].Added
	for metric, want := range map[string]float64{
		"added.p50": added.P50.Value.Seconds(), "added.p90": added.P90.Value.Seconds(), "added.p99": added.P99.Value.Seconds(),
		"added.cpuPer1000RPS": added.CPUPer1000RPS.Value.AsApproximateFloat64(),
	} {
		values := samples[0].Values[metric]
		if got := stats.Median(values); len(values) != 6 || math.Abs(got-want) > 0.002*want {
			t.Errorf("%s: the median of %v is %g, the status says %g", metric, values, got, want)
		}
	}

	status.InvalidBlocks = []v1alpha1.InvalidBlock{{Connections: 4, Pair: 3, Arm: v1alpha1.ArmDapr}, {Connections: 8, Pair: 1, Arm: v1alpha1.ArmDapr}}
	samples, err = SamplesOf(status, in.Report)
	if err != nil {
		t.Fatal(err)
	}
	for metric, want := range map[string]int{"added.p50": 5, "dapr.p50": 5, "baseline.p50": 6, "added.cpuPer1000RPS": 5} {
		if got := len(samples[0].Values[metric]); got != want {
			t.Errorf("%s has %d values with a block of the third pair invalid, want %d", metric, got, want)
		}
	}
	in.Report.Blocks[0].Response = []byte("no histogram")
	if _, err := SamplesOf(status, in.Report); err == nil {
		t.Error("no error for a report that cannot be read")
	}
}
