package loadtester

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"perfrun.dev/perfrun/internal/measure"
)

func TestCallsAreKeptOneByOne(t *testing.T) {
	// Two connections of 10 requests/s each: due at 0 and at 50 ms, and so on. The first one's first call takes 250 ms and fails.
	sched := schedule{qps: 20, threads: 2, calls: 2}
	conns := []*connection{
		{samples: []sample{{took: -int64(250 * time.Millisecond)}, {took: int64(time.Millisecond)}}},
		{samples: []sample{{took: int64(2 * time.Millisecond)}, {took: int64(3 * time.Millisecond)}}},
	}
	// The second call of each is due 2 intervals of 100 ms later, and the first connection's waits for the one before.
	want := &measure.Calls{Due: []int64{0, 50_000, 200_000, 250_000}, Response: []int64{-250_000, 2000, 51_000, 3000}}
	got := calls(sched, conns)
	if d := cmp.Diff(want, got); d != "" || !slices.IsSorted(got.Due) {
		t.Error(d)
	}
}
