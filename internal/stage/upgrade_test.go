package stage

import (
	"strings"
	"testing"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

func TestALoadTesterOfAnotherContractEndsTheRun(t *testing.T) {
	for phase, action := range map[v1alpha1.Phase]Action{
		// No load has been asked for yet.
		v1alpha1.PhasePreparing:  None,
		v1alpha1.PhaseMeasuring:  Stop,
		v1alpha1.PhaseCollecting: Stop,
	} {
		for _, version := range []int{measure.Version - 1, measure.Version + 1} {
			d := Decide(ready(phase, func(o *Observation) {
				o.Testers[0].Info.Version = version
				o.Testers[0].Progress = &measure.Progress{State: measure.Done}
			}))
			if d.Phase != v1alpha1.PhaseError || d.Reason != v1alpha1.ReasonOperatorUpgraded || d.Action != action ||
				!strings.Contains(d.Message, "pod lt") || !strings.Contains(d.Message, "create the run again") {
				t.Errorf("%s, version %d: %+v", phase, version, d)
			}
		}
	}
}
