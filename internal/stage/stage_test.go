package stage

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/plan"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// ready is an observation of a run in a phase, with nothing in the way.
func ready(phase v1alpha1.Phase, mutate ...func(*Observation)) Observation {
	started := metav1.NewTime(now.Add(-10 * time.Second))
	run := &v1alpha1.PerfRun{Spec: v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioInvocation}}
	run.Status = v1alpha1.PerfRunStatus{Phase: phase, StartTime: &started}
	if phase == v1alpha1.PhaseMeasuring || phase == v1alpha1.PhaseCollecting {
		run.Status.Attempt = &v1alpha1.Attempt{ID: "a", LoadTesters: []v1alpha1.LoadTester{{Pod: "lt", Instance: "i1"}}, Target: "tg", StartTime: started}
	}
	o := Observation{
		Now: now, Run: run, Settings: run.Spec.EffectiveSettings(), PrepareTimeout: time.Minute,
		Dapr: dapr.Installation{CRDs: true, Namespace: "dapr-system", ControlPlane: []corev1.Pod{
			{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "dapr-sidecar-injector"}}, Status: corev1.PodStatus{Conditions: readyCondition()}}}},
		LoadTester: Workload{Deployment: &appsv1.Deployment{}, Pods: []*corev1.Pod{pod("lt")}},
		Target:     Workload{Deployment: &appsv1.Deployment{}, Pods: []*corev1.Pod{pod("tg")}},
		Testers:    []Tester{{Info: &measure.Info{Version: measure.Version, Instance: "i1"}}},
	}
	for _, m := range mutate {
		m(&o)
	}
	return o
}

// actors is an observation of a run in scenario Actors whose objects are still missing, in a namespace with these Components.
func actors(stateStore string, components ...dapr.Component) Observation {
	return ready(v1alpha1.PhasePreparing, func(o *Observation) {
		o.Run.Namespace, o.Run.Name = "bench", "invoke"
		o.Run.Spec.Scenario = v1alpha1.ScenarioActors
		if stateStore != "" {
			o.Run.Spec.Actors = &v1alpha1.ActorsSettings{StateStore: &stateStore}
		}
		o.Settings, o.Components, o.Missing = o.Run.Spec.EffectiveSettings(), components, []string{"Service x"}
	})
}

// hosts is the same with so many actor hosts and a Component called memory.
func hosts(n int32, component dapr.Component) Observation {
	o := actors("memory", component)
	o.Run.Spec.Actors.Replicas = &n
	o.Settings = o.Run.Spec.EffectiveSettings()
	return o
}

func readyCondition() []corev1.PodCondition {
	return []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "bench"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}, {Name: dapr.SidecarContainer}}},
		Status:     corev1.PodStatus{Conditions: readyCondition()},
	}
}

// fleet is an observation of a run in scenario ControlPlane, so long after the last of its readings.
func fleet(readings int, since time.Duration, replicas int32, pods ...*corev1.Pod) Observation {
	o := ready(v1alpha1.PhaseMeasuring, func(o *Observation) {
		o.Run.Spec = v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioControlPlane, ControlPlane: &v1alpha1.ControlPlaneSettings{Pods: ptr.To[int32](2)}}
		o.Settings, o.LoadTester, o.Target = o.Run.Spec.EffectiveSettings(), Workload{}, Workload{}
		o.Run.Status.Attempt = nil
	})
	o.Fleet.Deployment = &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &replicas}}
	o.Fleet.Pods = pods
	for range readings {
		o.Run.Status.ControlPlaneReadings = append(o.Run.Status.ControlPlaneReadings, v1alpha1.ControlPlaneReading{Time: metav1.NewMicroTime(now.Add(-since))})
	}
	return o
}

// unscheduled is a pod that no node takes.
func unscheduled() *corev1.Pod {
	p := pod("c")
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "too many pods"}}
	return p
}

