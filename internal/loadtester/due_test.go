package loadtester

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/target"
)

// timedPlan has a warm-up and two blocks of 300 ms, which begin 700 ms apart.
func timedPlan(t *testing.T, start time.Time) *measure.Plan {
	t.Helper()
	plan := planFor(serverOf(t, target.New().Handler()), 100, 2, 300*ms)
	b := plan.Blocks[0]
	warmup, second := b, b
	warmup.Warmup, warmup.Pair, b.At, second.At, second.Pair = true, -1, 700*ms, 1400*ms, 1
	plan.Start, plan.Blocks = start, []measure.Block{warmup, b, second}
	if err := plan.Validate(); err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestBlocksBeginWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	plan := timedPlan(t, time.Now().Add(500*ms))
	plan.Offset = 20 * ms
	report, err := RunPlan(context.Background(), plan, Environment{})
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range report.Blocks {
		if want := plan.Start.Add(time.Duration(720+700*i) * ms); !b.Due.Equal(want) {
			t.Errorf("block %d is due at %s, want %s", i, b.Due, want)
		}
		if late := b.Start.Sub(b.Due); late < 0 || late > 300*ms || b.Succeeded != 30 {
			t.Errorf("block %d begins %s late, %d requests", i, late, b.Succeeded)
		}
	}
}

func TestWhatIsOverdueBeginsAtOnce(t *testing.T) {
	t.Parallel()
	plan := timedPlan(t, time.Now().Add(-time.Minute))
	report, err := RunPlan(context.Background(), plan, Environment{})
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range report.Blocks {
		if late := b.Start.Sub(b.Due); late < 50*time.Second || late > time.Minute+5*time.Second {
			t.Errorf("block %d begins %s late", i, late)
		}
	}
}

func TestTheStartIsTiedToTheMonotonicClock(t *testing.T) {
	now := time.Now()
	plan := &measure.Plan{Start: now.Add(time.Minute).Round(0)}
	got := anchored(plan, now)
	if !got.Start.Equal(plan.Start) || !strings.Contains(got.Start.String(), "m=") || strings.Contains(plan.Start.String(), "m=") {
		t.Errorf("%s is tied to %s", plan.Start, got.Start)
	}
	if whole := anchored(&measure.Plan{}, now); !whole.Start.IsZero() {
		t.Errorf("a plan that begins at once begins at %s", whole.Start)
	}
}

func TestWaitingEndsWithTheAttempt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 100*ms)
	defer cancel()
	began := time.Now()
	if err := until(ctx, began.Add(time.Minute), 0); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

func TestProgressOfATimedPlan(t *testing.T) {
	start := time.Now()
	plan := &measure.Plan{Start: start, Blocks: []measure.Block{{Duration: 10 * time.Second}, {At: 12 * time.Second, Duration: 10 * time.Second}}}
	for _, c := range []struct {
		current    int
		after, now time.Duration
	}{{0, -time.Second, 0}, {0, 11 * time.Second, 11 * time.Second}, {1, 30 * time.Second, 22 * time.Second}, {2, 5 * time.Second, 22 * time.Second}} {
		a := &attempt{plan: plan, current: c.current, state: measure.Running, now: func() time.Time { return start.Add(c.after) }}
		if p := a.progress(); p.Elapsed != c.now || p.LoadTime != 22*time.Second {
			t.Errorf("%s after the start, in block %d: %s of %s", c.after, c.current, p.Elapsed, p.LoadTime)
		}
	}
}
