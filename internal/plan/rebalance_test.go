package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

func rebalancingRun(mutate ...func(*v1alpha1.PerfRunSpec)) *v1alpha1.PerfRun {
	r := actorsRun()
	r.Spec.Actors = &v1alpha1.ActorsSettings{Rebalance: ptr.To(true), StateStore: ptr.To("shared")}
	for _, m := range mutate {
		m(&r.Spec)
	}
	return r
}

func TestAHostJoinsAndLeavesInEachPair(t *testing.T) {
	r := rebalancingRun()
	s := r.Spec.EffectiveSettings()
	if err := Check(s); err != nil {
		t.Fatal(err)
	}
	var changes []string
	for _, b := range Blocks(s) {
		if !b.Warmup && (b.Duration != 30*time.Second || b.Connections != 8) {
			t.Errorf("%+v", b)
		}
		changes = append(changes, b.Change)
	}
	if got := strings.Join(changes, " "); got != " HostAdded HostRemoved HostAdded HostRemoved" {
		t.Errorf("%q", got)
	}
	joining := ObjectsOf(r, s, Operator{Image: "perfrun:1"}).Joining
	if *joining.Spec.Replicas != 0 || joining.Spec.Template.Annotations["dapr.io/app-id"] != NamesOf(r).Target {
		t.Errorf("the host that joins: %d replicas, %v", *joining.Spec.Replicas, joining.Spec.Template.Annotations)
	}
	if joining.Spec.Template.Spec.Affinity.PodAntiAffinity == nil || joining.Spec.Selector.MatchLabels[LabelRole] != RoleJoining {
		t.Error("it must keep away from the load tester, and be none of the target's pods")
	}
	if ObjectsOf(actorsRun(), actorsRun().Spec.EffectiveSettings(), Operator{}).Joining != nil {
		t.Error("no host joins where that was not asked for")
	}
}

func TestRebalancesThatSayNothing(t *testing.T) {
	for says, mutate := range map[string]func(*v1alpha1.PerfRunSpec){
		"at least 10s is needed": func(s *v1alpha1.PerfRunSpec) { s.Pairs = ptr.To[int32](7) },
		"at most 32 are possible": func(s *v1alpha1.PerfRunSpec) {
			s.Pairs, s.Duration = ptr.To[int32](33), &metav1.Duration{Duration: time.Hour}
		},
		"at least 100 are needed":    func(s *v1alpha1.PerfRunSpec) { s.RPS = ptr.To[int32](10) },
		"more than 1000000 requests": func(s *v1alpha1.PerfRunSpec) { s.RPS = ptr.To[int32](20000) },
	} {
		if err := Check(rebalancingRun(mutate).Spec.EffectiveSettings()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
}
