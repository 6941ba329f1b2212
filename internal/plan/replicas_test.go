package plan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// shares are the plans of a run with so many load testers.
func shares(t *testing.T, n int, mutate ...func(*v1alpha1.PerfRunSpec)) []*measure.Plan {
	t.Helper()
	r := run(append(mutate, func(s *v1alpha1.PerfRunSpec) {
		s.LoadTester = &v1alpha1.LoadTesterSettings{Replicas: ptr.To(int32(n))}
	})...)
	attempt := v1alpha1.Attempt{ID: AttemptID(0), LoadStartTime: &metav1.Time{Time: start}}
	pods := Pods{Targets: []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "tg"}, Status: corev1.PodStatus{PodIP: "10.0.0.2"}}}}
	for i := range n {
		name := fmt.Sprintf("lt-%d", i)
		attempt.LoadTesters = append(attempt.LoadTesters, v1alpha1.LoadTester{Pod: name, Instance: "instance of " + name})
		pods.LoadTesters = append(pods.LoadTesters, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{PodIP: "10.0.1.1"}})
	}
	if err := Check(r.Spec.EffectiveSettings()); err != nil {
		t.Fatal(err)
	}
	plans := Measurements(r, r.Spec.EffectiveSettings(), attempt, pods)
	for i, p := range plans {
		if err := p.Validate(); err != nil {
			t.Errorf("plan %d: %v", i, err)
		}
	}
	return plans
}

func TestSharesAddUpToTheWhole(t *testing.T) {
	plans := shares(t, 4, func(s *v1alpha1.PerfRunSpec) { s.Connections = []int32{8, 64} })
	var rate float64
	for i, p := range plans {
		rate += p.RPS
		if want := fmt.Sprintf("instance of lt-%d", i); p.Instance != want {
			t.Errorf("plan %d is for the %s", i, p.Instance)
		}
		for j, b := range p.Blocks {
			if want := []int{2, 16}[b.Point]; b.Connections != want {
				t.Errorf("plan %d, block %d: %d connections, want %d", i, j, b.Connections, want)
			}
			if first := plans[0].Blocks[j]; b != first {
				t.Errorf("plan %d, block %d is %+v, that of the first is %+v", i, j, b, first)
			}
		}
		if shared := slices.ContainsFunc(p.Counters, func(c measure.Counter) bool { return c.Pod == "tg" }); shared != (i == 0) || (len(p.TracesURLs) > 0) != shared {
			t.Errorf("plan %d reads the target's counters: %v, traces from %q", i, shared, p.TracesURLs)
		}
		if !slices.ContainsFunc(p.Counters, func(c measure.Counter) bool { return c.Pod == fmt.Sprintf("lt-%d", i) }) {
			t.Errorf("plan %d does not read its own", i)
		}
	}
	if rate != 1000 {
		t.Errorf("together they send %g requests/s", rate)
	}
}

// The n-th request of the whole load is due n/rps after the first, whichever load tester sends it.
func TestSharesAreOneEvenlySpacedSchedule(t *testing.T) {
	const rps, connections = 200, 12
	var beginnings []time.Duration
	for _, p := range shares(t, 3, func(s *v1alpha1.PerfRunSpec) { s.RPS, s.Connections = ptr.To[int32](rps), []int32{connections} }) {
		b := p.Blocks[0]
		// As in package loadtester: connection t of n begins t/n of its interval after the first.
		interval := float64(b.Connections) / p.RPS
		for c := range b.Connections {
			beginnings = append(beginnings, p.Due(b).Sub(start)+seconds(interval*float64(c)/float64(b.Connections)))
		}
	}
	slices.Sort(beginnings)
	for i, got := range beginnings {
		if want := time.Duration(i) * time.Second / rps; (got - want).Abs() > time.Microsecond {
			t.Errorf("connection %d begins at %s, want %s", i, got, want)
		}
	}
	if len(beginnings) != connections {
		t.Errorf("%d connections", len(beginnings))
	}
}

// A clock that is ahead is there before the moment is.
func TestTheStartIsByEachClock(t *testing.T) {
	r := run(func(s *v1alpha1.PerfRunSpec) { s.LoadTester = &v1alpha1.LoadTesterSettings{Replicas: ptr.To[int32](2)} })
	attempt := v1alpha1.Attempt{LoadStartTime: &metav1.Time{Time: start}, LoadTesters: []v1alpha1.LoadTester{
		{ClockOffset: ptr.To(v1alpha1.NewLatency(0))}, {ClockOffset: ptr.To(v1alpha1.NewLatency(2 * time.Second))}}}
	plans := Measurements(r, r.Spec.EffectiveSettings(), attempt, Pods{LoadTesters: []*corev1.Pod{{}, {}}, Targets: []*corev1.Pod{{}}})
	for i, want := range []time.Time{start, start.Add(2 * time.Second)} {
		if got := plans[i].Start; !got.Equal(want) {
			t.Errorf("plan %d starts at %s, want %s", i, got, want)
		}
	}
}

func TestBlocksNeverOverlap(t *testing.T) {
	for name, mutate := range map[string]func(*v1alpha1.PerfRunSpec){
		"defaults":         func(*v1alpha1.PerfRunSpec) {},
		"a slow schedule":  func(s *v1alpha1.PerfRunSpec) { s.RPS, s.Connections = ptr.To[int32](4), []int32{16} },
		"many connections": func(s *v1alpha1.PerfRunSpec) { s.RPS, s.Connections = ptr.To[int32](1000), []int32{4096} },
		"no warm-up":       func(s *v1alpha1.PerfRunSpec) { s.Warmup = &metav1.Duration{} },
	} {
		plans := shares(t, 4, mutate, func(s *v1alpha1.PerfRunSpec) { s.Duration = &metav1.Duration{Duration: 2 * time.Minute} })
		for _, p := range plans {
			for i := 1; i < len(p.Blocks); i++ {
				before := p.Blocks[i-1]
				// The last request of a block is due an interval after the block's whole length at the latest.
				length := seconds(float64(p.PerConnection(before)*int64(before.Connections)) / p.RPS)
				last := p.Due(before).Add(max(before.Duration, length)).Add(seconds(float64(before.Connections-1) / p.RPS / float64(before.Connections)))
				for _, other := range plans {
					if gap := other.Due(p.Blocks[i]).Sub(last); gap < 2*time.Second {
						t.Errorf("%s: %s lie between blocks %d and %d", name, gap, i-1, i)
					}
				}
			}
		}
		settings := v1alpha1.PerfRunSpec{LoadTester: &v1alpha1.LoadTesterSettings{Replicas: ptr.To[int32](4)}, Duration: &metav1.Duration{Duration: 2 * time.Minute}}
		mutate(&settings)
		if got, want := LoadTime(settings.EffectiveSettings()), plans[0].LoadTime(); got != want {
			t.Errorf("%s: %s in all, the plans say %s", name, got, want)
		}
	}
}