func TestStepsOfTheControlPlane(t *testing.T) {
	preparingRun := ready(v1alpha1.PhasePreparing, func(o *Observation) {
		o.Run.Spec.Scenario = v1alpha1.ScenarioControlPlane
		o.Settings, o.LoadTester, o.Target, o.Testers = o.Run.Spec.EffectiveSettings(), Workload{}, Workload{}, nil
	})
	gone := fleet(1, 0, 0)
	gone.Fleet.Deployment = nil
	cases := []struct {
		name    string
		o       Observation
		action  Action
		phase   v1alpha1.Phase
		message string
	}{
		{"objects are there", preparingRun, Read, v1alpha1.PhaseMeasuring, "reading"},
		{"Idle goes on", fleet(1, 59*time.Second, 0), None, v1alpha1.PhaseMeasuring, "step Idle"},
		{"Idle is over", fleet(1, time.Minute, 0), Read, v1alpha1.PhaseMeasuring, "step Idle"},
		{"Up begins", fleet(2, 0, 0), Scale, v1alpha1.PhaseMeasuring, "step Up: 0 of 2"},
		{"Up goes on", fleet(2, time.Minute, 2, pod("a"), unscheduled()), None, v1alpha1.PhaseMeasuring, "1 of 2 pods ready"},
		{"Up is over", fleet(2, time.Second, 2, pod("a"), pod("b")), Read, v1alpha1.PhaseMeasuring, "2 of 2"},
		{"Up takes too long", fleet(2, 71*time.Second, 2, pod("a"), unscheduled()), None, v1alpha1.PhaseError, "1 of 2 pods ready after 1m11s: no node takes pod c: too many pods"},
		{"Up makes no pods", fleet(2, 71*time.Second, 2), None, v1alpha1.PhaseError, "waiting for the pods to be created"},
		{"Steady goes on", fleet(3, time.Second, 2, pod("a"), pod("b")), None, v1alpha1.PhaseMeasuring, "step Steady"},
		{"Steady is over", fleet(3, time.Hour, 2, pod("a")), Read, v1alpha1.PhaseMeasuring, "1 of 2"},
		{"Down begins", fleet(4, 0, 2, pod("a"), pod("b")), Scale, v1alpha1.PhaseMeasuring, "step Down"},
		{"Down goes on", fleet(4, 0, 0, pod("a")), None, v1alpha1.PhaseMeasuring, "step Down"},
		{"Down takes too long", fleet(4, time.Hour, 0, pod("a")), None, v1alpha1.PhaseError, "1 pods are not gone 1h0m0s after"},
		{"Down is over", fleet(4, 0, 0), Read, v1alpha1.PhaseMeasuring, "step Down"},
		{"all steps are over", fleet(5, 0, 0), Collect, v1alpha1.PhaseCollecting, "results"},
		{"the Deployment is gone", gone, None, v1alpha1.PhaseError, "gone"},
		{"the readings are gone", fleet(0, 0, 0), None, v1alpha1.PhaseError, "gone"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := Decide(c.o)
			if d.Action != c.action || d.Phase != c.phase || !strings.Contains(d.Message, c.message) {
				t.Errorf("%+v", d)
			}
			if d.After < 0 || d.After == 0 && !d.Phase.Finished() {
				t.Errorf("looks again after %s", d.After)
			}
		})
	}
}

// image is an application of the user's.
func image(o *Observation) {
	o.Run.Spec.Target = &v1alpha1.TargetSettings{Image: ptr.To("example.org/app:1"), Port: ptr.To[int32](5000)}
}

func progressIn(state measure.State) func(*Observation) {
	return func(o *Observation) {
		o.Testers[0].Progress = &measure.Progress{State: state, MeasuredDone: 3, Measured: 12, Elapsed: time.Minute, LoadTime: 2 * time.Minute}
	}
}

