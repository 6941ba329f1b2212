package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// TestRowsOfTheTable: every row of docs/scale.md is measured, with few runs. What the operator asks the API server for is held, and what memory
// it takes only roughly, since a machine that tests is not one that measures.
func TestRowsOfTheTable(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS names no folder with kube-apiserver and etcd; `make test` finds or builds one")
	}
	ctrl.SetLogger(logr.Discard())
	const runs = 30
	b := &bench{perfrun: filepath.Join(t.TempDir(), "perfrun"), runs: runs, window: 2 * time.Second}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-tags=grpcnotrace", "-o", b.perfrun, "../..").CombinedOutput(); err != nil {
		t.Fatalf("building the operator: %v\n%s", err, out)
	}
	t.Chdir("../..")
	rows, err := b.measure(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	told := table("rows", rows)
	t.Log("\n" + told)

	page, err := os.ReadFile("docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if title := "| " + strings.ReplaceAll(r.step, "30", "1000") + " |"; !strings.Contains(string(page), title) {
			t.Errorf("docs/scale.md has no row %q", title)
		}
		if r.resident < 20<<20 || r.resident > 200<<20 {
			t.Errorf("%s: %s", r.step, mebibytes(r.resident))
		}
		kinds := slices.Collect(maps.Keys(r.calls))
		switch {
		case strings.HasSuffix(r.step, "nothing to do"), strings.HasSuffix(r.step, "restarted"):
			if slices.ContainsFunc(kinds, func(kind string) bool { return kind != "update leases" }) {
				t.Errorf("%s, and yet the operator asks: %v", r.step, r.calls)
			}
		case strings.Contains(r.step, "queued, the first one"), strings.HasSuffix(r.step, "one run preparing"):
			if slices.ContainsFunc(kinds, func(kind string) bool { return strings.HasSuffix(kind, "perfruns") }) {
				t.Errorf("%s: what the cache knows is asked for: %v", r.step, r.calls)
			}
		case strings.Contains(r.step, "created"):
			if n := r.calls["update perfruns/status"]; n < runs || n > 3*runs {
				t.Errorf("%d runs were queued with %d writes of their statuses", runs, n)
			}
		case strings.Contains(r.step, "finish,"):
			// The ten in front are told at once that they have moved up, the others now and then.
			if n := r.calls["update perfruns/status"]; n > 12*runs {
				t.Errorf("the end of %d runs was %d writes of statuses", runs, n)
			}
		}
	}
}
