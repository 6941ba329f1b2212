package compare

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/results"
	"perfrun.dev/perfrun/test/fixture"
)

func samples(connections int32, metric string, values ...float64) results.Samples {
	return results.Samples{Connections: connections, Values: map[string][]float64{metric: values}}
}

func TestDifferences(t *testing.T) {
	six := []float64{0.0010, 0.0011, 0.0012, 0.0010, 0.0011, 0.0012}
	moved := func(by float64) []float64 {
		out := make([]float64, len(six))
		for i, v := range six {
			out[i] = v + by
		}
		return out
	}
	for name, tc := range map[string]struct {
		b    []float64
		want Outcome
	}{
		"the same":     {six, WithinNoise},
		"a little":     {moved(0.00005), WithinNoise},
		"higher":       {moved(0.001), Higher},
		"lower":        {moved(-0.0005), Lower},
		"five of them": {moved(0.001)[:5], Undecided},
	} {
		got := Differences([]results.Samples{samples(16, "added.p50", six...)}, []results.Samples{samples(16, "added.p50", tc.b...)})
		if len(got) != 1 || got[0].Outcome != tc.want || (got[0].Low == "") != (tc.want == Undecided) {
			t.Errorf("%s: got %+v, want %s", name, got, tc.want)
		}
	}
	got := Differences([]results.Samples{samples(16, "added.p50", six...)}, []results.Samples{samples(16, "added.p50", moved(0.001)...)})
	want := []Difference{{Metric: "added.p50", Connections: 16, A: "1.1ms", B: "2.1ms", Change: "1ms", Low: "850us", High: "1.15ms", Detectable: "214us", Outcome: Higher}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
}

func TestDifferencesOfWhatBothHave(t *testing.T) {
	a := []results.Samples{samples(8, "dapr.p50", 1, 2), samples(16, "added.cpuPer1000RPS", 0.5, 0.6)}
	b := []results.Samples{samples(16, "added.cpuPer1000RPS", 0.7, 0.8), samples(32, "dapr.p50", 1, 2)}
	b[0].Values["dapr.p50"] = []float64{1}
	want := []Difference{{Metric: "added.cpuPer1000RPS", Connections: 16, A: "550m", B: "750m", Change: "200m", Outcome: Undecided}}
	if diff := cmp.Diff(want, Differences(a, b)); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
}

func TestObstacles(t *testing.T) {
	run := fixture.Run(t, "succeeded.yaml")
	for name, tc := range map[string]struct {
		change func(*v1alpha1.PerfRun)
		want   string
	}{
		"nothing":            {func(*v1alpha1.PerfRun) {}, ""},
		"a default, written": {func(r *v1alpha1.PerfRun) { on := true; r.Spec.MTLS = &on }, ""},
		"sampling seen":      {func(r *v1alpha1.PerfRun) { r.Status.Environment.Sampling = "0.12" }, ""},
		"rate":               {func(r *v1alpha1.PerfRun) { rps := int32(7); r.Spec.RPS = &rps }, "settings.inForce.rps 100 -> 7"},
		"Dapr":               {func(r *v1alpha1.PerfRun) { r.Status.Environment.Dapr = "1.19.0" }, "environment.dapr 1.18.0 -> 1.19.0"},
		"nodes":              {func(r *v1alpha1.PerfRun) { r.Status.Environment.Nodes.Target = "n9" }, "environment.nodes.target n3 -> n9"},
		"inconclusive":       {func(r *v1alpha1.PerfRun) { r.Status.Phase = v1alpha1.PhaseInconclusive }, "was Inconclusive"},
	} {
		other := run.DeepCopy()
		tc.change(other)
		got, err := Obstacles(run, other)
		if err != nil || (tc.want == "") != (len(got) == 0) || !strings.Contains(strings.Join(got, "\n"), tc.want) {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, tc.want)
		}
	}
}
