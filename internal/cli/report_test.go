package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/rawdata"
)

func TestWritePage(t *testing.T) {
	file := kept(t)
	run := &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Namespace: "test", Name: "invoke"}, Status: v1alpha1.PerfRunStatus{
		Phase: v1alpha1.PhaseSucceeded, Results: []v1alpha1.PointResult{{Connections: 16}},
		Raw: &v1alpha1.RawData{ConfigMap: "invoke-raw", Digest: file.Digest}}}
	path := filepath.Join(t.TempDir(), "report.html")
	for name, c := range map[string]struct {
		cluster configMaps
		want    string
	}{
		"with its raw data": {configMaps{"invoke-raw": {BinaryData: map[string][]byte{rawdata.Key: file.Bytes}}}, "Latency by percentile, 16 connections"},
		"without":           {configMaps{}, "someone has deleted its ConfigMap invoke-raw"},
	} {
		var out bytes.Buffer
		if err := writePage(t.Context(), c.cluster, run, path, &out); err != nil {
			t.Fatal(err)
		}
		html, err := os.ReadFile(path)
		if err != nil || strings.TrimSpace(out.String()) != path || !strings.Contains(string(html), c.want) {
			t.Errorf("%s: %v, said %q, and %q is not on the page", name, err, out.String(), c.want)
		}
	}
}
