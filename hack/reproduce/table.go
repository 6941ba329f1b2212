package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// table is what has come of it.
type table struct {
	started time.Time
	// machine in words.
	machine string
	// runs by sample.
	runs map[string]*v1alpha1.PerfRun
	// shortened is the time of each arm where it was not the published one.
	shortened time.Duration
	// kept are the rows of an earlier table, which stand where this one has measured nothing.
	kept []row
}

// row is a line of the table, all of it text.
type row struct {
	source, scenario, figure, unit, published, measured, perfrun, verdict string
	// at is when it was measured, on which cluster, and reason why the verdict is not Succeeded.
	at, cluster, reason string
}

// header names what fields gives.
var header = []string{"source", "scenario", "figure", "unit", "published", "measured", "perfrun", "verdict", "at", "cluster", "reason"}

func (r row) fields() []string {
	return []string{r.source, r.scenario, r.figure, r.unit, r.published, r.measured, r.perfrun, r.verdict, r.at, r.cluster, r.reason}
}

func rowOf(fields []string) row {
	return row{fields[0], fields[1], fields[2], fields[3], fields[4], fields[5], fields[6], fields[7], fields[8], fields[9], fields[10]}
}

// unmeasured stands for a figure that there is none of.
const unmeasured = "-"

func (t *table) rows() []row {
	var out []row
	for _, f := range figures() {
		r := row{source: f.source, scenario: f.scenario, figure: f.name, unit: f.unit, published: cmp.Or(f.published, "picture"), measured: unmeasured, verdict: "not run"}
		run := t.runs[f.run]
		if run != nil {
			r.perfrun, r.verdict = run.Name, string(run.Status.Phase)
			r.at, r.cluster, r.reason = t.started.UTC().Format("2006-01-02 15:04 UTC"), t.cluster(run), reason(run)
			if v := f.measured(run); v != nil {
				r.measured = number(*v)
			}
		}
		// A run that could not measure is not to hide behind what an earlier one has.
		if r.measured == unmeasured && (run == nil || run.Status.Phase != v1alpha1.PhaseError) {
			r = t.earlier(r)
		}
		out = append(out, r)
	}
	return out
}

// earlier is the kept row of the same figure; r itself if there is none.
func (t *table) earlier(r row) row {
	i := slices.IndexFunc(t.kept, func(k row) bool {
		return k.source == r.source && k.scenario == r.scenario && k.figure == r.figure && k.measured != unmeasured
	})
	if i < 0 {
		return r
	}
	return t.kept[i]
}