func waiting(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func TestDecide(t *testing.T) {
	const (
		queued, preparing     = v1alpha1.PhaseQueued, v1alpha1.PhasePreparing
		measuring, collecting = v1alpha1.PhaseMeasuring, v1alpha1.PhaseCollecting
		failed                = v1alpha1.PhaseError
	)
	cases := []struct {
		name   string
		in     Observation
		action Action
		phase  v1alpha1.Phase
		reason string
		says   string
	}{
		{"a new run starts at once", ready(""), None, preparing, v1alpha1.ReasonPreparing, ""},
		{"a run waits for earlier ones", ready(queued, func(o *Observation) { o.Ahead = 2 }), None, queued, v1alpha1.ReasonQueued, "2 PerfRun(s)"},
		{"an impossible run ends before anything is created", ready("", func(o *Observation) { o.Settings.RPS = 1 }), None, failed, v1alpha1.ReasonInvalidSpec, "spec.rps 1"},

		{"no Dapr", ready(preparing, func(o *Observation) { o.Dapr = dapr.Installation{} }), None, preparing, v1alpha1.ReasonDaprNotInstalled, "install Dapr"},
		{"no injector registered", ready(preparing, func(o *Observation) { o.Dapr.Namespace = "" }), None, preparing, v1alpha1.ReasonInjectorMissing, "MutatingWebhookConfiguration"},
		{"no injector pod", ready(preparing, func(o *Observation) { o.Dapr.ControlPlane = nil; o.Missing = []string{"Service x"} }), None, preparing, v1alpha1.ReasonInjectorMissing, "no ready pod"},
		{"no right to look", ready(preparing, func(o *Observation) { o.Dapr.ControlPlane, o.Dapr.Forbidden = nil, "pods is forbidden" }), None, preparing, v1alpha1.ReasonDaprForbidden, "config/namespaced/dapr"},
		{"a name of someone else", ready(preparing, func(o *Observation) { o.Taken = []string{"Service x"} }), None, preparing, v1alpha1.ReasonNameTaken, "Service x"},
		{"no state store", actors("redis"), None, preparing, v1alpha1.ReasonStateStoreMissing, "no Component redis in namespace bench; create it, or leave spec.actors.stateStore out"},
		{"a Component that keeps no state", actors("redis", dapr.Component{Name: "redis", Type: "bindings.cron"}), None, preparing, v1alpha1.ReasonStateStoreUnusable, "is of type bindings.cron, and no state store"},
		{"a state store without actors", actors("redis", dapr.Component{Name: "redis", Type: "state.redis"}), None, preparing, v1alpha1.ReasonStateStoreUnusable, `lacks actorStateStore with the value "true"`},
		{"the Java host without an image of it", ready("", func(o *Observation) {
			o.Run.Spec.Scenario, o.Run.Spec.Actors = v1alpha1.ScenarioActors, &v1alpha1.ActorsSettings{Host: ptr.To(v1alpha1.ActorHostJava)}
			o.Settings = o.Run.Spec.EffectiveSettings()
		}), None, v1alpha1.PhaseError, v1alpha1.ReasonInvalidSpec, "--actor-host-java-image"},
		{"the Java host with an image of it", ready("", func(o *Observation) {
			o.Run.Spec.Scenario, o.Run.Spec.Actors = v1alpha1.ScenarioActors, &v1alpha1.ActorsSettings{Host: ptr.To(v1alpha1.ActorHostJava)}
			o.Settings, o.JavaHost = o.Run.Spec.EffectiveSettings(), true
		}), None, preparing, v1alpha1.ReasonPreparing, "creating"},
		{"a state store of others", actors("redis", dapr.Component{Name: "redis", Type: "state.redis", HoldsActors: true, Scopes: []string{"a", "b"}}), None, preparing, v1alpha1.ReasonStateStoreUnusable, "for the app ids a, b alone; add invoke-target to its scopes"},
		{"several hosts with a state store that they cannot share", hosts(2, dapr.Component{Name: "memory", Type: dapr.InMemoryStore, HoldsActors: true}), None, preparing, v1alpha1.ReasonStateStoreUnusable, "name one in spec.actors.stateStore that they share"},
		{"several hosts with one that they can share", hosts(2, dapr.Component{Name: "memory", Type: "state.redis", HoldsActors: true}), Create, preparing, v1alpha1.ReasonPreparing, "creating Service x"},
		{"one host with a state store in memory", hosts(1, dapr.Component{Name: "memory", Type: dapr.InMemoryStore, HoldsActors: true}), Create, preparing, v1alpha1.ReasonPreparing, "creating Service x"},
		{"two hosts that wait for the load tester's node", ready(preparing, func(o *Observation) {
			o.Run.Spec.Scenario, o.Run.Spec.Actors = v1alpha1.ScenarioActors, &v1alpha1.ActorsSettings{Replicas: ptr.To[int32](2), StateStore: ptr.To("redis")}
			o.Settings, o.Components = o.Run.Spec.EffectiveSettings(), []dapr.Component{{Name: "redis", Type: "state.redis", HoldsActors: true}}
			o.Target = Workload{}
			o.LoadTester.Pods = []*corev1.Pod{unscheduled()}
		}), None, preparing, v1alpha1.ReasonUnschedulable, "too many pods"},
		{"one of two hosts", ready(preparing, func(o *Observation) {
			o.Run.Spec.Scenario, o.Run.Spec.Actors = v1alpha1.ScenarioActors, &v1alpha1.ActorsSettings{Replicas: ptr.To[int32](2), StateStore: ptr.To("redis")}
			o.Settings, o.Components = o.Run.Spec.EffectiveSettings(), []dapr.Component{{Name: "redis", Type: "state.redis", HoldsActors: true}}
		}), None, preparing, v1alpha1.ReasonPreparing, "waiting for the pods to be created"},
		{"two state stores", actors("redis", dapr.Component{Name: "redis", Type: "state.redis", HoldsActors: true}, dapr.Component{Name: "other", Type: "state.redis", HoldsActors: true}), None, preparing, v1alpha1.ReasonStateStoreUnusable, "Component other keeps the actors of app id invoke-target too"},
		{"another state store beside the run's own", actors("", dapr.Component{Name: "redis", Type: "state.redis", HoldsActors: true}), None, preparing, v1alpha1.ReasonStateStoreUnusable, "name it in spec.actors.stateStore"},
		{"a state store that will do", actors("redis", dapr.Component{Name: "redis", Type: "state.redis", HoldsActors: true, Scopes: []string{"invoke-target"}}), Create, preparing, v1alpha1.ReasonPreparing, "creating Service x"},
		{"state stores that the target does not load", actors("", dapr.Component{Name: "invoke-actors", Type: "state.in-memory", HoldsActors: true},
			dapr.Component{Name: "redis", Type: "state.redis", HoldsActors: true, Scopes: []string{"a"}}, dapr.Component{Name: "plain", Type: "state.redis"}), Create, preparing, v1alpha1.ReasonPreparing, "creating Service x"},
		{"objects are created", ready(preparing, func(o *Observation) { o.Missing = []string{"Service x"} }), Create, preparing, v1alpha1.ReasonPreparing, "creating Service x"},
		{"pods refused", ready(preparing, func(o *Observation) {
			o.Target.Pods = nil
			o.Target.Deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota"}}
		}), None, preparing, v1alpha1.ReasonPodsRefused, "exceeded quota"},
		{"a sidecar refused by Pod Security", ready(preparing, func(o *Observation) {
			o.Target.Pods = nil
			o.Target.Deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue,
				Message: `violates PodSecurity "restricted:latest": unrestricted capabilities (container "daprd" must set securityContext.capabilities.drop=["ALL"])`}}
		}), None, preparing, v1alpha1.ReasonPodsRefused, "sidecarDropALLCapabilities=true"},
		{"a pod refused because of perfrun's own webhook", ready(preparing, func(o *Observation) {
			o.Target.Pods = nil
			o.Target.Deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue,
				Message: `Internal error occurred: failed calling webhook "mtls.perfrun.dev": failed to call webhook: connection refused`}}
		}), None, preparing, v1alpha1.ReasonPodsRefused, "must reach port 9443 of the operator's pods"},
		{"no second node", ready(preparing, func(o *Observation) {
			o.LoadTester.Pod().Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes are available"}}
		}), None, preparing, v1alpha1.ReasonUnschedulable, "two schedulable nodes"},
		{"no sidecar", ready(preparing, func(o *Observation) { o.Target.Pod().Spec.Containers = o.Target.Pod().Spec.Containers[:1] }), None, preparing, v1alpha1.ReasonSidecarNotInjected, "without Dapr's sidecar"},
		{"a native sidecar counts", ready(preparing, func(o *Observation) {
			s := &o.Target.Pod().Spec
			s.InitContainers, s.Containers = s.Containers[1:], s.Containers[:1]
		}), Record, measuring, v1alpha1.ReasonMeasuring, ""},
		{"no image", ready(preparing, func(o *Observation) {
			o.Target.Pod().Status = corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("ImagePullBackOff", "not found")}}
		}), None, preparing, v1alpha1.ReasonImagePull, "not found"},
		{"a crash loop", ready(preparing, func(o *Observation) {
			s := waiting("CrashLoopBackOff", "back-off")
			s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}
			o.Target.Pod().Status = corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{s}}
		}), None, preparing, v1alpha1.ReasonContainerFailing, "OOMKilled, exit code 137"},
		{"containers starting", ready(preparing, func(o *Observation) {
			o.Target.Pod().Status = corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("ContainerCreating", "")}}
		}), None, preparing, v1alpha1.ReasonPreparing, "containers main"},
		{"running but not ready", ready(preparing, func(o *Observation) {
			o.Target.Pod().Status = corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "daprd", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}
		}), None, preparing, v1alpha1.ReasonPodsNotReady, "containers daprd"},
		{"an image of the user's that crashes", ready(preparing, image, func(o *Observation) {
			o.Target.Pod().Status = corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("CreateContainerConfigError", "image will run as root")}}
		}), None, preparing, v1alpha1.ReasonContainerFailing, "numeric user other than root"},
		{"an image of the user's that does not listen", ready(preparing, image, func(o *Observation) {
			o.Target.Pod().Status = corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "target", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}
		}), None, preparing, v1alpha1.ReasonPodsNotReady, "must open port 5000"},
		{"a load tester out of reach", ready(preparing, func(o *Observation) { o.Testers = []Tester{{Err: errors.New("no route")}} }), None, preparing, v1alpha1.ReasonLoadTesterUnreachable, "no route"},
		{"a load tester with another clock", ready(preparing, func(o *Observation) {
			o.Testers = []Tester{{Err: fmt.Errorf("asking: %w; by its clock it is later", measure.ErrUnauthorized)}}
		}), None, preparing, v1alpha1.ReasonLoadTesterUnreachable, "by its clock it is later), by the operator's it is Fri, 02 Jan 2026 03:04:05 UTC: clocks of nodes"},
		{"past the deadline the obstacle is the verdict", ready(preparing, func(o *Observation) {
			o.Run.Status.StartTime = &metav1.Time{Time: now.Add(-2 * time.Minute)}
			o.Dapr.Namespace = ""
		}), None, failed, v1alpha1.ReasonInjectorMissing, "not ready after 1m0s"},
		{"no trace sink yet", ready(preparing, func(o *Observation) { o.Settings.Export = true; o.Sink = Workload{Deployment: &appsv1.Deployment{}} }),
			None, preparing, v1alpha1.ReasonPreparing, "waiting for the pods to be created"},
		{"a trace sink needs no sidecar", ready(preparing, func(o *Observation) {
			sink := pod("sink")
			sink.Labels, sink.Spec.Containers = map[string]string{plan.LabelRole: plan.RoleSink}, sink.Spec.Containers[:1]
			o.Settings.Export, o.Sink = true, Workload{Deployment: &appsv1.Deployment{}, Pods: []*corev1.Pod{sink}}
		}), Record, measuring, v1alpha1.ReasonMeasuring, ""},
		{"the attempt is recorded before any load", ready(preparing), Record, measuring, v1alpha1.ReasonMeasuring, ""},

		{"a recorded attempt that the load tester does not know is started", ready(measuring), Start, measuring, v1alpha1.ReasonMeasuring, ""},
		{"a running one is followed", ready(measuring, progressIn(measure.Running)), Follow, measuring, v1alpha1.ReasonMeasuring, "block 3 of 12"},
		{"a silent load tester is asked again", ready(measuring, func(o *Observation) { o.Testers = []Tester{{Err: errors.New("timeout")}} }), None, measuring, v1alpha1.ReasonMeasuring, "trying again"},
		{"a restarted load tester is never given the load again", ready(measuring, func(o *Observation) { o.Testers[0].Info.Instance = "i2" }), Stop, failed, v1alpha1.ReasonLoadTesterLost, "restarted"},
		{"neither is a new pod", ready(measuring, func(o *Observation) { o.LoadTester.Pod().Name = "lt2" }), Stop, failed, v1alpha1.ReasonLoadTesterLost, "went away"},
		{"or none", ready(measuring, func(o *Observation) { o.LoadTester.Pods = nil }), Stop, failed, v1alpha1.ReasonLoadTesterLost, "went away"},
		{"a lost attempt", ready(measuring, func(o *Observation) { o.Run.Status.Attempt = nil }), None, failed, v1alpha1.ReasonMeasurementFailed, "lost its attempt"},
		{"the wrong mTLS", ready(measuring, progressIn(measure.Failed), func(o *Observation) { o.Testers[0].Progress.Cause = measure.CauseMTLS }), Stop, failed, v1alpha1.ReasonMTLSMismatch, "mutatingwebhookconfiguration perfrun-mtls"},
		{"a dead path", ready(measuring, progressIn(measure.Failed), func(o *Observation) { o.Testers[0].Progress.Cause = measure.CausePath }), Stop, failed, v1alpha1.ReasonPathNotWorking, ""},
		{"an actor type that nobody hosts", ready(measuring, progressIn(measure.Failed), func(o *Observation) { o.Testers[0].Progress.Cause = measure.CauseActorHost }), Stop, failed, v1alpha1.ReasonActorHostMissing, ""},
		{"a measurement that never ends", ready(measuring, progressIn(measure.Running), func(o *Observation) { o.Now = now.Add(24 * time.Hour) }), Stop, failed, v1alpha1.ReasonMeasurementFailed, "no report"},
		{"a dead path to a target that is gone", ready(measuring, progressIn(measure.Failed), func(o *Observation) {
			o.Testers[0].Progress.Cause, o.Target.Pods = measure.CausePath, []*corev1.Pod{pod("tg2")}
		}), Stop, failed, v1alpha1.ReasonPathNotWorking, "the target's pod tg went away"},
		{"a load that ended while the operator was away", ready(measuring, progressIn(measure.Done), func(o *Observation) { o.Now = now.Add(24 * time.Hour) }), None, collecting, v1alpha1.ReasonCollecting, ""},
		{"its report, whenever that was", ready(collecting, progressIn(measure.Done), func(o *Observation) {
			o.Now, o.Run.Status.Attempt.EndTime = now.Add(24*time.Hour), &metav1.Time{Time: now.Add(24*time.Hour - time.Minute)}
		}), Collect, collecting, v1alpha1.ReasonCollecting, ""},
		{"results that do not come", ready(collecting, progressIn(measure.Done), func(o *Observation) {
			o.Run.Status.Attempt.EndTime = &metav1.Time{Time: now.Add(-6 * time.Minute)}
			o.Run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Message: "it is too long"}}
		}), Stop, failed, v1alpha1.ReasonMeasurementFailed, "no results 5m0s after the load had ended: it is too long"},
		{"the load has ended", ready(measuring, progressIn(measure.Done)), None, collecting, v1alpha1.ReasonCollecting, ""},
		{"its report is read", ready(collecting, progressIn(measure.Done)), Collect, collecting, v1alpha1.ReasonCollecting, ""},
		{"the report went with the load tester", ready(collecting, func(o *Observation) { o.LoadTester.Pods = nil }), Stop, failed, v1alpha1.ReasonLoadTesterLost, ""},
		{"collecting never starts a load", ready(collecting), None, collecting, v1alpha1.ReasonCollecting, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := Decide(c.in)
			if d.Action != c.action || d.Phase != c.phase || d.Reason != c.reason {
				t.Errorf("got %q %s %s (%s), want %q %s %s", d.Action, d.Phase, d.Reason, d.Message, c.action, c.phase, c.reason)
			}
			if !strings.Contains(d.Message, c.says) {
				t.Errorf("%q does not say %q", d.Message, c.says)
			}
			if !d.Phase.Finished() && d.Phase != queued && d.After == 0 {
				t.Error("an unfinished run must be looked at again: it would be stuck if no event came")
			}
		})
	}
}

