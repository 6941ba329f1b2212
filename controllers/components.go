package controllers

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/plan"
	"perfrun.dev/perfrun/internal/results"
	"perfrun.dev/perfrun/internal/stage"
)

// measured is one container that is measured, and the component that it is.
type measured struct {
	component    v1alpha1.Component
	pod          *corev1.Pod
	container    string
	controlPlane bool
}

// measuredContainers lists them in the order in which people read them: the sidecars first.
func measuredContainers(o stage.Observation) []measured {
	var out []measured
	add := func(c v1alpha1.Component, pod *corev1.Pod, container string) {
		if pod != nil {
			out = append(out, measured{component: c, pod: pod, container: container})
		}
	}
	for _, pod := range o.LoadTester.Pods {
		add(v1alpha1.ComponentCallerSidecar, pod, dapr.SidecarContainer)
		add(v1alpha1.ComponentLoadTester, pod, plan.RoleLoadTester)
	}
	for _, pod := range o.Target.Pods {
		add(v1alpha1.ComponentTargetSidecar, pod, dapr.SidecarContainer)
		add(v1alpha1.ComponentApp, pod, plan.RoleTarget)
	}
	for i := range o.Dapr.ControlPlane {
		pod := &o.Dapr.ControlPlane[i]
		if part, ok := dapr.PartOf(pod); ok {
			out = append(out, measured{component: v1alpha1.Component(part), pod: pod, container: pod.Spec.Containers[0].Name, controlPlane: true})
		}
	}
	slices.SortStableFunc(out, func(a, b measured) int { return order(a.component) - order(b.component) })
	return out
}

func order(c v1alpha1.Component) int {
	return slices.Index([]v1alpha1.Component{
		v1alpha1.ComponentCallerSidecar, v1alpha1.ComponentTargetSidecar, v1alpha1.ComponentApp, v1alpha1.ComponentLoadTester,
		v1alpha1.ComponentOperator, v1alpha1.ComponentSentry, v1alpha1.ComponentInjector, v1alpha1.ComponentPlacement, v1alpha1.ComponentScheduler,
	}, c)
}

func (m measured) key() string { return m.pod.Name + "/" + m.container }

// status of the container; among the init containers where Dapr's injector makes native sidecars.
func (m measured) status() corev1.ContainerStatus {
	for _, s := range slices.Concat(m.pod.Status.ContainerStatuses, m.pod.Status.InitContainerStatuses) {
		if s.Name == m.container {
			return s
		}
	}
	return corev1.ContainerStatus{}
}

func (m measured) restarts() int32 { return m.status().RestartCount }

// lastEnd is how the container ended before its last restart; empty where the kubelet does not say.
func (m measured) lastEnd() string {
	t := m.status().LastTerminationState.Terminated
	if t == nil {
		return ""
	}
	return fmt.Sprintf("%s (exit code %d)", t.Reason, t.ExitCode)
}

func (m measured) limits() *v1alpha1.Limits {
	for _, c := range slices.Concat(m.pod.Spec.Containers, m.pod.Spec.InitContainers) {
		if c.Name != m.container {
			continue
		}
		var out v1alpha1.Limits
		if q, ok := c.Resources.Limits[corev1.ResourceCPU]; ok {
			out.CPU = &q
		}
		if q, ok := c.Resources.Limits[corev1.ResourceMemory]; ok {
			out.Memory = &q
		}
		if out != (v1alpha1.Limits{}) {
			return &out
		}
	}
	return nil
}

func restartCounts(o stage.Observation) map[string]int32 {
	out := map[string]int32{}
	for _, m := range measuredContainers(o) {
		out[m.key()] = m.restarts()
	}
	return out
}

func environment(o stage.Observation, kubernetes string) *v1alpha1.Environment {
	target := o.Target.Pod()
	return &v1alpha1.Environment{
		Kubernetes: kubernetes,
		Nodes:      nodes(o),
		Images: &v1alpha1.Images{
			Perfrun: imageOf(target, plan.ContainerMeter), Target: imageOf(target, plan.RoleTarget),
			Sidecar: imageOf(target, dapr.SidecarContainer)},
	}
}

