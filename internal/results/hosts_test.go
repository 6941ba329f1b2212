package results

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

func withHosts(in *Input) {
	spec := v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioActors, RPS: ptr.To[int32](100), Connections: []int32{4},
		Actors: &v1alpha1.ActorsSettings{Replicas: ptr.To[int32](2), StateStore: ptr.To("shared")}}
	in.Settings = spec.EffectiveSettings()
	in.Components = append(in.Components,
		Component{Component: v1alpha1.ComponentApp, Pod: "tg", Node: "n2"}, Component{Component: v1alpha1.ComponentApp, Pod: "tg-2", Node: "n3"})
	in.Nodes.Targets = []string{"n2", "n3"}
	in.Report.Observed.TracedBy = map[string]int64{"tg": 3500}
}

func TestCallsOfSeveralHosts(t *testing.T) {
	out := build(t, synthetic(t, withHosts))
	want := []v1alpha1.HostCalls{{Pod: "tg", Node: "n2", Calls: ptr.To[int64](3500)}, {Pod: "tg-2", Node: "n3"}}
	if d := cmp.Diff(want, out.ActorHosts); d != "" {
		t.Error(d)
	}
	if out := build(t, synthetic(t)); out.ActorHosts != nil {
		t.Errorf("one host: %v", out.ActorHosts)
	}
}

func TestNoHostMayBeWhereTheLoadTesterIs(t *testing.T) {
	out := build(t, synthetic(t, withHosts, func(in *Input) { in.Nodes.LoadTester = "n3" }))
	if out.Reason != v1alpha1.ReasonWrongNodes {
		t.Errorf("%s: %s", out.Reason, out.Message)
	}
}
