package main

import (
	"fmt"
	"os"
	"strings"
)

// The marks between which the results stand in a document.
const (
	markBegin = "<!-- make bench-scale writes from here -->\n"
	markEnd   = "<!-- to here -->\n"
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

// replace puts the results into a document.
func replace(path, results string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the document: %w", err)
	}
	before, rest, begins := strings.Cut(string(text), markBegin)
	_, after, ends := strings.Cut(rest, markEnd)
	if !begins || !ends {
		return fmt.Errorf("%s does not hold the marks %q and %q", path, markBegin, markEnd)
	}
	if err := os.WriteFile(path, []byte(before+markBegin+results+markEnd+after), 0o644); err != nil { //nolint:gosec // a document for everyone
		return fmt.Errorf("writing the document: %w", err)
	}
	return nil
}
