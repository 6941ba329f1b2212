package results

import (
	"strings"
	"testing"

	"perfrun.dev/perfrun/api/v1alpha1"
)

func TestCompanyIsAFaultOnlyWhereARunWasToBeAlone(t *testing.T) {
	for name, c := range map[string]struct {
		exclusive         bool
		with              []string
		reasons, warnings int
	}{
		"alone":                      {true, nil, 0, 0},
		"alone, though not asked to": {false, nil, 0, 0},
		"disturbed":                  {true, []string{"a/b", "c/d"}, 1, 0},
		"shared as was asked":        {false, []string{"a/b", "c/d"}, 0, 1},
	} {
		reasons, warnings := shared(v1alpha1.Settings{Exclusive: c.exclusive}, c.with)
		if len(reasons) != c.reasons || len(warnings) != c.warnings {
			t.Errorf("%s: reasons %v, warnings %v", name, reasons, warnings)
		}
		for _, r := range append(reasons, warnings...) {
			if r.Reason != v1alpha1.ReasonClusterShared || !strings.Contains(r.Message, "2 PerfRun(s)") || !strings.Contains(r.Message, "a/b, c/d") {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
	in := ControlPlaneVerdict(v1alpha1.Settings{Exclusive: true, ControlPlane: &v1alpha1.ControlPlaneInForce{}}, nil, []string{"a/b"})
	if in.Verdict != v1alpha1.PhaseInconclusive || in.Reason != v1alpha1.ReasonClusterShared {
		t.Errorf("the control plane's: %s %s", in.Verdict, in.Reason)
	}
}
