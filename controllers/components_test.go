package controllers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/plan"
	"perfrun.dev/perfrun/internal/results"
	"perfrun.dev/perfrun/internal/stage"
)

// nativePod has its sidecar among the init containers, which was restarted so often.
func nativePod(name, container string, restarts int32) *corev1.Pod {
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{NodeName: "node-of-" + name, Containers: []corev1.Container{{Name: container}},
			InitContainers: []corev1.Container{{Name: dapr.SidecarContainer}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: container}},
			InitContainerStatuses: []corev1.ContainerStatus{{Name: dapr.SidecarContainer, RestartCount: restarts, LastTerminationState: ended}}},
	}
}

// While the load runs, one load tester's latest blocks are there to be looked at; afterwards the results are.
func TestProgressShowsTheLatestBlocks(t *testing.T) {
	us := int64(1446)
	at := func(state measure.State, testers int) []v1alpha1.BlockLatency {
		p := &measure.Progress{State: state, MeasuredDone: 1, Measured: 12, LoadTime: time.Minute, Latest: []measure.BlockLatency{{Arm: measure.Dapr, Connections: 16, P50: &us}}}
		o := stage.Observation{Run: &v1alpha1.PerfRun{}, Settings: (&v1alpha1.PerfRunSpec{}).EffectiveSettings(), Now: time.Now()}
		for range testers {
			o.Testers = append(o.Testers, stage.Tester{Progress: p})
		}
		return progress(o).Latest
	}
	p50 := v1alpha1.NewLatency(1446 * time.Microsecond)
	if diff := cmp.Diff([]v1alpha1.BlockLatency{{Arm: v1alpha1.ArmDapr, Connections: 16, P50: &p50}}, at(measure.Running, 1)); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
	if done, several := at(measure.Done, 1), at(measure.Running, 2); done != nil || several != nil {
		t.Errorf("at the end: %v; of two load testers: %v", done, several)
	}
}

func TestRestartsAreThoseSinceTheAttemptBegan(t *testing.T) {
	tester, target := nativePod("lt", plan.RoleLoadTester, 2), nativePod("tg", plan.RoleTarget, 3)
	status := v1alpha1.PerfRunStatus{
		Attempt:     &v1alpha1.Attempt{LoadTesters: []v1alpha1.LoadTester{{Pod: "lt"}}, Target: "tg", Restarts: map[string]int32{"lt/daprd": 2, "tg/daprd": 1}},
		Environment: &v1alpha1.Environment{Nodes: &v1alpha1.Nodes{LoadTester: "node-of-lt", Target: "node-of-tg"}},
	}
	caller := results.Component{Component: v1alpha1.ComponentCallerSidecar, Pod: "lt", Node: "node-of-lt"}
	app := results.Component{Component: v1alpha1.ComponentApp, Pod: "tg", Node: "node-of-tg"}
	loadTester := results.Component{Component: v1alpha1.ComponentLoadTester, Pod: "lt", Node: "node-of-lt"}
	sidecar := results.Component{Component: v1alpha1.ComponentTargetSidecar, Pod: "tg", Node: "node-of-tg"}
	restarted := sidecar
	restarted.Restarts, restarted.RestartReason = 2, "OOMKilled (exit code 137)"
	for name, c := range map[string]struct {
		target   *corev1.Pod
		replaced bool
		sidecar  results.Component
	}{
		"the same pod":             {target, false, restarted},
		"another, as if the old":   {nativePod("tg2", plan.RoleTarget, 1), true, sidecar},
		"none, as if it was there": {nil, true, sidecar},
	} {
		t.Run(name, func(t *testing.T) {
			o := stage.Observation{Run: &v1alpha1.PerfRun{}, LoadTester: stage.Workload{Pods: []*corev1.Pod{tester}}}
			if c.target != nil {
				o.Target.Pods = []*corev1.Pod{c.target}
			}
			in := resultsInput(o, &measure.Report{}, status)
			if d := cmp.Diff([]results.Component{caller, c.sidecar, app, loadTester}, in.Components); d != "" || (len(in.Replaced) > 0) != c.replaced {
				t.Errorf("replaced %v, components %s", in.Replaced, d)
			}
		})
	}
}
