package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

func fixed(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }

// shortest is for what was given and not measured: 1000, 99.9.
func shortest(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func percent(ratio float64) string { return fmt.Sprintf("%+.1f%%", 100*ratio) }

func writeCSV(w io.Writer, lines [][]string) error {
	c := csv.NewWriter(w)
	return c.WriteAll(lines)
}

// fidelityCSV: errors are ratios, 0.01 is 1% too much. The truth is that of the load which ours drove; Fortio's errors are relative to
// the truth of its own load, which is in the detailed file.
func fidelityCSV(table []row) [][]string {
	lines := [][]string{{"case", "rps", "connections", "percentile", "truth_us", "ours_us", "ours_error",
		"fortio_default_us", "fortio_default_error", "fortio_best_us", "fortio_best_error"}}
	for _, r := range table {
		lines = append(lines, []string{r.Case, shortest(r.RPS), strconv.Itoa(r.Connections), shortest(r.Percentile),
			fixed(r.Truth, 1), fixed(r.Ours, 1), fixed(r.OursError, 4),
			fixed(r.FortioDefault, 1), fixed(r.FortioDefaultError, 4), fixed(r.FortioBest, 1), fixed(r.FortioBestError, 4)})
	}
	return lines
}

// detailCSV has what the other leaves out: both truths, service time, and how many processors other processes used meanwhile.
func detailCSV(table []row) [][]string {
	lines := [][]string{{"case", "rps", "connections", "percentile", "ours_truth_us", "ours_us", "fortio_truth_us", "fortio_default_us", "fortio_best_us",
		"ours_service_truth_us", "ours_service_us", "fortio_service_truth_us", "ours_others_cpus", "fortio_others_cpus"}}
	for _, r := range table {
		line := []string{r.Case, shortest(r.RPS), strconv.Itoa(r.Connections), shortest(r.Percentile)}
		for _, v := range []float64{r.Truth, r.Ours, r.FortioTruth, r.FortioDefault, r.FortioBest, r.ServiceTruth, r.OursService, r.FortioServiceTruth} {
			line = append(line, fixed(v, 1))
		}
		line = append(line, fixed(r.Others, 3), fixed(r.FortioOthers, 3))
		lines = append(lines, line)
	}
	return lines
}

func costCSV(table []comparison) [][]string {
	lines := [][]string{{"measure", "unit", "other", "ours", "theirs", "ratio_median", "ratio_lowest", "ratio_highest", "rounds"}}
	for _, c := range table {
		lines = append(lines, []string{c.Measure, c.Unit, c.Other, fixed(c.Ours, 2), fixed(c.Theirs, 2),
			fixed(c.Ratio, 4), fixed(c.Lowest, 4), fixed(c.Highest, 4), strconv.Itoa(c.Rounds)})
	}
	return lines
}

func printTransit(w io.Writer, all []transit) {
	fmt.Fprintln(w, "\nTransit: what a client measures of a request beyond the server's own record of it, request by request.")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "client\trps\tconns\tp10 us\tp50 us\tp90 us\tp99 us\t")
	for _, one := range all {
		fmt.Fprintf(t, "%s\t%s\t%d\t", one.mode, shortest(one.at.rps), one.at.connections)
		for _, q := range []float64{0.1, 0.5, 0.9, 0.99} {
			if value, ok := quantile(one.extra, q); ok {
				fmt.Fprintf(t, "%s\t", fixed(micros(value), 1))
			} else {
				fmt.Fprint(t, "-\t")
			}
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush()
	fmt.Fprintln(w, "Each request of the truth below is given one of the ways there that were seen under a load like its own.")
}

const legend = `
Response times in microseconds. Each load is driven twice, by ours and by Fortio, against the same sequence of delays.
  truth      by the server's record and the schedule, in ours's load: from when a request was due to when its answer was back
  ours       perfrun's response time
  its truth  the same in the load that Fortio drove; Fortio's errors are relative to this
  default    Fortio's report with its default resolution of 1 ms
  best       Fortio's report with resolution %g s, the best of those tried over all rows
  service    the truth of service time, from the actual send, in Fortio's load: what Fortio means to measure
`

func printFidelity(w io.Writer, table []row, best float64) {
	fmt.Fprintf(w, legend, best)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "case\trps\tconns\tp\ttruth\tours\terror\tits truth\tdefault\terror\tbest\terror\tservice\t")
	for _, r := range table {
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", r.Case, shortest(r.RPS), r.Connections, shortest(r.Percentile),
			fixed(r.Truth, 0), fixed(r.Ours, 0), percent(r.OursError), fixed(r.FortioTruth, 0),
			fixed(r.FortioDefault, 0), percent(r.FortioDefaultError), fixed(r.FortioBest, 0), percent(r.FortioBestError), fixed(r.FortioServiceTruth, 0))
	}
	_ = t.Flush()
	fmt.Fprintln(w)
	printSummary(w, table)
}

