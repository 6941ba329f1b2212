package usage

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"perfrun.dev/perfrun/internal/measure"
)

func TestReadThrottling(t *testing.T) {
	want := &measure.Throttling{Periods: 120, Throttled: 30, Time: 1500 * time.Millisecond}
	for name, tc := range map[string]struct {
		file, text string
		want       *measure.Throttling
	}{
		"v1":                    {"sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 120\nnr_throttled 30\nthrottled_time 1500000000\n", want},
		"v1, one controller":    {"sys/fs/cgroup/cpu/cpu.stat", "nr_periods 120\nnr_throttled 30\nthrottled_time 1500000000\nwait_sum 12\n", want},
		"v2":                    {"sys/fs/cgroup/cpu.stat", "usage_usec 99\nnr_periods 120\nnr_throttled 30\nthrottled_usec 1500000\nnr_bursts 0\n", want},
		"v2 without controller": {"sys/fs/cgroup/cpu.stat", "usage_usec 99\nuser_usec 50\nsystem_usec 49\n", nil},
		"rubbish":               {"sys/fs/cgroup/cpu.stat", "nr_periods many\nnr_throttled\n", nil},
		"no such file":          {"sys/fs/cgroup/memory.stat", "nr_periods 1\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			proc := t.TempDir()
			path := filepath.Join(proc, "7", "root", tc.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, readThrottling(proc, 7)); d != "" {
				t.Error(d)
			}
		})
	}
}
