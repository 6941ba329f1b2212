package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
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
}

// row is a line of the table, all of it text.
type row struct{ source, scenario, figure, unit, published, measured, perfrun, verdict string }

func (t *table) rows() []row {
	var out []row
	for _, f := range figures() {
		r := row{source: f.source, scenario: f.scenario, figure: f.name, unit: f.unit, published: f.published, measured: "-", verdict: "not run"}
		if r.published == "" {
			r.published = "picture"
		}
		if run := t.runs[f.run]; run != nil {
			r.perfrun, r.verdict = run.Name, string(run.Status.Phase)
			if v := f.measured(run); v != nil {
				r.measured = number(*v)
			}
		}
		out = append(out, r)
	}
	return out
}

// number has three significant digits, or all before the point if those are more.
func number(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// about says what the figures hold for.
func (t *table) about() []string {
	lines := []string{fmt.Sprintf("Measured %s on %s.", t.started.UTC().Format("2006-01-02 15:04 UTC"), t.machine)}
	for _, run := range t.runs {
		if e := run.Status.Environment; e != nil && e.Dapr != "" {
			lines = append(lines, fmt.Sprintf("Kubernetes %s, Dapr %s.", e.Kubernetes, e.Dapr))
			break
		}
	}
	if t.shortened > 0 {
		lines = append(lines, fmt.Sprintf("Each arm had %s at each point, not the published minute: to try it out, not to compare.", t.shortened))
	}
	return lines
}

func (t *table) text(w io.Writer) error {
	for _, line := range t.about() {
		fmt.Fprintln(w, line)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SOURCE\tSCENARIO\tFIGURE\tUNIT\tPUBLISHED\tMEASURED\tPERFRUN\tVERDICT")
	for _, r := range t.rows() {
		fmt.Fprintln(tw, strings.Join([]string{r.source, r.scenario, r.figure, r.unit, r.published, r.measured, r.perfrun, r.verdict}, "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, line := range t.unfinished() {
		fmt.Fprintln(w, line)
	}
	return nil
}

// unfinished tells why a run is not Succeeded.
func (t *table) unfinished() []string {
	var out []string
	for _, name := range []string{invocation, grpc, connections, actors, controlPlane} {
		run := t.runs[name]
		if run == nil || run.Status.Phase == v1alpha1.PhaseSucceeded {
			continue
		}
		for _, c := range run.Status.Conditions {
			if c.Type == v1alpha1.ConditionSucceeded {
				out = append(out, fmt.Sprintf("%s is %s: %s", run.Name, run.Status.Phase, c.Message))
			}
		}
	}
	return out
}

func (t *table) csv() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	lines := [][]string{{"source", "scenario", "figure", "unit", "published", "measured", "perfrun", "verdict"}}
	for _, r := range t.rows() {
		lines = append(lines, []string{r.source, r.scenario, r.figure, r.unit, r.published, r.measured, r.perfrun, r.verdict})
	}
	err := w.WriteAll(lines)
	return b.Bytes(), err
}

func (t *table) markdown() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# The published figures, measured\n\nWritten by `make reproduce`. " + strings.Join(t.about(), " ") + "\n\n")
	b.WriteString("| source | scenario | figure | unit | published | measured | PerfRun | verdict |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range t.rows() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", r.source, r.scenario, r.figure, r.unit, r.published, r.measured, r.perfrun, r.verdict)
	}
	for _, line := range t.unfinished() {
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
  HA figures have a measured value only where Dapr is installed with HA; one of the two kinds is always without.
- **The charts** of latency against connections are pictures, so that their rows have no published number.
`
