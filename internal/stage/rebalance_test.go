package stage

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// joining is a run that rebalances, 1 pair of blocks of 20 s after a warm-up of 5 s, so far into its load, with so many changes recorded, of
// which so many have come about, and a host's Deployment of so many replicas.
func joining(elapsed time.Duration, recorded, done int, replicas int32, pods ...*corev1.Pod) Observation {
	return ready(v1alpha1.PhaseMeasuring, func(o *Observation) {
		second := func(n time.Duration) *metav1.Duration { return &metav1.Duration{Duration: n * time.Second} }
		o.Run.Spec = v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioActors, Duration: second(20), Warmup: second(5), Pairs: ptr.To[int32](1),
			Actors: &v1alpha1.ActorsSettings{Rebalance: ptr.To(true), StateStore: ptr.To("redis")}}
		o.Settings = o.Run.Spec.EffectiveSettings()
		current := 0
		for _, begins := range []time.Duration{5 * time.Second, 25 * time.Second} {
			if elapsed >= begins {
				current++
			}
		}
		o.Testers[0].Progress = &measure.Progress{State: measure.Running, Current: current, Measured: 2, Elapsed: elapsed, LoadTime: 45 * time.Second}
		for i := range recorded {
			r := v1alpha1.Rebalance{Change: []v1alpha1.HostChange{v1alpha1.HostAdded, v1alpha1.HostRemoved}[i%2]}
			if i < done {
				r.DoneTime = &metav1.MicroTime{Time: now}
			}
			o.Run.Status.Rebalances = append(o.Run.Status.Rebalances, r)
		}
		o.Joining = Fleet{Deployment: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &replicas}}, Pods: pods}
	})
}

func TestHostsJoinAndLeave(t *testing.T) {
	starting := pod("j")
	starting.Status.Conditions = nil
	noNode := joining(11*time.Second, 1, 0, 1, unscheduled())
	known := joining(11*time.Second, 1, 0, 1, unscheduled())
	obstacle := notJoining(known)
	known.Run.Status.Rebalances[0].Note = obstacle
	gone := joining(6*time.Second, 0, 0, 0)
	gone.Joining.Deployment = nil
	for _, c := range []struct {
		name   string
		o      Observation
		action Action
		next   Changes
		after  time.Duration
	}{
		{"the warm-up", joining(4*time.Second, 0, 0, 0), Follow, Changes{}, pollMeasuring},
		{"what is normal is measured", joining(8*time.Second, 0, 0, 0), Follow, Changes{}, 2 * time.Second},
		{"a host is to join", joining(10*time.Second, 0, 0, 0), Change, Changes{Begin: true}, 0},
		{"that is recorded", joining(10*time.Second, 1, 0, 0), Scale, Changes{}, 0},
		{"it starts", joining(11*time.Second, 1, 0, 1, starting), Follow, Changes{}, pollChange},
		{"no node takes it", noNode, Change, Changes{Obstacle: obstacle}, 0},
		{"as the status says", known, Follow, Changes{Obstacle: obstacle}, pollChange},
		{"it is ready", joining(14*time.Second, 1, 0, 1, pod("j")), Change, Changes{Done: true}, 0},
		{"that is recorded too", joining(15*time.Second, 1, 1, 1, pod("j")), Follow, Changes{}, pollMeasuring},
		{"the next block has begun", joining(26*time.Second, 1, 1, 1, pod("j")), Follow, Changes{}, 4 * time.Second},
		{"it is to leave", joining(30*time.Second, 1, 1, 1, pod("j")), Change, Changes{Begin: true}, 0},
		{"it leaves", joining(31*time.Second, 2, 1, 0, pod("j")), Follow, Changes{}, pollChange},
		{"it is gone", joining(32*time.Second, 2, 1, 0), Change, Changes{Done: true}, 0},
		{"nothing is left to do", joining(40*time.Second, 2, 2, 0), Follow, Changes{}, pollMeasuring},
		{"a change was missed", joining(26*time.Second, 0, 0, 0), Change, Changes{Begin: true}, 0},
		{"it never became ready, and is to leave", joining(31*time.Second, 1, 0, 1, starting), Change, Changes{Begin: true}, 0},
		{"the Deployment is gone", gone, Stop, Changes{}, 0},
	} {
		d := Decide(c.o)
		if d.Action != c.action {
			t.Errorf("%s: %s (%s), want %s", c.name, d.Action, d.Message, c.action)
		}
		if next, _ := NextChanges(c.o); d.Action != Stop && d.Action != Scale && next != c.next {
			t.Errorf("%s: %+v, want %+v", c.name, next, c.next)
		}
		if c.after > 0 && d.After != c.after {
			t.Errorf("%s: looks again after %s, want %s", c.name, d.After, c.after)
		}
	}
	if !strings.Contains(obstacle, "no node takes pod c") {
		t.Errorf("%q", obstacle)
	}
	leaving := pod("a")
	leaving.DeletionTimestamp = &metav1.Time{Time: now}
	if p := (Fleet{Pods: []*corev1.Pod{leaving, pod("b")}}).ReadyPod(); p == nil || p.Name != "b" {
		t.Errorf("%v is ready", p)
	}
	if n := JoiningHosts(joining(0, 1, 0, 0)); n != 1 {
		t.Errorf("%d hosts after one joined", n)
	}
}
