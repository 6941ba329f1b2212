package schedule

import (
	"cmp"
	"slices"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// Active are the names of the runs that are not finished, oldest first.
func Active(runs []v1alpha1.PerfRun) []string {
	var out []string
	for _, run := range oldestFirst(runs) {
		if !run.Status.Phase.Finished() {
			out = append(out, run.Name)
		}
	}
	return out
}

// Finished are the runs that have a verdict, oldest first.
func Finished(runs []v1alpha1.PerfRun) []*v1alpha1.PerfRun {
	return slices.DeleteFunc(oldestFirst(runs), func(run *v1alpha1.PerfRun) bool { return !run.Status.Phase.Finished() })
}

// Expired are the names of the finished runs beyond the history limits, oldest first.
func Expired(runs []v1alpha1.PerfRun, s v1alpha1.ScheduleSettings) []string {
	finished := Finished(runs)
	slices.Reverse(finished)
	var out []string
	successful, failed := s.SuccessfulRunsHistoryLimit, s.FailedRunsHistoryLimit
	for _, run := range finished {
		left := &failed
		if run.Status.Phase == v1alpha1.PhaseSucceeded {
			left = &successful
		}
		if *left--; *left < 0 {
			out = append(out, run.Name)
		}
	}
	slices.Reverse(out)
	return out
}

func oldestFirst(runs []v1alpha1.PerfRun) []*v1alpha1.PerfRun {
	out := make([]*v1alpha1.PerfRun, len(runs))
	for i := range runs {
		out[i] = &runs[i]
	}
	slices.SortFunc(out, func(a, b *v1alpha1.PerfRun) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return out
}
