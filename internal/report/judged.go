package report

import (
	"fmt"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// thresholds shows each limit beside its figure and what came of it.
func (p *printer) thresholds(run *v1alpha1.PerfRun) {
	if len(run.Status.Thresholds) == 0 {
		return
	}
	p.line("")
	p.line("Thresholds")
	rows := []string{row("OUTCOME", "THRESHOLD", "CONNECTIONS", "LIMIT", "FIGURE", "95% FROM", "95% TO", "")}
	for _, t := range run.Status.Thresholds {
		rows = append(rows, row(string(t.Outcome), t.Threshold, fmt.Sprint(t.Connections), t.Limit, orDash(t.Figure), orDash(t.Low), orDash(t.High), t.Message))
	}
	p.table(rows)
}

// invalidBlocks shows what was left out, and why.
func (p *printer) invalidBlocks(run *v1alpha1.PerfRun) {
	if len(run.Status.InvalidBlocks) == 0 {
		return
	}
	p.line("")
	p.line("Invalid blocks (in no figure above, unless too few pairs were left at their point)")
	rows := []string{row("CONNECTIONS", "PAIR", "ARM", "REASON", "")}
	for _, b := range run.Status.InvalidBlocks {
		rows = append(rows, row(fmt.Sprint(b.Connections), fmt.Sprint(b.Pair), string(b.Arm), b.Reason, b.Message))
	}
	p.table(rows)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
