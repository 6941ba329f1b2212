package plan

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

func severalHosts(n int32) *v1alpha1.PerfRun {
	r := actorsRun()
	r.Spec.Actors = &v1alpha1.ActorsSettings{Replicas: ptr.To(n), StateStore: ptr.To("shared")}
	return r
}

func TestEachOfSeveralHostsIsAwaitedAndMeasured(t *testing.T) {
	r := severalHosts(2)
	host := func(name, ip string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{PodIP: ip}}
	}
	pods := Pods{LoadTesters: []*corev1.Pod{host("lt", "10.0.0.1")}, Targets: []*corev1.Pod{host("tg-a", "10.0.0.2"), host("tg-b", "10.0.0.3")}}
	attempt := v1alpha1.Attempt{ID: AttemptID(0), LoadTesters: []v1alpha1.LoadTester{{Pod: "lt", Instance: "i"}}}
	p := Measurements(r, r.Spec.EffectiveSettings(), attempt, pods)[0]
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Targets {
		if p.Actors.Hosts[pod.Name] == "" || p.TracesURLs[pod.Name] == "" {
			t.Errorf("%s is not awaited, or its calls are not counted: %v, %v", pod.Name, p.Actors.Hosts, p.TracesURLs)
		}
		for _, source := range []measure.Source{measure.SourceRemoteProc, measure.SourcePrometheus} {
			if !slices.ContainsFunc(p.Counters, func(c measure.Counter) bool { return c.Pod == pod.Name && c.Source == source }) {
				t.Errorf("%s is not read by %s", pod.Name, source)
			}
		}
	}
}

func TestSeveralHostsAreReplicasOfTheTarget(t *testing.T) {
	r := severalHosts(3)
	s := r.Spec.EffectiveSettings()
	objects := ObjectsOf(r, s, Operator{Image: "perfrun:1"})
	if n := *objects.Target.Spec.Replicas; n != 3 || objects.StateStore != nil {
		t.Errorf("%d replicas, state store %v", n, objects.StateStore)
	}
	if !LoadTesterFirst(s) || TargetFirst(s) {
		t.Error("hosts that spread over all nodes leave the load tester none")
	}
	r.Spec.Placement = ptr.To(v1alpha1.PlacementAny)
	if LoadTesterFirst(r.Spec.EffectiveSettings()) || LoadTesterFirst(actorsRun().Spec.EffectiveSettings()) {
		t.Error("nobody has to come first")
	}
}
