package metrics

import (
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// ScheduleSamples of a schedule, but for its latest result, which is its last run's.
func ScheduleSamples(s *v1alpha1.PerfSchedule) []Sample {
	var out []Sample
	add := func(f *Family, value float64, labels ...string) {
		if !math.IsNaN(value) {
			out = append(out, Sample{Family: f, Value: value, Labels: append([]string{s.Namespace, s.Name}, labels...)})
		}
	}
	status := &s.Status
	add(accepted, condition(status.Conditions, v1alpha1.ConditionAccepted))
	add(suspended, flag(ptr.Deref(s.Spec.Suspend, false)))
	add(activeRuns, float64(len(status.Active)))
	add(lastTime, timestamp(status.LastScheduleTime))
	add(nextTime, timestamp(status.NextScheduleTime))
	add(lastGood, timestamp(status.LastSuccessfulTime))
	add(missed, float64(status.Missed))
	add(skipped, float64(status.Skipped))
	add(kept, float64(ptr.Deref(status.Series, v1alpha1.SeriesReference{}).Results))
	add(regressed, condition(status.Conditions, v1alpha1.ConditionRegressed))
	// Newest first.
	told := map[[2]string]bool{}
	for _, c := range status.Changes {
		figure := [2]string{c.Metric, ""}
		if c.Connections > 0 {
			figure[1] = strconv.Itoa(int(c.Connections))
		}
		if !told[figure] {
			told[figure] = true
			add(change, decimal(c.Size.Value), figure[0], figure[1])
		}
	}
	return out
}

// condition is 1 for True and 0 for False.
func condition(conditions []metav1.Condition, kind string) float64 {
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil || c.Status == metav1.ConditionUnknown {
		return absent
	}
	return flag(c.Status == metav1.ConditionTrue)
}

func flag(value bool) float64 {
	if value {
		return 1
	}
	return 0
}

func timestamp(t *metav1.Time) float64 {
	if t == nil {
		return absent
	}
	return float64(t.Unix())
}
