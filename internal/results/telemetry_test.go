package results

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

func exporting(sampling string, exported *measure.Exported, problem string) func(*Input) {
	return func(in *Input) {
		in.Settings.Export, in.Settings.Sampling = true, sampling
		in.Report.Observed.Sent, in.Report.Observed.Exported, in.Report.Observed.ExportError = 7000, exported, problem
		in.Report.Observed.Traced = 0
	}
}

func TestTelemetry(t *testing.T) {
	arrived := func(traces int64) *measure.Exported {
		return &measure.Exported{Instance: "i", Spans: 2 * traces, Traces: traces, Bytes: 400 * traces}
	}
	figures := func(traces int64, sampling string) *v1alpha1.Telemetry {
		return &v1alpha1.Telemetry{Requests: 7000, Spans: ptr.To(2 * traces), Traces: ptr.To(traces),
			Bytes: resource.NewQuantity(400*traces, resource.BinarySI), Sampling: sampling}
	}
	cases := map[string]struct {
		in     func(*Input)
		want   *v1alpha1.Telemetry
		warned bool
	}{
		"nothing is exported":        {func(*Input) {}, nil, false},
		"none sampled, none arrived": {exporting("0", arrived(0), ""), figures(0, "0.000"), false},
		"some arrived nevertheless":  {exporting("0", arrived(70), ""), figures(70, "0.010"), true},
		// 6 standard deviations of a binomial count: 700 +- 151.
		"a tenth":                   {exporting("0.1", arrived(840), ""), figures(840, "0.120"), false},
		"not a tenth":               {exporting("0.1", arrived(1000), ""), figures(1000, "0.143"), true},
		"all, and a look besides":   {exporting("1", arrived(7001), ""), figures(7001, "1.000"), false},
		"some were dropped":         {exporting("1", arrived(6900), ""), figures(6900, "0.986"), true},
		"nobody knows what arrived": {exporting("1", nil, "it restarted"), &v1alpha1.Telemetry{Requests: 7000, Note: "it restarted"}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := Build(synthetic(t, c.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, out.Telemetry); diff != "" {
				t.Error(diff)
			}
			if out.Verdict != v1alpha1.PhaseSucceeded {
				t.Errorf("what happens to traces changed the verdict: %s, %s", out.Verdict, out.Message)
			}
			warned := false
			for _, w := range out.Warnings {
				warned = warned || w.Reason == v1alpha1.ReasonTracesLost
			}
			if warned != c.warned {
				t.Errorf("warnings: %v", out.Warnings)
			}
		})
	}
}

func TestSidecarsWithoutMetricsSayWhyThereIsNoCrossCheck(t *testing.T) {
	for on, want := range map[bool]int{true: 0, false: 2} {
		out, err := Build(synthetic(t, func(in *Input) { in.Settings.Metrics = on }))
		if err != nil {
			t.Fatal(err)
		}
		noted := 0
		for _, u := range out.Usage {
			for _, c := range u.CrossChecks {
				if c.Source == v1alpha1.SourceDaprMetrics && c.Note != "" {
					noted++
				}
			}
		}
		if noted != want {
			t.Errorf("metrics %v: %d notes, want %d (the sidecar's two arms)", on, noted, want)
		}
	}
}
