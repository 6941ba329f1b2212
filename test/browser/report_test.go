package browser

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/page"
	"perfrun.dev/perfrun/internal/rawdata"
)

// sweep is a run of three points as a cluster has measured it.
func sweep(t *testing.T) (*v1alpha1.PerfRun, *rawdata.Document) {
	t.Helper()
	const at = "../../internal/page/testdata/sweep.json"
	status, err := os.ReadFile(at)
	must(t, err)
	run := &v1alpha1.PerfRun{}
	must(t, json.Unmarshal(status, run))
	file, err := os.ReadFile(at + ".gz")
	must(t, err)
	raw, err := rawdata.Decode(file)
	must(t, err)
	return run, raw
}

func TestReport(t *testing.T) {
	run, raw := sweep(t)
	path := filepath.Join(t.TempDir(), "report.html")
	var content bytes.Buffer
	must(t, page.Write(&content, run, raw, ""))
	must(t, os.WriteFile(path, content.Bytes(), 0o600))
	lookEverywhere(t, "file://"+path, "file://"+path)

	in := tab(t)
	must(t, in.Open("file://"+path))
	if f := inspect(t, in); f.Figures < 15 || f.Long == 0 || f.Headings[0] != "PerfRun "+run.Namespace+"/"+run.Name {
		t.Errorf("%d figures, %d long tables, headings %q", f.Figures, f.Long, f.Headings)
	}
	pdf, err := in.PDF()
	must(t, err)
	if !bytes.HasPrefix(pdf, []byte("%PDF")) || len(pdf) < 20_000 {
		t.Errorf("the page prints as %d bytes", len(pdf))
	}
}

// TestTableByKeyboard: a table opens with the keyboard.
func TestTableByKeyboard(t *testing.T) {
	run, raw := sweep(t)
	path := filepath.Join(t.TempDir(), "report.html")
	var content bytes.Buffer
	must(t, page.Write(&content, run, raw, ""))
	must(t, os.WriteFile(path, content.Bytes(), 0o600))
	in := tab(t)
	must(t, in.Look(light))
	must(t, in.Open("file://"+path))
	evaluate[bool](t, in, `document.querySelector("summary").focus(), true`)
	must(t, in.Keys("\r"))
	if f := inspect(t, in); f.Shown != 1 {
		t.Errorf("%d tables are open", f.Shown)
	}
}
