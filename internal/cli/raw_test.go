package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/rawdata"
	"perfrun.dev/perfrun/internal/stats"
)

// kept is a file of one pair of blocks, 100 requests of 1 ms each.
func kept(t *testing.T) *rawdata.File {
	t.Helper()
	h := stats.NewHistogram()
	for range 100 {
		h.Record(time.Millisecond)
	}
	histogram, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	report := &measure.Report{Version: measure.Version, RPS: 100}
	for i, arm := range []measure.Arm{measure.Baseline, measure.Dapr} {
		start := time.Date(2026, 1, 2, 3, 4, 5+i, 0, time.UTC)
		report.Blocks = append(report.Blocks, measure.BlockReport{
			Block: measure.Block{Connections: 16, Arm: arm, Duration: time.Second}, Start: start, End: start.Add(time.Second),
			Planned: 100, Succeeded: 100, Response: histogram, Service: histogram, Lag: histogram,
			Timelines: []measure.Timeline{{Step: 1, Requests: []int64{100}, P50: []int64{1000}, P99: []int64{1000}}}})
	}
	file, err := rawdata.Encode(rawdata.Name{Namespace: "test", Name: "invoke"}, report, rawdata.Budget)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// raw runs `kubectl perfrun raw` with these arguments and returns what it prints.
func raw(args ...string) (string, error) {
	cmd := newRoot("test")
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{"raw"}, args...))
	err := cmd.ExecuteContext(context.Background())
	return out.String(), err
}

func TestRawOfAFile(t *testing.T) {
	file := kept(t)
	dir := t.TempDir()
	zipped, plain := filepath.Join(dir, "raw.json.gz"), filepath.Join(dir, "raw.json")
	if err := os.WriteFile(zipped, file.Bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	document, err := raw("--file", zipped, "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plain, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args []string
		want string
	}{
		"percentiles":     {[]string{"--percentile", "50,99.99"}, "Dapr      16           1       100       0       50          1ms"},
		"no such samples": {[]string{"--percentile", "99.99"}, "fewer than 10 samples"},
		"hgrm":            {[]string{"-o", "hgrm", "--arm", "Dapr"}, "Total count    =          100]"},
		"fortio":          {[]string{"-o", "fortio", "--block", "0"}, `"RunType": "HTTP"`},
		"csv":             {[]string{"-o", "csv", "--connections", "16"}, "1,Dapr,16,0,0,2026-01-02T03:04:06.000Z,100,0,1000,1000,\n"},
		"usage":           {[]string{"-o", "csv", "--series", "usage"}, "cpu_seconds"},
		"json":            {[]string{"-o", "json"}, `"format": "perfrun.dev/rawdata"`},
	}
	for name, tc := range tests {
		for _, from := range []string{zipped, plain} {
			got, err := raw(append(tc.args, "--file", from)...)
			if err != nil || !strings.Contains(got, tc.want) {
				t.Errorf("%s from %s: %v, %s", name, filepath.Base(from), err, got)
			}
		}
	}
	if got, err := raw("--file", zipped, "-o", "gzip", "--digest", file.Digest); err != nil || got != string(file.Bytes) {
		t.Errorf("gzip: %v, %d bytes", err, len(got))
	}
}

func TestRawIntoAFolder(t *testing.T) {
	zipped := filepath.Join(t.TempDir(), "raw.json.gz")
	if err := os.WriteFile(zipped, kept(t).Bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	for output, want := range map[string][]string{
		"hgrm":   {"invoke-16-baseline.hgrm", "invoke-16-dapr.hgrm"},
		"fortio": {"invoke-16-baseline.json", "invoke-16-dapr.json"},
		"csv":    {"invoke-requests.csv", "invoke-usage.csv"},
	} {
		dir := filepath.Join(t.TempDir(), "results")
		if out, err := raw("--file", zipped, "-o", output, "--dir", dir); err != nil || !strings.Contains(out, filepath.Join(dir, want[0])) {
			t.Fatal(out, err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s (-want +got): %s", output, diff)
		}
	}
}

func TestRawRefuses(t *testing.T) {
	zipped := filepath.Join(t.TempDir(), "raw.json.gz")
	if err := os.WriteFile(zipped, kept(t).Bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	for says, args := range map[string][]string{
		"whose raw data":               {},
		"not both":                     {"invoke", "--file", zipped},
		"there is no percentile 100.5": {"--file", zipped, "--percentile", "100.5"},
		"there is no percentile NaN":   {"--file", zipped, "--percentile", "NaN"},
		`there is no arm "both"`:       {"--file", zipped, "--arm", "both"},
		`--output "xml" is none of`:    {"--file", zipped, "-o", "xml"},
		`--series "cpu" is none of`:    {"--file", zipped, "--series", "cpu"},
		`--histogram "x" is none of`:   {"--file", zipped, "--histogram", "x"},
		"--digest goes with --file":    {"invoke", "--digest", "sha256:0"},
		"--dir goes with":              {"--file", zipped, "--dir", "."},
		"there is no block 7":          {"--file", zipped, "--block", "7"},
		"Baseline at 16 connections":   {"--file", zipped, "--connections", "8"},
		"2 are selected: choose with":  {"--file", zipped, "-o", "hgrm"},
		"no such file":                 {"--file", zipped + "x"},
		"not those that were recorded": {"--file", zipped, "--digest", "sha256:0"},
		"is no number of connections":  {"--file", zipped, "--connections", "-1"},
	} {
		if out, err := raw(args...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: got %q, %v, want an error that says %q", args, out, err, says)
		}
	}
}

// configMaps is a cluster with nothing else.
type configMaps map[string]*corev1.ConfigMap

func (c configMaps) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found, ok := c[key.Name]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
	}
	found.DeepCopyInto(into.(*corev1.ConfigMap))
	return nil
}

func (c configMaps) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func TestRawOfAPerfRun(t *testing.T) {
	file := kept(t)
	whole := v1alpha1.PerfRunStatus{Phase: v1alpha1.PhaseSucceeded, Raw: &v1alpha1.RawData{ConfigMap: "invoke-raw", Digest: file.Digest}}
	cluster := func(content []byte) configMaps {
		return configMaps{"invoke-raw": {BinaryData: map[string][]byte{rawdata.Key: content}}}
	}
	tests := map[string]struct {
		status  v1alpha1.PerfRunStatus
		cluster configMaps
		says    string
	}{
		"whole":     {whole, cluster(file.Bytes), ""},
		"changed":   {whole, cluster(append([]byte("x"), file.Bytes...)), "not those that were recorded"},
		"emptied":   {whole, cluster(nil), "not those that were recorded"},
		"deleted":   {whole, configMaps{}, "someone has deleted its ConfigMap invoke-raw"},
		"too early": {v1alpha1.PerfRunStatus{Phase: v1alpha1.PhaseMeasuring}, configMaps{}, "its phase is Measuring"},
		"new":       {v1alpha1.PerfRunStatus{}, configMaps{}, "its phase is Queued"},
		"not kept": {v1alpha1.PerfRunStatus{Phase: v1alpha1.PhaseSucceeded, Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionRawData, Status: metav1.ConditionFalse, Message: "exceeded quota"}}}, configMaps{}, "no raw data: exceeded quota"},
	}
	for name, tc := range tests {
		run := &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Namespace: "test", Name: "invoke"}, Status: tc.status}
		got, err := rawFrom(context.Background(), tc.cluster, run)
		switch {
		case tc.says == "" && (err != nil || !bytes.Equal(got, file.Bytes)):
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "PerfRun test/invoke")):
			t.Errorf("%s: got %v, want it to say %q", name, err, tc.says)
		}
	}
}
