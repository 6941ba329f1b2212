package loadtester

import (
	"cmp"
	"slices"
	"time"

	"perfrun.dev/perfrun/internal/measure"
)

// calls are the samples of all connections one by one.
func calls(sched schedule, conns []*connection) *measure.Calls {
	type call struct{ due, response time.Duration }
	var all []call
	for thread, c := range conns {
		var q queue
		for i, s := range c.samples {
			due, took := sched.due(thread, int64(i)), time.Duration(s.took)
			one := call{due, q.response(due, max(took, -took))}
			if took < 0 {
				one.response = -one.response
			}
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b call) int { return cmp.Compare(a.due, b.due) })
	out := &measure.Calls{Due: make([]int64, len(all)), Response: make([]int64, len(all))}
	for i, one := range all {
		out.Due[i], out.Response[i] = one.due.Round(time.Microsecond).Microseconds(), one.response.Round(time.Microsecond).Microseconds()
	}
	return out
}
