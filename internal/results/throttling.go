package results

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// maxThrottled is the part of its periods in which a sidecar may be held back before it is worth a warning. In such a period, of 100 ms, it
// stands still for some tens of ms: at a tenth of the periods a few in a hundred requests wait for that, and p99 is the limit's more than Dapr's.
const maxThrottled = 0.1

// throttlingOf adds up what a series tells of the blocks of one arm; nil if it tells nothing, or there is no limit to be held back by.
func throttlingOf(in Input, s *measure.Series, arm measure.Arm) *v1alpha1.Throttling {
	var out v1alpha1.Throttling
	readingsOf := byBlock(s)
	for i, b := range in.Report.Blocks {
		readings := readingsOf[i]
		if b.Arm != arm || in.excluded[i] || len(readings) == 0 {
			continue
		}
		before, after := readings[0].Throttling, readings[len(readings)-1].Throttling
		if before == nil || after == nil || after.Periods < before.Periods {
			continue
		}
		out.Periods += after.Periods - before.Periods
		out.ThrottledPeriods += after.Throttled - before.Throttled
		out.Time.Duration += after.Time - before.Time
	}
	if out.Periods == 0 {
		return nil
	}
	out.Time = metav1.Duration{Duration: out.Time.Round(time.Millisecond)}
	return &out
}

// throttled warns of sidecars that their limit has slowed down.
func throttled(usage []v1alpha1.Usage) []v1alpha1.Reason {
	var out []v1alpha1.Reason
	for _, u := range usage {
		t := u.Throttling
		if t == nil || u.Arm != v1alpha1.ArmDapr || !slices.Contains(sidecars, u.Component) {
			continue
		}
		if share := float64(t.ThrottledPeriods) / float64(t.Periods); share > maxThrottled {
			out = append(out, v1alpha1.Reason{Reason: v1alpha1.ReasonThrottled, Message: fmt.Sprintf(
				"%s in pod %s was held back by its CPU limit in %.0f%% of the periods in which it ran (told from %.0f%%), %s in all: the higher percentiles are the limit's (spec.sidecar.cpu)",
				u.Component, u.Pod, 100*share, 100*maxThrottled, t.Time.Duration)})
		}
	}
	return out
}