// imageOf one of a pod's containers; empty if it has none of this name.
func imageOf(pod *corev1.Pod, container string) string {
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		if c.Name == container {
			return c.Image
		}
	}
	return ""
}

func nodes(o stage.Observation) *v1alpha1.Nodes {
	out := &v1alpha1.Nodes{LoadTester: o.LoadTester.Pod().Spec.NodeName, Target: o.Target.Pod().Spec.NodeName}
	node := func(pod *corev1.Pod) string { return pod.Spec.NodeName }
	out.LoadTesters, out.Targets = several(o.LoadTester, node), several(o.Target, node)
	return out
}

// several is something of each pod of a workload that has more than one; nil of others.
func several(w stage.Workload, of func(*corev1.Pod) string) []string {
	if len(w.Pods) < 2 {
		return nil
	}
	var out []string
	for _, pod := range w.Pods {
		out = append(out, of(pod))
	}
	return out
}

// resultsInput is all that the results are made from.
func resultsInput(o stage.Observation, report *measure.Report, status v1alpha1.PerfRunStatus) results.Input {
	in := results.Input{Settings: o.Settings, Thresholds: o.Run.Spec.Thresholds, Report: report, SharedWith: sharedWith(&status)}
	attempt := status.Attempt
	in.Rebalances = status.Rebalances
	in.ClockOffset = ptr.Deref(attempt.LoadTesters[0].ClockOffset, v1alpha1.Latency{}).Duration
	found := o.Target.Pods
	o.Target.Pods = nil
	for n, name := range attempt.Hosts() {
		i := slices.IndexFunc(found, func(pod *corev1.Pod) bool { return pod.Name == name })
		if i >= 0 {
			o.Target.Pods = append(o.Target.Pods, found[i])
			continue
		}
		in.Replaced = append(in.Replaced, name)
		o.Target.Pods = append(o.Target.Pods, gone(o.Run.Namespace, name, n, status.Environment))
	}
	for _, m := range measuredContainers(o) {
		c := results.Component{Component: m.component, Pod: m.pod.Name, Node: m.pod.Spec.NodeName, ControlPlane: m.controlPlane, Limits: m.limits()}
		if c.Restarts = max(0, m.restarts()-attempt.Restarts[m.key()]); c.Restarts > 0 {
			c.RestartReason = m.lastEnd()
		}
		in.Components = append(in.Components, c)
	}
	if status.Environment != nil && status.Environment.Nodes != nil {
		in.Nodes = *status.Environment.Nodes
	}
	in.ForeignTarget = !o.Run.Spec.OwnApplication()
	for _, c := range status.Conditions {
		if c.Type == v1alpha1.ConditionMetricsServer && c.Reason == v1alpha1.ReasonMetricsServerMissing {
			in.MetricsServer = c.Message
		}
	}
	return in
}

// gone stands for a pod that is no longer there: what was read of it still counts.
func gone(namespace, name string, index int, environment *v1alpha1.Environment) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if environment != nil && environment.Nodes != nil {
		if nodes := environment.Nodes.OfTargets(); index < len(nodes) {
			pod.Spec.NodeName = nodes[index]
		}
	}
	return pod
}

// activity says in words what the load tester is doing.
func activity(o stage.Observation, current int) string {
	blocks := plan.Blocks(o.Settings)
	if current < 0 || current >= len(blocks) {
		return ""
	}
	b := blocks[current]
	connections := fmt.Sprintf("%d connections", b.Connections)
	if n := o.Settings.LoadTesterReplicas; n > 1 {
		connections += fmt.Sprintf(" of %d load testers", n)
	}
	if b.Warmup {
		return fmt.Sprintf("warming up %s, %s", b.Arm, connections)
	}
	return fmt.Sprintf("%s, %s, pair %d of %d", b.Arm, connections, b.Pair+1, o.Settings.Pairs)
}