// number has three significant digits, or all before the point if those are more.
func number(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// cluster says what a run's figures hold for.
func (t *table) cluster(run *v1alpha1.PerfRun) string {
	out := t.machine
	if e := run.Status.Environment; e != nil && e.Dapr != "" {
		out += fmt.Sprintf("; Kubernetes %s, Dapr %s", e.Kubernetes, e.Dapr)
	}
	if t.shortened > 0 {
		out += fmt.Sprintf("; each arm had %s at each point, not the published minute: to try it out, not to compare", t.shortened)
	}
	return out
}

// reason why a run is not Succeeded; empty if it is.
func reason(run *v1alpha1.PerfRun) string {
	if run.Status.Phase == v1alpha1.PhaseSucceeded {
		return ""
	}
	for _, c := range run.Status.Conditions {
		if c.Type == v1alpha1.ConditionSucceeded {
			return c.Message
		}
	}
	return ""
}

// measurements are the times and clusters that rows are from, each once.
func measurements(rows []row) []string {
	var out []string
	for _, r := range rows {
		if m := r.measurement(); m != "" && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

func (r row) measurement() string {
	if r.measured == unmeasured {
		return ""
	}
	return r.at + " on " + r.cluster
}

// cells of a row as people read it: when and where it was measured is the number of a measurement.
func (r row) cells(all []string) []string {
	number := ""
	if i := slices.Index(all, r.measurement()); i >= 0 {
		number = fmt.Sprintf("[%d]", i+1)
	}
	return []string{r.source, r.scenario, r.figure, r.unit, r.published, r.measured, number, r.perfrun, r.verdict}
}

func (t *table) text(w io.Writer) error {
	rows := t.rows()
	all := measurements(rows)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SOURCE\tSCENARIO\tFIGURE\tUNIT\tPUBLISHED\tMEASURED\tWHERE\tPERFRUN\tVERDICT")
	for _, r := range rows {
		fmt.Fprintln(tw, strings.Join(r.cells(all), "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for i, m := range all {
		fmt.Fprintf(w, "[%d] %s\n", i+1, m)
	}
	for _, line := range unfinished(rows) {
		fmt.Fprintln(w, line)
	}
	return nil
}

// unfinished tells why runs are not Succeeded.
func unfinished(rows []row) []string {
	var out []string
	for _, r := range rows {
		if r.reason == "" {
			continue
		}
		if line := fmt.Sprintf("%s is %s: %s", r.perfrun, r.verdict, r.reason); !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

func (t *table) csv() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	lines := [][]string{header}
	for _, r := range t.rows() {
		lines = append(lines, r.fields())
	}
	err := w.WriteAll(lines)
	return b.Bytes(), err
}

// keep reads the rows of an earlier table's CSV.
func (t *table) keep(text []byte) error {
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return err
	}
	if len(lines) == 0 || !slices.Equal(lines[0], header) {
		return fmt.Errorf("its columns are not %s", strings.Join(header, ","))
	}
	for _, line := range lines[1:] {
		t.kept = append(t.kept, rowOf(line))
	}
	return nil
}

func (t *table) markdown() ([]byte, error) {
	rows := t.rows()
	all := measurements(rows)
	var b bytes.Buffer
	b.WriteString("# The published figures, measured\n\nWritten by `make reproduce`. Measured:\n\n")
	for i, m := range all {
		fmt.Fprintf(&b, "%d. %s\n", i+1, m)
	}
	b.WriteString("\n| source | scenario | figure | unit | published | measured | where | PerfRun | verdict |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r.cells(all), " | "))
	}
	for _, line := range unfinished(rows) {
		b.WriteString("\n" + line + "\n")
	}
	b.WriteString(differences)
	return b.Bytes(), nil
}

// differences from the published conditions.
const differences = `
## What differs from the published conditions

- **Machines.** The figures of the documentation are from a cluster of 3 nodes with 4 cores and 8 GB each, those of later versions do not say theirs. The machine of this table is named above; on perfrun's local cluster all nodes share one
  machine's cores, so that load tester, target, sidecars and control plane compete.
- **The sidecar's CPU limit** is the 0.5 vCPU of the documentation. The harness of later versions sets 4.0.
- **Sampling** is the 0.1 of the documentation; the harness of later versions leaves Dapr's default of 0.0001.
- **Placement** is on different nodes, as documented; the harness asks only for the same zone.
- **CPU** is exact, over exactly the load. The published figures are one reading of metrics-server after the load: "2m at 500 requests/s" is what an idle sidecar takes.
- **Memory** is resident memory, which holds the program's own file as well; the published figures are working sets. They are of different kinds and are not to be compared closely. "MB" is 2^20 bytes here; what it is in the tables they do not say.
- **Latency** is response time, every request by itself. The published harness times from the actual send, in buckets of 1 ms, and adds up percentiles by straight lines within them.
- **Repetition.** Six pairs of blocks alternate, where the published tests measure each arm once, the baseline first and cold.
- **The control plane** idles while its figures are read; how many pods were connected, and for how long it was looked at, is not published. The total is of the four parts of the published table: the scheduler came later, and has three replicas.
  HA figures are measured where Dapr is installed with HA, the others where it is not: one table with both takes two clusters, or one after the other with -merge.
- **The charts** of latency against connections are pictures, so that their rows have no published number.
`
