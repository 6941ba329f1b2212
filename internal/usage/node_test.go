package usage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"perfrun.dev/perfrun/internal/measure"
)

func TestReadNode(t *testing.T) {
	root := t.TempDir()
	if got := ReadNode(root); got != nil {
		t.Errorf("got %+v of nothing", got)
	}
	// user nice system idle iowait irq softirq steal guest guest_nice, in hundredths of a second.
	text := "cpu  1000 100 500 8000 200 50 100 50 300 0\ncpu0 1000 100 500 8000 200 50 100 50 300 0\nbtime 1700000000\n"
	if err := os.WriteFile(filepath.Join(root, "stat"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&measure.NodeCPU{Total: 100, Steal: 0.5}, ReadNode(root)); diff != "" {
		t.Error(diff)
	}
}