// printSummary counts how often each was close, by case.
func printSummary(w io.Writer, table []row) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "case\tpercentiles\tours within 1%\tworst\tmore by at most us\tdefault within 1%\tworst\tbest within 1%\tworst\t")
	for _, c := range append(cases, benchCase{}) {
		var n, close, closeDefault, closeBest int
		var worst, worstDefault, worstBest, more float64
		for _, r := range table {
			if c.name != "" && r.Case != c.name {
				continue
			}
			n++
			tally(r.OursError, &close, &worst)
			tally(r.FortioDefaultError, &closeDefault, &worstDefault)
			tally(r.FortioBestError, &closeBest, &worstBest)
			more = max(more, r.Ours-r.Truth)
		}
		if n == 0 {
			continue
		}
		name := c.name
		if name == "" {
			name = "all"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%d\t%s\t%d\t%s\t\n", name, n, close, percent(worst), fixed(more, 0),
			closeDefault, percent(worstDefault), closeBest, percent(worstBest))
	}
	_ = t.Flush()
}

func tally(e float64, close *int, worst *float64) {
	if math.Abs(e) <= 0.01 {
		*close++
	}
	if math.Abs(e) > math.Abs(*worst) {
		*worst = e
	}
}

func printCost(w io.Writer, table []comparison) {
	fmt.Fprintf(w, "\nCost, over %d connections against a server that answers at once; %d bytes each way. At the highest rate both have a processor each. Medians over the rounds; the ratio is ours by theirs, round by round.\n",
		costConnections, answerBytes)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "measure\tunit\tother\tours\ttheirs\tratio\tlowest\thighest\trounds\t")
	for _, c := range table {
		digits := 1
		if c.Ours > 1000 {
			digits = 0
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t\n", c.Measure, c.Unit, c.Other, fixed(c.Ours, digits), fixed(c.Theirs, digits),
			fixed(c.Ratio, 3), fixed(c.Lowest, 3), fixed(c.Highest, 3), c.Rounds)
	}
	_ = t.Flush()
}

// printDisturbance tells how quiet the machine was.
func printDisturbance[T any](w io.Writer, all []T, of func(T) []share) {
	var others, stolen []float64
	for _, one := range all {
		for _, s := range of(one) {
			others, stolen = append(others, s.others), append(stolen, s.stolen)
		}
	}
	fmt.Fprintf(w, "Meanwhile other processes used %s processors (median; %s at most), and %s were stolen (%s).\n",
		fixed(median(others), 2), fixed(slices.Max(others), 2), fixed(median(stolen), 2), fixed(slices.Max(stolen), 2))
}

func (b *bench) save(name string, lines [][]string) error {
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return fmt.Errorf("making %s: %w", b.out, err)
	}
	f, err := os.Create(filepath.Join(b.out, name))
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err := writeCSV(f, lines); err != nil {
		_ = f.Close()
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return f.Close()
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Since(b.began).Round(time.Second), fmt.Sprintf(format, args...))
}
