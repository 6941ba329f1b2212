package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"perfrun.dev/perfrun/internal/stats"
)

// aRow in which ours is 1.5% over and Fortio is judged by the truth of its own load.
var aRow = row{Case: "constant", RPS: 1000, Connections: 16, Percentile: 99.9, Truth: 1000, Ours: 1015, OursError: 0.015,
	FortioTruth: 1100, FortioDefault: 1650, FortioDefaultError: 0.5, FortioBest: 1089, FortioBestError: -0.01, ServiceTruth: 990, OursService: 1001, FortioServiceTruth: 1050, Others: 0.25, FortioOthers: 0.5}

func TestCSV(t *testing.T) {
	tests := map[string]struct {
		lines [][]string
		want  string
	}{
		"fidelity": {fidelityCSV([]row{aRow}), `case,rps,connections,percentile,truth_us,ours_us,ours_error,fortio_default_us,fortio_default_error,fortio_best_us,fortio_best_error
constant,1000,16,99.9,1000.0,1015.0,0.0150,1650.0,0.5000,1089.0,-0.0100
`},
		"detail": {detailCSV([]row{aRow}), `case,rps,connections,percentile,ours_truth_us,ours_us,fortio_truth_us,fortio_default_us,fortio_best_us,ours_service_truth_us,ours_service_us,fortio_service_truth_us,ours_others_cpus,fortio_others_cpus
constant,1000,16,99.9,1000.0,1015.0,1100.0,1650.0,1089.0,990.0,1001.0,1050.0,0.250,0.500
`},
		"cost": {costCSV([]comparison{{"highest rate", "requests/s", "Fortio's library", 20000, 25000, 0.8, 0.79, 0.8125, 6}}),
			`measure,unit,other,ours,theirs,ratio_median,ratio_lowest,ratio_highest,rounds
highest rate,requests/s,Fortio's library,20000.00,25000.00,0.8000,0.7900,0.8125,6
`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := bench{out: filepath.Join(t.TempDir(), "bench")}
			if err := b.save("a.csv", tc.lines); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(b.out, "a.csv"))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, string(got)); d != "" {
				t.Error(d)
			}
		})
	}
}

