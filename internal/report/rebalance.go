package report

import (
	"fmt"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// rebalances shows what each change of the actor hosts did to the calls.
func rebalances(run *v1alpha1.PerfRun) []Section {
	if len(run.Status.Rebalances) == 0 {
		return nil
	}
	s := Section{Title: "Rebalancing", Head: row("CHANGE", "PAIR", "HOST", "DONE AFTER", "CALLS", "FAILED", "LONGEST STALL", "SLOWEST CALL", "DISTURBED", "NORMAL AFTER", "P99 BEFORE", "")}
	for _, r := range run.Status.Rebalances {
		done := "-"
		if r.DoneTime != nil {
			done = r.DoneTime.Sub(r.Time.Time).Round(10 * time.Millisecond).String()
		}
		s.row(string(r.Change), fmt.Sprint(r.Pair), orDash(r.Host), done, fmt.Sprint(r.Calls), fmt.Sprint(r.Failed),
			quantile(r.LongestStall), quantile(r.SlowestCall), quantile(r.Disturbed), quantile(r.Recovery), quantile(r.Normal), r.Note)
	}
	s.note("LONGEST STALL: the longest time without a good answer. DISTURBED: quarters of a second with a failed call, or with more than 10%% of calls above twice P99 BEFORE.")
	s.note("NORMAL AFTER: from the change to the end of the last of those.")
	return []Section{s}
}
