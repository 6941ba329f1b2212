package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
)

const samples = "../../config/samples/published"

// sample is a published test as it is in the repository.
func sample(t *testing.T, name string) *v1alpha1.PerfRun {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(samples, name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	run := &v1alpha1.PerfRun{}
	if err := yaml.UnmarshalStrict(text, run); err != nil {
		t.Fatal(err)
	}
	return run
}

var latency = &v1alpha1.Latency{Duration: 1500 * time.Microsecond}

// measuredRun has made-up figures wherever the table looks for some: 1.5 ms, 250m and 64Mi everywhere.
func measuredRun(t *testing.T, name string) *v1alpha1.PerfRun {
	t.Helper()
	run := sample(t, name)
	run.Status.Phase = v1alpha1.PhaseSucceeded
	added := &v1alpha1.AddedLatency{Value: *latency}
	summary := &v1alpha1.LatencySummary{P50: latency, P90: latency, P99: latency}
	for _, c := range run.Spec.Connections {
		run.Status.Results = append(run.Status.Results, v1alpha1.PointResult{
			Connections: c, Dapr: &v1alpha1.ArmResult{AchievedRPS: "999.9", Latency: summary}, Added: &v1alpha1.Added{P50: added, P90: added, P99: added}})
	}
	cpu, memory := ptr.To(resource.MustParse("250m")), resource.MustParse("64Mi")
	for _, c := range []v1alpha1.Component{v1alpha1.ComponentApp, v1alpha1.ComponentTargetSidecar} {
		run.Status.Usage = append(run.Status.Usage, v1alpha1.Usage{Component: c, Arm: v1alpha1.ArmDapr, CPU: cpu, CPUPer1000RPS: cpu, Memory: &v1alpha1.Memory{Mean: memory}})
	}
	idle := v1alpha1.ControlPlaneResult{Step: v1alpha1.StepIdle}
	for _, c := range append([]v1alpha1.Component{v1alpha1.ComponentScheduler}, published...) {
		idle.Parts = append(idle.Parts, v1alpha1.PartUsage{Component: c, CPU: cpu, Memory: &memory})
	}
	run.Status.ControlPlaneResults = []v1alpha1.ControlPlaneResult{idle}
	return run
}

func whole(t *testing.T) *table {
	t.Helper()
	out := &table{machine: "1 node", runs: map[string]*v1alpha1.PerfRun{}}
	for _, name := range []string{invocation, grpc, connections, actors, controlPlane} {
		out.runs[name] = measuredRun(t, name)
	}
	return out
}

func TestEveryPublishedFigureIsMeasured(t *testing.T) {
	results := whole(t)
	want := map[string]string{"ms": "1.5", "vCPU": "0.25", "MB": "64", "requests/s": "1000", "": "0"}
	for _, r := range results.rows() {
		expected := want[r.unit]
		switch {
		case strings.HasSuffix(r.scenario, "HA"):
			expected = "-"
		case r.figure == "total CPU":
			expected = "1"
		case r.figure == "total memory":
			expected = "256"
		}
		if r.measured != expected || r.verdict != "Succeeded" || r.perfrun == "" {
			t.Errorf("%+v: want %s", r, expected)
		}
	}
}

func TestHAHasItsOwnFigures(t *testing.T) {
	results := whole(t)
	idle := &results.runs[controlPlane].Status.ControlPlaneResults[0]
	idle.Parts = append(append([]v1alpha1.PartUsage{}, idle.Parts...), idle.Parts[1:]...)
	for _, r := range results.rows() {
		if !strings.HasPrefix(r.scenario, "control plane") {
			continue
		}
		if ha := strings.HasSuffix(r.scenario, "HA"); ha != (r.measured != "-") {
			t.Errorf("%+v", r)
		}
	}
}

func TestBothShapesOfTheControlPlaneInOneTable(t *testing.T) {
	first := whole(t)
	first.started, first.machine = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), "machine A"
	text, err := first.csv()
	if err != nil {
		t.Fatal(err)
	}
	second := whole(t)
	second.started, second.machine = time.Date(2026, 1, 3, 3, 4, 0, 0, time.UTC), "machine B"
	for _, name := range []string{invocation, grpc, connections, actors} {
		delete(second.runs, name)
	}
	idle := &second.runs[controlPlane].Status.ControlPlaneResults[0]
	idle.Parts = append(append([]v1alpha1.PartUsage{}, idle.Parts...), idle.Parts[1:]...)
	if err := second.keep(text); err != nil {
		t.Fatal(err)
	}
	for _, r := range second.rows() {
		at, machine := "2026-01-02 03:04 UTC", "machine A"
		if strings.HasSuffix(r.scenario, "HA") {
			at, machine = "2026-01-03 03:04 UTC", "machine B"
		}
		if r.measured == "-" || r.at != at || r.cluster != machine {
			t.Errorf("%+v", r)
		}
	}
	markdown, err := second.markdown()
	if err != nil || !strings.Contains(string(markdown), "1. 2026-01-02 03:04 UTC on machine A\n2. 2026-01-03 03:04 UTC on machine B\n") {
		t.Errorf("%s, %v", markdown, err)
	}
}

func TestAFailedRunDoesNotHideBehindAnEarlierOne(t *testing.T) {
	text, err := whole(t).csv()
	if err != nil {
		t.Fatal(err)
	}
	results := whole(t)
	results.runs[grpc].Status = v1alpha1.PerfRunStatus{Phase: v1alpha1.PhaseError}
	if err := results.keep(text); err != nil {
		t.Fatal(err)
	}
	for _, r := range results.rows() {
		if strings.HasSuffix(r.scenario, "gRPC") && r.measured != "-" {
			t.Errorf("%+v", r)
		}
	}
	if err := results.keep([]byte("source,scenario\n")); err == nil {
		t.Error("a table with other columns is taken")
	}
}

func TestWhatWasNotRunSaysSo(t *testing.T) {
	results := whole(t)
	delete(results.runs, actors)
	results.runs[grpc].Status = v1alpha1.PerfRunStatus{Phase: v1alpha1.PhaseError}
	for _, r := range results.rows() {
		switch {
		case strings.HasPrefix(r.scenario, "actor") && (r.measured != "-" || r.verdict != "not run"),
			strings.HasSuffix(r.scenario, "gRPC") && (r.measured != "-" || r.verdict != "Error"):
			t.Errorf("%+v", r)
		}
	}
}

func TestCSV(t *testing.T) {
	text, err := whole(t).csv()
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(lines) != 1+len(figures()) || !strings.HasPrefix(strings.Join(lines[0], ","), "source,scenario,figure,unit,published,measured,perfrun,verdict,") {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}