// several is a run with two load testers, of which each has said what is given; nil: it knows of no attempt.
func several(phase v1alpha1.Phase, start *metav1.Time, progress ...*measure.Progress) Observation {
	return ready(phase, func(o *Observation) {
		o.Settings.LoadTesterReplicas = 2
		o.LoadTester.Pods = []*corev1.Pod{pod("lt-1"), pod("lt-2")}
		o.Testers = []Tester{{Info: &measure.Info{Version: measure.Version, Instance: "i1"}}, {Info: &measure.Info{Version: measure.Version, Instance: "i2"}}}
		if o.Run.Status.Attempt != nil {
			o.Run.Status.Attempt.LoadTesters = []v1alpha1.LoadTester{{Pod: "lt-1", Instance: "i1"}, {Pod: "lt-2", Instance: "i2"}}
			o.Run.Status.Attempt.LoadStartTime = start
		}
		for i, p := range progress {
			o.Testers[i].Progress = p
		}
	})
}

func TestSeveralLoadTesters(t *testing.T) {
	const (
		preparing, measuring = v1alpha1.PhasePreparing, v1alpha1.PhaseMeasuring
		collecting, failed   = v1alpha1.PhaseCollecting, v1alpha1.PhaseError
	)
	in := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(d)} }
	state := func(s measure.State, elapsed time.Duration) *measure.Progress {
		return &measure.Progress{State: s, MeasuredDone: int(elapsed / time.Second), Measured: 12, Elapsed: elapsed, LoadTime: time.Minute}
	}
	with := func(o Observation, mutate func(*Observation)) Observation { mutate(&o); return o }
	running := state(measure.Running, 5*time.Second)
	cases := []struct {
		name   string
		in     Observation
		action Action
		phase  v1alpha1.Phase
		says   string
	}{
		{"all must be there", with(several(preparing, nil), func(o *Observation) { o.LoadTester.Pods, o.Testers = o.LoadTester.Pods[:1], o.Testers[:1] }),
			None, preparing, "waiting for the pods"},
		{"all must be ready", with(several(preparing, nil), func(o *Observation) { o.LoadTester.Pods[1].Status = corev1.PodStatus{} }), None, preparing, "lt-2"},
		{"all must answer", with(several(preparing, nil), func(o *Observation) { o.Testers[1] = Tester{Err: errors.New("no route")} }), None, preparing, "lt-2"},
		{"then the attempt is recorded", several(preparing, nil), Record, measuring, ""},
		{"a common start comes first", several(measuring, nil), Schedule, measuring, ""},
		{"then all get their plans", several(measuring, in(4*time.Second)), Start, measuring, ""},
		{"a start that has passed before anyone knew of it is put off", several(measuring, in(-time.Minute)), Schedule, measuring, ""},
		{"so is one that is too near", several(measuring, in(time.Second)), Schedule, measuring, ""},
		{"once one knows it, the start stays", several(measuring, in(-time.Minute), running, nil), Start, measuring, ""},
		{"the progress is that of the last", several(measuring, in(-time.Minute), state(measure.Running, 7*time.Second), running), Follow, measuring, "block 5 of 12"},
		{"one that is done waits for the other", several(measuring, in(-time.Minute), state(measure.Done, time.Minute), running), Follow, measuring, "block 5 of 12"},
		{"a silent one is asked again", with(several(measuring, in(-time.Minute), running), func(o *Observation) { o.Testers[1].Err = errors.New("timeout") }),
			None, measuring, "lt-2"},
		{"one that fails ends all", several(measuring, in(-time.Minute), running, &measure.Progress{State: measure.Failed, Message: "no answer"}), Stop, failed, "no answer"},
		{"even while another is silent", with(several(measuring, in(-time.Minute), nil, &measure.Progress{State: measure.Failed, Message: "no answer"}),
			func(o *Observation) { o.Testers[0] = Tester{Err: errors.New("timeout")} }), Stop, failed, "no answer"},
		{"one that is lost ends all", with(several(measuring, in(-time.Minute), running, running), func(o *Observation) { o.LoadTester.Pods[1] = pod("lt-0") }),
			Stop, failed, "lt-2 went away"},
		{"so does one that restarted", with(several(measuring, in(-time.Minute), running), func(o *Observation) { o.Testers[1].Info.Instance = "i3" }),
			Stop, failed, "lt-2 restarted"},
		{"all are done", several(measuring, in(-time.Minute), state(measure.Done, time.Minute), state(measure.Done, time.Minute)), None, collecting, ""},
		{"all reports are read", several(collecting, in(-time.Minute), state(measure.Done, time.Minute), state(measure.Done, time.Minute)), Collect, collecting, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := Decide(c.in)
			if d.Action != c.action || d.Phase != c.phase || !strings.Contains(d.Message, c.says) {
				t.Errorf("got %q %s (%s), want %q %s saying %q", d.Action, d.Phase, d.Message, c.action, c.phase, c.says)
			}
			if !d.Phase.Finished() && d.After == 0 {
				t.Error("an unfinished run must be looked at again: it would be stuck if no event came")
			}
		})
	}
}

