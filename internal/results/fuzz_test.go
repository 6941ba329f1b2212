package results

import (
	"encoding/json"
	"testing"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/merge"
)

// FuzzReport: whatever a load tester answers as its report, alone or as one of two, becomes a verdict or an error, and never a crash that
// would come again with every restart of the operator.
func FuzzReport(f *testing.F) {
	in := pairs(f, 1)
	good, err := json.Marshal(in.Report)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"rps":-1,"blocks":[{"arm":"Dapr","connections":-1,"duration":-1,"planned":-5,"succeeded":9223372036854775807,"errors":{"-1":-7}}]}`))
	f.Add([]byte(`{"blocks":[{"arm":"Baseline","timelines":[{"step":0}],"replicas":[{}]},{"arm":"Dapr","point":9}],"replicas":[{}],
		"usage":[{"component":"targetSidecar","pod":"tg","readings":[{"block":-1},{"block":99,"cpuSeconds":1e308}]}],"windows":[{"length":-1},{"length":1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		report := &measure.Report{}
		if json.Unmarshal(text, report) != nil {
			return
		}
		for _, shares := range [][]merge.Share{{{Pod: "a", Report: report}}, {{Pod: "a", Report: report}, {Pod: "b", Report: report}}} {
			merged, err := merge.Reports(shares)
			if err != nil {
				continue
			}
			in.Report = merged
			outcome, err := Build(in)
			if err != nil {
				continue
			}
			if !outcome.Verdict.Finished() || outcome.Verdict == v1alpha1.PhaseError || outcome.Reason == "" {
				t.Errorf("verdict %q because of %q", outcome.Verdict, outcome.Reason)
			}
			if _, err := json.Marshal(outcome); err != nil {
				t.Errorf("the status cannot be written: %v", err)
			}
		}
	})
}
