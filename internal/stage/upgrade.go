package stage

import (
	"fmt"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// otherContract ends a run whose load tester is of another build of perfrun than this operator, where the two speak different versions of
// their contract: neither could be sure of what the other means. It happens to a run that was under way while the operator was upgraded.
// One whose load tester is older but speaks the same version is finished as any other. Nil where all speak ours, or do not answer.
func otherContract(o Observation) *Decision {
	for i, tester := range o.Testers {
		if tester.Info == nil || tester.Info.Version == measure.Version {
			continue
		}
		d := failed(v1alpha1.ReasonOperatorUpgraded, fmt.Sprintf(
			"the load tester in pod %s speaks version %d of the contract with the operator, and this operator version %d: perfrun was upgraded or rolled back while the run was under way; create the run again",
			o.LoadTester.Pods[i].Name, tester.Info.Version, measure.Version))
		return &d
	}
	return nil
}