func TestFinishedRunsKeepTheirVerdictAndAreCleanedUp(t *testing.T) {
	cases := []struct {
		phase   v1alpha1.Phase
		cleanup *v1alpha1.Cleanup
		want    Action
	}{
		{v1alpha1.PhaseSucceeded, nil, Cleanup},
		{v1alpha1.PhaseError, nil, Cleanup},
		{v1alpha1.PhaseSucceeded, ptr.To(v1alpha1.CleanupOnSuccess), Cleanup},
		{v1alpha1.PhaseInconclusive, ptr.To(v1alpha1.CleanupOnSuccess), None},
		{v1alpha1.PhaseSucceeded, ptr.To(v1alpha1.CleanupNever), None},
	}
	for _, c := range cases {
		o := ready(c.phase, func(o *Observation) { o.Run.Spec.Cleanup = c.cleanup })
		if d := Decide(o); d.Action != c.want || d.Phase != c.phase {
			t.Errorf("%s with cleanup %v: got %q %s, want %q", c.phase, ptr.Deref(c.cleanup, "unset"), d.Action, d.Phase, c.want)
		}
		o.LoadTester, o.Target = Workload{}, Workload{}
		if d := Decide(o); d.Action != None {
			t.Errorf("%s: nothing is left, got %q", c.phase, d.Action)
		}
	}
}

func TestTheDeadlineLeavesRoomForEveryBlockToRunIntoItsOwn(t *testing.T) {
	s := ready("").Settings
	if got := deadline(s); got < 4*time.Minute || got > 15*time.Minute {
		t.Errorf("deadline for the default run: %s", got)
	}
}
