package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// Section is a part of the report: a table, and sentences beneath it.
type Section struct {
	Title string
	// Head names the table's columns; nil where the first column says what the others are about.
	Head []string
	// Rows have as many cells as Head; without a Head, two.
	Rows [][]string
	// Notes are sentences beneath the table.
	Notes []string
}

// Sections of the report, in the order in which they are to be read. What a run does not have is left out.
func Sections(run *v1alpha1.PerfRun) []Section {
	var all []Section
	all = append(all, conditions(run)...)
	for i := range run.Status.Results {
		all = append(all, latency(&run.Status.Results[i]))
	}
	all = append(all, rebalances(run)...)
	all = append(all, controlPlane(run)...)
	all = append(all, thresholds(run)...)
	all = append(all, usage(run)...)
	all = append(all, invalidBlocks(run)...)
	return append(all, notes(run)...)
}

func row(cells ...string) []string { return cells }

func (s *Section) row(cells ...string) { s.Rows = append(s.Rows, cells) }

func (s *Section) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// Write prints the section as text, its table aligned.
func (s *Section) Write(w io.Writer) error {
	if _, err := fmt.Fprintln(w, "\n"+s.Title); err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if s.Head != nil {
		fmt.Fprintln(tw, "  "+strings.Join(s.Head, "\t"))
	}
	for _, r := range s.Rows {
		fmt.Fprintln(tw, "  "+strings.Join(r, "\t"))
	}
	// It keeps what was written until here, and returns the first error of all that.
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, n := range s.Notes {
		if _, err := fmt.Fprintln(w, "  "+n); err != nil {
			return err
		}
	}
	return nil
}
