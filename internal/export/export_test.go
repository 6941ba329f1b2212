package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/test/fixture"
)

var update = flag.Bool("update", false, "write the golden files anew")

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s\nRun: go test ./internal/export -update", name, diff)
	}
}

func TestTrackersOfARealRun(t *testing.T) {
	run := fixture.Run(t, "succeeded.yaml")
	// It had two pairs, which give no interval.
	low, high := v1alpha1.NewLatency(15*time.Millisecond), v1alpha1.NewLatency(22500*time.Microsecond)
	run.Status.Results[0].Added.P90.Low, run.Status.Results[0].Added.P90.High = &low, &high
	m, err := OfRun("invoke", run)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "github-action-benchmark.json", written(t, func(w io.Writer) error { return GitHubActionBenchmark(w, []Measured{m}) }))
	golden(t, "bencher.json", written(t, func(w io.Writer) error { return Bencher(w, []Measured{m}) }))
}

// strict decodes what has no field beyond those of the type.
func strict(t *testing.T, text string, into any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Fatal(err)
	}
}

// What the action's README says of its tool customSmallerIsBetter: an array of objects with name, unit and value, and perhaps range and extra, both strings.
func TestGitHubActionBenchmarkHasTheDocumentedShape(t *testing.T) {
	var entries []struct {
		Name  *string  `json:"name"`
		Unit  *string  `json:"unit"`
		Value *float64 `json:"value"`
		Range *string  `json:"range"`
		Extra *string  `json:"extra"`
	}
	text, err := os.ReadFile("testdata/github-action-benchmark.json")
	if err != nil {
		t.Fatal(err)
	}
	strict(t, string(text), &entries)
	names := map[string]bool{}
	for _, e := range entries {
		if e.Name == nil || e.Unit == nil || e.Value == nil || names[*e.Name] {
			t.Errorf("%+v: no name, unit or value, or a name that comes twice", e)
		} else {
			names[*e.Name] = true
		}
	}
	if !names["invoke: added.p90 at 4 connections"] || !names["invoke: callerSidecar.memory"] {
		t.Errorf("figures are missing: %v", names)
	}
}

// Bencher's schema, https://bencher.dev/bmf.json: objects of objects with a number value, and perhaps lower_value and upper_value. Its reference
// limits names to 1024 characters, and slugs to 64 of lower case, digits and hyphens.
func TestBencherHasTheDocumentedShape(t *testing.T) {
	var benchmarks map[string]map[string]struct {
		Value *float64 `json:"value"`
		Lower *float64 `json:"lower_value"`
		Upper *float64 `json:"upper_value"`
	}
	text, err := os.ReadFile("testdata/bencher.json")
	if err != nil {
		t.Fatal(err)
	}
	strict(t, string(text), &benchmarks)
	slugs := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for benchmark, measures := range benchmarks {
		for slug, m := range measures {
			if m.Value == nil || !slugs.MatchString(slug) || len(slug) > 64 {
				t.Errorf("%s %s: %+v", benchmark, slug, m)
			}
			if m.Lower != nil && (*m.Lower > *m.Value || *m.Upper < *m.Value) {
				t.Errorf("%s %s: %v is not between %v and %v", benchmark, slug, *m.Value, *m.Lower, *m.Upper)
			}
		}
	}
	if p90 := benchmarks["invoke/4-connections"]["added-p90"]; p90.Value == nil || *p90.Value < 1e5 || p90.Lower == nil {
		t.Errorf("added p90 is no number of nanoseconds with an interval: %+v", p90)
	}
	if _, ok := benchmarks["invoke"]["caller-sidecar-cpu-per-1000-rps"]; !ok {
		t.Errorf("no CPU of the caller's sidecar: %v", benchmarks["invoke"])
	}
}

