package preflight

import (
	"slices"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	tests := []struct {
		name         string
		disk, memory uint64
		building     bool
		want         string // part of the error
	}{
		{"plenty", 100 * gib, 16 * gib, true, ""},
		{"too little disk to build", 10 * gib, 16 * gib, true, "--dir"},
		{"enough to run", 10 * gib, 16 * gib, false, ""},
		{"too little to run", 1 * gib, 16 * gib, false, "1.0 GB free"},
		{"memory", 100 * gib, 4 * gib, false, "4.0 GB of memory"},
		{"nominal memory", 100 * gib, 6*gib - 300<<20, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := judge("/x", tt.disk, tt.memory, tt.building)
			if (err != nil) != (tt.want != "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestMemTotal(t *testing.T) {
	if got := memTotal("MemFree: 1 kB\nMemTotal:       8388608 kB\n"); got != 8*gib {
		t.Errorf("got %d", got)
	}
	if got := memTotal("nothing"); got != 0 {
		t.Errorf("got %d", got)
	}
}

func TestPackagesOf(t *testing.T) {
	got := packagesOf([]need{plugins[0], plugins[1], commands[0]})
	if !slices.Equal(got, []string{"containernetworking-plugins", "iproute2"}) {
		t.Errorf("got %v", got)
	}
}