// fields of each line, so that widths do not matter.
func fields(s string) (lines [][]string) {
	for line := range strings.Lines(s) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

func TestTables(t *testing.T) {
	other := aRow
	other.Case, other.OursError, other.FortioBestError = "stalls", -0.01, -0.99
	var out bytes.Buffer
	printFidelity(&out, []row{aRow, other}, 1e-4)
	got := fields(out.String())
	for _, want := range []string{
		"constant 1000 16 99.9 1000 1015 +1.5% 1100 1650 +50.0% 1089 -1.0% 1050",
		"constant 1 0 +1.5% 15 0 +50.0% 1 -1.0%",
		"stalls 1 1 -1.0% 15 0 +50.0% 0 -99.0%",
		"all 2 1 +1.5% 15 0 +50.0% 1 -99.0%",
	} {
		if !slices.ContainsFunc(got, func(l []string) bool { return slices.Equal(l, strings.Fields(want)) }) {
			t.Errorf("there is no line %q in\n%s", want, out.String())
		}
	}
	out.Reset()
	printTransit(&out, []transit{{probeSpin, point{1000, 1}, slices.Concat(slices.Repeat([]int64{9000}, 40), slices.Repeat([]int64{12340}, 60))}})
	printCost(&out, []comparison{{"CPU per request", "us", "x", 50, 40, 1.25, 1, 1.5, 6}})
	for _, want := range []string{"spinning 1000 1 9.0 12.3 12.3 -", "CPU per request us x 50.0 40.0 1.250 1.000 1.500 6"} {
		if !slices.ContainsFunc(fields(out.String()), func(l []string) bool { return slices.Equal(l, strings.Fields(want)) }) {
			t.Errorf("there is no line %q in\n%s", want, out.String())
		}
	}
}

// encoded makes a histogram of n latencies d, as ours would report them.
func encoded(t *testing.T, d time.Duration, n int) []byte {
	t.Helper()
	h := stats.NewHistogram()
	for range n {
		h.Record(d)
	}
	b, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRows(t *testing.T) {
	// 1000 requests that took 2 ms truly; 2.02 ms by ours, 2.1 ms by Fortio.
	const n = 1000
	truth := slices.Repeat([]int64{2 * ms}, n)
	histogram := encoded(t, 2020*time.Microsecond, n)
	one := compared{of: cases[0], at: point{1000, 4},
		ours:   driven{loadResult: loadResult{Response: histogram, Service: histogram}, responses: truth, services: truth},
		fortio: driven{loadResult: loadResult{Latencies: slices.Repeat([]float64{0.0021}, n), Percentiles: slices.Repeat([]float64{0.003}, len(percentiles))}, responses: truth, services: truth}}
	table, best, err := rows([]compared{one})
	if err != nil {
		t.Fatal(err)
	}
	// p99.9 has one request beyond it.
	if len(table) != len(percentiles)-1 {
		t.Fatalf("%d rows", len(table))
	}
	for _, r := range table {
		if math.Abs(r.OursError-0.01) > 1e-9 || math.Abs(r.FortioDefaultError-0.5) > 1e-9 || r.Truth != 2000 || r.FortioTruth != 2000 || r.ServiceTruth != 2000 || r.OursService != 2020 {
			t.Errorf("p%g: %+v", r.Percentile, r)
		}
	}
	// All latencies being alike, Fortio's bucket reaches from the least to the largest: every resolution is exact, so the first is best.
	if best != resolutions[0] || math.Abs(table[0].FortioBestError-0.05) > 1e-9 {
		t.Errorf("best resolution %g, error %g", best, table[0].FortioBestError)
	}
	one.ours.Response = []byte("x")
	if _, _, err := rows([]compared{one}); err == nil {
		t.Error("what is no histogram was read")
	}
}

func TestCompare(t *testing.T) {
	round := func(mine, theirs, full float64) alternation {
		return alternation{
			at:   map[contender]figures{ours: {mine, 1000}, library: {theirs, 1000}},
			full: map[contender]figures{ours: {10, full}, library: {20, 10000}, unlimited: {25, 20000}},
		}
	}
	want := []comparison{
		{"CPU per request at 1000/s", "us", "Fortio's library", 45, 40, 1.125, 1, 1.5, 4},
		{"CPU per request at the highest rate", "us", "Fortio's library", 10, 20, 0.5, 0.5, 0.5, 4},
		{"CPU per request at the highest rate", "us", string(unlimited), 10, 25, 0.4, 0.4, 0.4, 4},
		{"highest rate", "requests/s", "Fortio's library", 10000, 10000, 1, 0.5, 2, 4},
		{"highest rate", "requests/s", string(unlimited), 10000, 20000, 0.5, 0.25, 1, 4},
	}
	got := compare([]alternation{round(60, 40, 5000), round(40, 40, 20000), round(50, 40, 10000), round(40, 40, 10000)})
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestWholeLoad(t *testing.T) {
	for _, tc := range []struct {
		rps         float64
		connections int
		atLeast     time.Duration
		calls       int
		duration    time.Duration
	}{
		{1000, 64, 10240 * time.Millisecond, 160, 10240 * time.Millisecond},
		{100, 16, 10240 * time.Millisecond, 64, 10240 * time.Millisecond},
		{1000, 64, 10 * time.Second, 157, 10048 * time.Millisecond},
		{100, 64, time.Second, 2, 1280 * time.Millisecond},
	} {
		if calls, d := wholeLoad(tc.rps, tc.connections, tc.atLeast); calls != tc.calls || d != tc.duration {
			t.Errorf("%g/s over %d for %s: %d calls in %s", tc.rps, tc.connections, tc.atLeast, calls, d)
		}
	}
}