func TestTrackersRefuseWhatTheyCannotTellApart(t *testing.T) {
	runs := []Measured{{Benchmark: "invoke", Run: "a"}, {Benchmark: "invoke", Run: "b"}}
	for _, write := range []func(io.Writer, []Measured) error{GitHubActionBenchmark, Bencher} {
		if err := write(io.Discard, runs); err == nil || !strings.Contains(err.Error(), `runs a and b would both be the benchmark "invoke"`) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := OfRun("x", fixture.Run(t, "measuring.yaml")); err == nil || !strings.Contains(err.Error(), "its phase is Measuring") {
		t.Errorf("got %v", err)
	}
}

// smpFields are those of the specification's messages that we use, with the kind that protobuf's JSON has for their type, as
// protos/service_mesh_performance.proto of github.com/service-mesh-performance/service-mesh-performance defines them.
var smpFields = map[string]map[string]reflect.Kind{
	"performance_test_configs":         {"id": reflect.String, "name": reflect.String, "labels": reflect.Map, "clients": reflect.Slice, "duration": reflect.String},
	"performance_test_configs.clients": {"internal": reflect.Bool, "load_generator": reflect.String, "protocol": reflect.String, "connections": reflect.Float64, "rps": reflect.String},
	"performance_test_results": {"id": reflect.String, "labels": reflect.Map, "start_time": reflect.String, "end_time": reflect.String, "latencies_ms": reflect.Map,
		"actual_QPS": reflect.Float64, "testId": reflect.String, "meshConfigId": reflect.String, "envId": reflect.String},
	"performance_test_results.latencies_ms": {"min": reflect.Float64, "average": reflect.Float64, "p50": reflect.Float64, "p90": reflect.Float64, "p99": reflect.Float64, "max": reflect.Float64},
	"service_mesh_configs": {"id": reflect.String, "labels": reflect.Map, "sidecar": reflect.Map, "mesh_control_plane": reflect.Map, "mtls_enabled": reflect.Bool,
		"mesh_build": reflect.String, "proxy_build": reflect.String},
	"service_mesh_configs.sidecar":             {"count": reflect.Float64, "cpu_mCores": reflect.Float64, "mem_mb": reflect.Float64, "rps": reflect.Float64},
	"service_mesh_configs.mesh_control_plane":  {"count": reflect.Float64, "cpu_mCores": reflect.Float64, "mem_mb": reflect.Float64},
	"environment_configs":                      {"id": reflect.String, "labels": reflect.Map, "kubernetes_version": reflect.String, "individual_workloads": reflect.Slice},
	"environment_configs.individual_workloads": {"name": reflect.String, "count": reflect.Float64, "cpu_mCores": reflect.Float64, "mem_mb": reflect.Float64},
}

func TestServiceMeshPerformance(t *testing.T) {
	text := written(t, func(w io.Writer) error { return ServiceMeshPerformance(w, fixture.Run(t, "succeeded.yaml")) })
	golden(t, "smp.json", text)
	var document map[string][]map[string]any
	strict(t, text, &document)
	for kind, messages := range document {
		for _, m := range messages {
			checkMessage(t, kind, m)
		}
	}
	if got := len(document["performance_test_results"]); got != 2 {
		t.Errorf("%d results, want one for each arm", got)
	}
	if err := ServiceMeshPerformance(io.Discard, fixture.Run(t, "error.yaml")); err == nil || !strings.Contains(err.Error(), "its phase is Error") {
		t.Errorf("got %v", err)
	}
}

func checkMessage(t *testing.T, kind string, message map[string]any) {
	t.Helper()
	for field, value := range message {
		want, known := smpFields[kind][field]
		if got := reflect.ValueOf(value).Kind(); !known || got != want {
			t.Errorf("%s.%s is a %s, want %s", kind, field, got, want)
		}
		nested := kind + "." + field
		switch v := value.(type) {
		case map[string]any:
			if smpFields[nested] != nil {
				checkMessage(t, nested, v)
			}
		case []any:
			for _, one := range v {
				checkMessage(t, nested, one.(map[string]any))
			}
		}
	}
}

// series of a schedule: 30 nightly runs, of which the last ten add 2 ms more at p99, after two of another environment and one that was Inconclusive.
func series() *v1alpha1.PerfSeries {
	s := &v1alpha1.PerfSeries{
		Environments: []v1alpha1.SeriesContext{{Digest: "old", Values: map[string]string{"dapr": "1.17.0"}}, {Digest: "new", Values: map[string]string{"dapr": "1.18.0"}}},
		Settings:     []v1alpha1.SeriesContext{{Digest: "same", Values: map[string]string{"rps": "1000"}}},
	}
	for i := range 33 {
		environment, verdict, p99 := "new", v1alpha1.PhaseSucceeded, 5000+37*(i%7)
		switch {
		case i < 2:
			environment = "old"
		case i == 2:
			verdict = v1alpha1.PhaseInconclusive
		case i >= 23:
			p99 += 2000
		}
		r := v1alpha1.RunResult{Run: fmt.Sprintf("nightly-%d", i), Time: metav1.NewTime(time.Date(2026, 1, 1+i, 3, 0, 0, 0, time.UTC)), Verdict: verdict, Environment: environment, Settings: "same",
			Figures: []v1alpha1.Figure{{Metric: "added.p99", Connections: 16, Value: fmt.Sprintf("%dus", p99), Low: "4ms", High: "9ms"}, {Metric: "callerSidecar.cpuPer1000RPS", Value: fmt.Sprintf("%dm", 420+i%5)}}}
		// One sidecar's memory could not be read once.
		if i != 10 {
			r.Figures = append(r.Figures, v1alpha1.Figure{Metric: "callerSidecar.memory", Value: "100Mi"})
		}
		s.Results = append(s.Results, r)
	}
	return s
}

func otavaFiles(t *testing.T) (csvText, config string) {
	t.Helper()
	runs, err := OfSeries("nightly", series())
	if err != nil {
		t.Fatal(err)
	}
	table, err := NewTable(runs)
	if err != nil {
		t.Fatal(err)
	}
	if table.LeftOut != 3 {
		t.Errorf("%d runs are left out, want 3", table.LeftOut)
	}
	return written(t, table.WriteCSV), written(t, table.WriteConfig)
}

func TestOtava(t *testing.T) {
	text, config := otavaFiles(t)
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 31 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	want := [][]string{
		{"time", "run", "verdict", "added_p99_16_ms", "callerSidecar_cpuPer1000RPS_vCPU"},
		{"2026-01-04T03:00:00Z", "nightly-3", "Succeeded", "5.111", "0.423"},
	}
	if diff := cmp.Diff(want, rows[:2]); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
	golden(t, "otava.yaml", config)
	if _, err := NewTable(nil); err == nil {
		t.Error("a table of nothing")
	}
}

// Otava itself finds the change where it is. `make test-exports` installs it and sets OTAVA.
func TestOtavaFindsTheChange(t *testing.T) {
	otava := os.Getenv("OTAVA")
	if otava == "" {
		t.Skip("OTAVA names no program; `make test-exports` runs this test")
	}
	dir := t.TempDir()
	text, config := otavaFiles(t)
	for name, content := range map[string]string{"nightly.csv": text, "otava.yaml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(otava, "analyze", "--config-file", "otava.yaml", "nightly", "--since=2025-01-01", "--until=2027-01-01")
	command.Dir = dir
	printed, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	// The change is drawn between the last night before it and the first one after it.
	if !regexp.MustCompile(`2026-01-23 [^\n]*\n[^\n]*·+[^\n]*\n[^\n]*\+3\d\.\d%[^\n]*\n[^\n]*·+[^\n]*\n2026-01-24 `).Match(printed) {
		t.Errorf("Otava does not say that added_p99_16_ms changed on January 24th:\n%s", printed)
	}
}
