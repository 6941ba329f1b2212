package results

import (
	"fmt"
	"strings"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// shared tells that other runs prepared or measured meanwhile: a condition that did not hold where the run was to measure alone, and else
// what a reader of its figures should know.
func shared(s v1alpha1.Settings, with []string) (reasons, warnings []v1alpha1.Reason) {
	if len(with) == 0 {
		return nil, nil
	}
	out := []v1alpha1.Reason{{Reason: v1alpha1.ReasonClusterShared, Message: fmt.Sprintf(
		"the cluster was shared with %d PerfRun(s) with exclusive: false: %s", len(with), strings.Join(with, ", "))}}
	if s.Exclusive {
		return out, nil
	}
	out[0].Message = fmt.Sprintf("the cluster was shared with %d PerfRun(s), as exclusive: false allows: %s", len(with), strings.Join(with, ", "))
	return nil, out
}
