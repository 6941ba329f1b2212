package main

import (
	"fmt"
	"strings"
)

// table is Markdown.
func table(title string, rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n", title)
	fmt.Fprintln(&b, "| step | time | memory at its end | most | CPU | API calls |")
	fmt.Fprintln(&b, "|---|---|---|---|---|---|")
	for _, r := range rows {
		total := 0
		for _, n := range r.calls {
			total += n
		}
		fmt.Fprintf(&b, "| %s | %.1f s | %s | %s | %.1fm | %d: %s |\n", r.step, r.took.Seconds(), mebibytes(r.resident), mebibytes(r.most),
			1000*r.cpu.Seconds()/r.took.Seconds(), total, told(r.calls))
	}
	return b.String()
}

func mebibytes(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
