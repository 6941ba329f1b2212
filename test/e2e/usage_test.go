package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// The components, those first that the load drives.
var (
	sidecars = []v1alpha1.Component{v1alpha1.ComponentCallerSidecar, v1alpha1.ComponentTargetSidecar}
	driven   = []v1alpha1.Component{v1alpha1.ComponentCallerSidecar, v1alpha1.ComponentTargetSidecar,
		v1alpha1.ComponentApp, v1alpha1.ComponentLoadTester}
	controlPlane = []v1alpha1.Component{v1alpha1.ComponentOperator, v1alpha1.ComponentSentry, v1alpha1.ComponentInjector,
		v1alpha1.ComponentPlacement, v1alpha1.ComponentScheduler}
)

// usageOf are the entries of one arm, of some components or of all.
func usageOf(run *v1alpha1.PerfRun, arm v1alpha1.Arm, components ...v1alpha1.Component) []v1alpha1.Usage {
	GinkgoHelper()
	var out []v1alpha1.Usage
	found := map[v1alpha1.Component]bool{}
	wanted := map[v1alpha1.Component]bool{}
	for _, c := range components {
		wanted[c] = true
	}
	for _, u := range run.Status.Usage {
		if u.Arm == arm && (len(components) == 0 || wanted[u.Component]) {
			out = append(out, u)
			found[u.Component] = true
		}
	}
	Expect(out).NotTo(BeEmpty(), "no usage of the arm %s", arm)
	for _, c := range components {
		Expect(found).To(HaveKey(c), "the arm %s has no usage of this component", arm)
	}
	return out
}

// crossCheck is the entry's figure from another source; an empty one if there is none.
func crossCheck(u v1alpha1.Usage, source v1alpha1.Source) v1alpha1.CrossCheck {
	for _, c := range u.CrossChecks {
		if c.Source == source {
			return c
		}
	}
	return v1alpha1.CrossCheck{}
}

// expectUsage checks a run that was measured for long enough for metrics-server to have a say.
func expectUsage(run *v1alpha1.PerfRun) {
	GinkgoHelper()
	for _, arm := range []v1alpha1.Arm{v1alpha1.ArmBaseline, v1alpha1.ArmDapr} {
		for _, u := range usageOf(run, arm, append(controlPlane, driven...)...) {
			Expect(u.Note).To(BeEmpty(), "%s in %s", u.Component, u.Pod)
			Expect(u.Source).NotTo(BeEmpty(), "%s", u.Component)
			Expect(u.Memory.Mean.Value()).To(BeNumerically(">", 0), "memory of %s", u.Component)
			Expect(u.Memory.Max.Cmp(u.Memory.Mean)).To(BeNumerically(">=", 0), "memory of %s", u.Component)
			Expect(decimal(u.Coverage)).To(And(BeNumerically(">=", 0.8), BeNumerically("<=", 1)), "coverage of %s in %s", u.Component, arm)
			Expect(u.Node).NotTo(BeEmpty())
		}
	}
	for _, u := range usageOf(run, v1alpha1.ArmDapr, driven...) {
		Expect(vcpu(u.CPU)).To(BeNumerically(">", 0), "CPU of %s", u.Component)
		Expect(vcpu(u.CPUPer1000RPS)).To(BeNumerically(">", 0), "CPU of %s per 1000 requests/s", u.Component)
	}
	expectSidecars(run)
	Expect(run.Status.ControlPlane.Pods).To(BeEquivalentTo(len(usageOf(run, v1alpha1.ArmDapr, controlPlane...))))
	Expect(run.Status.ControlPlane.Unread).To(BeZero())
}

// apart is by how much two sources may differ: what the project promises. Counters over half a minute and more are not the machine's noise.
const apart = 0.1

// expectSidecars compares what three sources say of them.
func expectSidecars(run *v1alpha1.PerfRun) {
	GinkgoHelper()
	idle := map[v1alpha1.Component]float64{}
	for _, u := range usageOf(run, v1alpha1.ArmBaseline, sidecars...) {
		idle[u.Component] = vcpu(u.CPU)
	}
	for _, u := range usageOf(run, v1alpha1.ArmDapr, sidecars...) {
		Expect(idle[u.Component]).To(BeNumerically("<", vcpu(u.CPU)/2), "CPU of %s while the load goes past it", u.Component)
		Expect(u.Source).To(Equal(v1alpha1.SourceProc))
		Expect(u.Limits).To(HaveField("CPU", Not(BeNil())))
		Expect(u.Limits.CPU.String()).To(Equal(v1alpha1.DefaultSidecarCPU))
		own := crossCheck(u, v1alpha1.SourceDaprMetrics)
		Expect(vcpu(own.CPU)/vcpu(own.ComparedCPU)).To(BeNumerically("~", 1, apart), "CPU of %s by its own metrics and by /proc", u.Component)
		server := crossCheck(u, v1alpha1.SourceMetricsServer)
		Expect(server.Windows).To(BeNumerically(">=", 2), "metrics-server's windows of %s: %s", u.Component, server.Note)
		// It dates its windows too early by a time that nobody knows, so /proc has a least and a most for them.
		Expect(vcpu(server.CPU)).To(And(BeNumerically(">", (1-apart)*vcpu(server.ComparedLow)), BeNumerically("<", (1+apart)*vcpu(server.ComparedHigh))),
			"CPU of %s by metrics-server and by /proc", u.Component)
		Expect(server.Memory).To(HaveField("Kind", v1alpha1.MemoryWorkingSet))
	}
}

// vcpu is 0 where there is no figure.
func vcpu(q *resource.Quantity) float64 {
	if q == nil {
		return 0
	}
	return q.AsApproximateFloat64()
}
