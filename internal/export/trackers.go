package export

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"
)

// entry is one benchmark of github-action-benchmark's customSmallerIsBetter.
type entry struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Range string  `json:"range,omitempty"`
	Extra string  `json:"extra"`
}

// GitHubActionBenchmark writes what the action github-action-benchmark reads as tool customSmallerIsBetter: every figure is a cost. Names and
// units are the same from run to run, as it compares by name.
func GitHubActionBenchmark(w io.Writer, runs []Measured) error {
	if err := distinct(runs); err != nil {
		return err
	}
	entries := []entry{}
	for _, m := range runs {
		for _, f := range m.Figures {
			name, per := unit(f.Metric)
			e := entry{Name: m.Benchmark + ": " + f.Metric, Unit: name, Value: round(f.Value * per), Extra: m.about()}
			if f.Connections > 0 {
				e.Name += fmt.Sprintf(" at %d connections", f.Connections)
			}
			if f.Low != nil && f.High != nil {
				e.Range = fmt.Sprintf("%v to %v", round(*f.Low*per), round(*f.High*per))
				e.Extra += "\nrange: 95% interval over pairs of blocks"
			}
			entries = append(entries, e)
		}
	}
	return writeJSON(w, entries)
}

// about tells what the figures hold for.
func (m Measured) about() string {
	return fmt.Sprintf("run %s, %s\nDapr %s, Kubernetes %s", m.Run, m.Verdict, known(m.Environment["dapr"]), known(m.Environment["kubernetes"]))
}

// metric of Bencher's: a value with its bounds.
type metric struct {
	Value float64  `json:"value"`
	Lower *float64 `json:"lower_value,omitempty"`
	Upper *float64 `json:"upper_value,omitempty"`
}

// Bencher writes the Bencher Metric Format: a benchmark for each run and point, measures by their slugs; latencies in nanoseconds, as Bencher's
// own measure of that name has, the rest in vCPU and bytes.
func Bencher(w io.Writer, runs []Measured) error {
	if err := distinct(runs); err != nil {
		return err
	}
	out := map[string]map[string]metric{}
	for _, m := range runs {
		for _, f := range m.Figures {
			benchmark := m.Benchmark
			if f.Connections > 0 {
				benchmark += fmt.Sprintf("/%d-connections", f.Connections)
			}
			if out[benchmark] == nil {
				out[benchmark] = map[string]metric{}
			}
			per := 1.0
			if name, _ := unit(f.Metric); name == "ms" {
				per = 1e9
			}
			scaled := metric{Value: round(f.Value * per)}
			if f.Low != nil && f.High != nil {
				low, high := round(*f.Low*per), round(*f.High*per)
				scaled.Lower, scaled.Upper = &low, &high
			}
			out[benchmark][slug(f.Metric)] = scaled
		}
	}
	return writeJSON(w, out)
}

// slug writes a metric in kebab case: callerSidecar.cpuPer1000RPS is caller-sidecar-cpu-per-1000-rps.
func slug(metric string) string {
	var out strings.Builder
	var last rune
	for _, r := range metric {
		switch {
		case r == '.':
			r = '-'
			out.WriteRune('-')
		case unicode.IsUpper(r) && !unicode.IsUpper(last), unicode.IsDigit(r) && unicode.IsLower(last) && last != 'p':
			out.WriteRune('-')
			out.WriteRune(unicode.ToLower(r))
		default:
			out.WriteRune(unicode.ToLower(r))
		}
		last = r
	}
	return out.String()
}

// distinct refuses two runs that a tracker could not tell apart.
func distinct(runs []Measured) error {
	of := map[string]string{}
	for _, m := range runs {
		if other, taken := of[m.Benchmark]; taken {
			return fmt.Errorf("runs %s and %s would both be the benchmark %q; export one file of each", other, m.Run, m.Benchmark)
		}
		of[m.Benchmark] = m.Run
	}
	return nil
}

// round to nine significant digits: what a unit's conversion adds beyond them is not the figure's.
func round(v float64) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow10(8 - int(math.Floor(math.Log10(math.Abs(v)))))
	return math.Round(v*scale) / scale
}

func known(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}
