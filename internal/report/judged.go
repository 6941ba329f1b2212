package report

import (
	"fmt"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// thresholds shows each limit beside its figure and what came of it.
func thresholds(run *v1alpha1.PerfRun) []Section {
	if len(run.Status.Thresholds) == 0 {
		return nil
	}
	s := Section{Title: "Thresholds", Head: row("OUTCOME", "THRESHOLD", "CONNECTIONS", "LIMIT", "FIGURE", "95% FROM", "95% TO", "")}
	for _, t := range run.Status.Thresholds {
		s.row(string(t.Outcome), t.Threshold, fmt.Sprint(t.Connections), t.Limit, orDash(t.Figure), orDash(t.Low), orDash(t.High), t.Message)
	}
	return []Section{s}
}

// invalidBlocks shows what was left out, and why.
func invalidBlocks(run *v1alpha1.PerfRun) []Section {
	if len(run.Status.InvalidBlocks) == 0 {
		return nil
	}
	s := Section{
		Title: "Invalid blocks (in no figure above, unless too few pairs were left at their point)",
		Head:  row("CONNECTIONS", "PAIR", "ARM", "REASON", ""),
	}
	for _, b := range run.Status.InvalidBlocks {
		s.row(fmt.Sprint(b.Connections), fmt.Sprint(b.Pair), string(b.Arm), b.Reason, b.Message)
	}
	return []Section{s}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
