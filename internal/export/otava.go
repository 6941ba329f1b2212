package export

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// Table is a series as Otava reads it: a row for each run, a column for each figure.
type Table struct {
	// Benchmark that the rows are runs of.
	Benchmark string
	// LeftOut counts the runs that are no rows: measured in another environment or with other settings than the latest, or not under
	// the declared conditions.
	LeftOut int

	columns []column
	rows    []Measured
}

// column is a figure by the name that it has in the file.
type column struct {
	name        string
	metric      string
	connections int32
}

// NewTable takes the runs that are comparable with the latest, oldest first, and the figures that all of them have: Otava takes no row
// with a missing one, and looks for changes of the benchmark's own, not of the environment's.
func NewTable(runs []Measured) (*Table, error) {
	var usable []Measured
	for _, m := range runs {
		if m.Verdict == v1alpha1.PhaseSucceeded || m.Verdict == v1alpha1.PhaseFailed {
			usable = append(usable, m)
		}
	}
	if len(usable) == 0 {
		return nil, errors.New("there are no results that were measured under their declared conditions")
	}
	latest := usable[len(usable)-1]
	t := &Table{Benchmark: latest.Benchmark}
	for _, m := range usable {
		if m.context == latest.context {
			t.rows = append(t.rows, m)
		}
	}
	t.LeftOut = len(runs) - len(t.rows)
	for _, f := range latest.Figures {
		c := columnOf(f)
		if t.inAll(c) {
			t.columns = append(t.columns, c)
		}
	}
	return t, nil
}

// columnOf names a figure with its unit: added_p99_16_ms.
func columnOf(f Figure) column {
	parts := strings.Split(f.Metric, ".")
	if f.Connections > 0 {
		parts = append(parts, strconv.Itoa(int(f.Connections)))
	}
	name, _ := unit(f.Metric)
	return column{name: strings.Join(append(parts, name), "_"), metric: f.Metric, connections: f.Connections}
}

func (t *Table) inAll(c column) bool {
	for _, row := range t.rows {
		if _, ok := row.value(c); !ok {
			return false
		}
	}
	return true
}

func (m Measured) value(c column) (float64, bool) {
	for _, f := range m.Figures {
		if f.Metric == c.metric && f.Connections == c.connections {
			_, per := unit(f.Metric)
			return round(f.Value * per), true
		}
	}
	return 0, false
}

// WriteCSV writes the rows.
func (t *Table) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := []string{"time", "run", "verdict"}
	for _, c := range t.columns {
		head = append(head, c.name)
	}
	// What cannot be written is told once, at the end.
	_ = out.Write(head)
	for _, m := range t.rows {
		row := []string{m.Time.Format(time.RFC3339), m.Run, string(m.Verdict)}
		for _, c := range t.columns {
			value, _ := m.value(c)
			row = append(row, strconv.FormatFloat(value, 'f', -1, 64))
		}
		_ = out.Write(row)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}

// WriteConfig writes Otava's configuration for the file BENCHMARK.csv. Direction -1: less is better.
func (t *Table) WriteConfig(w io.Writer) error {
	metrics := map[string]any{}
	for _, c := range t.columns {
		metrics[c.name] = map[string]any{"column": c.name, "direction": -1, "scale": 1}
	}
	text, err := yaml.Marshal(map[string]any{"tests": map[string]any{t.Benchmark: map[string]any{
		"type": "csv", "file": t.Benchmark + ".csv", "time_column": "time", "attributes": []string{"run", "verdict"}, "metrics": metrics,
	}}})
	if err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	_, err = w.Write(text)
	return err
}
