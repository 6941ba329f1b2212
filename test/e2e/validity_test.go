package e2e

import (
	"context"
	"fmt"
	"io"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/plan"
)

// validity: a run that was not measured under its conditions says so, with the reason and the blocks; one that was is judged.
func validity() {
	It("is Inconclusive when the load tester does not get its CPU", func(ctx SpecContext) {
		starved := func(s *v1alpha1.PerfRunSpec) {
			s.LoadTester = &v1alpha1.LoadTesterSettings{}
			s.LoadTester.Resources = limits(corev1.ResourceCPU, "50m")
		}
		run := perfRun(cluster.newNamespace(ctx), "starved", load(500, 8), starved)
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitPhase(ctx, run, v1alpha1.PhaseInconclusive, preparing+time.Minute)
		own := BeElementOf(v1alpha1.ReasonLoadTesterBusy, v1alpha1.ReasonLoadTesterLate, v1alpha1.ReasonRequestsSkipped)
		Expect(run.Status.Reasons).To(ContainElement(HaveField("Reason", own)))
		Expect(run.Status.InvalidBlocks).To(ContainElement(HaveField("Reason", own)))
		Expect(run.Status.Results).To(HaveLen(1), "the figures are there all the same")
	}, SpecTimeout(4*time.Minute))

	It("is Inconclusive when a container is killed, and says how and in which block", func(ctx SpecContext) {
		fragile := func(s *v1alpha1.PerfRunSpec) { s.Target.Resources = limits(corev1.ResourceMemory, "64Mi") }
		run := perfRun(cluster.newNamespace(ctx), "killed-app", application(stockFortio(), fortioServing...), fragile, blocks(3, 3*time.Second, time.Second))
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitLoad(ctx, run, 1, preparing)
		overfeed(ctx, cluster.newestPod(ctx, run, plan.RoleTarget))

		cluster.awaitPhase(ctx, run, v1alpha1.PhaseInconclusive, 2*time.Minute)
		Expect(conditionOf(run, v1alpha1.ConditionSucceeded)).To(And(
			HaveField("Reason", v1alpha1.ReasonRestarted), HaveField("Message", ContainSubstring("OOMKilled (exit code 137)"))))
		app := usageOf(run, v1alpha1.ArmDapr, v1alpha1.ComponentApp)[0]
		Expect(app.Restarts).To(BeNumerically(">=", 1))
		Expect(app.RestartReason).To(Equal("OOMKilled (exit code 137)"))
		hit := 0
		for _, b := range run.Status.InvalidBlocks {
			if b.Reason == v1alpha1.ReasonRestarted {
				hit++
				Expect(b.Message).To(ContainSubstring("app in pod"))
			}
		}
		Expect(hit).To(And(BeNumerically(">=", 1), BeNumerically("<", 6)), "blocks that the restart falls into; those before are as good as they were: %v", run.Status.InvalidBlocks)
	}, SpecTimeout(5*time.Minute))

	It("sweeps over three points", func(ctx SpecContext) {
		run := perfRun(cluster.newNamespace(ctx), "sweep", load(200, 2, 4, 8), blocks(2, time.Second, time.Second))
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitMeasured(ctx, run, preparing+2*time.Minute)
		Expect(run.Status.Results).To(HaveLen(3))
		for i, connections := range []int32{2, 4, 8} {
			point := run.Status.Results[i]
			Expect(point.Connections).To(Equal(connections))
			for _, arm := range []*v1alpha1.ArmResult{point.Baseline, point.Dapr} {
				Expect(arm.Requests).To(BeNumerically(">=", 195), "two blocks of 1 s, or one where the other was invalid")
				Expect(arm.Latency.P50.Duration).To(BeNumerically(">", 0))
			}
			Expect(point.Added.P50).NotTo(BeNil())
		}
	}, SpecTimeout(5*time.Minute))

}

// thresholds are judged where the conditions held: a machine that does too much besides has none that is missed.
func thresholds() {
	It("is Failed when a threshold is missed", FlakeAttempts(3), func(ctx SpecContext) {
		strict := func(s *v1alpha1.PerfRunSpec) {
			s.Thresholds = &v1alpha1.Thresholds{SidecarMemory: ptr.To(resource.MustParse("1Mi"))}
		}
		run := perfRun(cluster.newNamespace(ctx), "too-large", strict)
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitPhase(ctx, run, v1alpha1.PhaseFailed, preparing+time.Minute)
		Expect(conditionOf(run, v1alpha1.ConditionSucceeded).Reason).To(Equal(v1alpha1.ReasonThresholdMissed))
		Expect(run.Status.Thresholds).To(ConsistOf(HaveField("Outcome", v1alpha1.OutcomeMissed)))
	}, SpecTimeout(4*time.Minute))
}

func limits(name corev1.ResourceName, quantity string) *corev1.ResourceRequirements {
	return &corev1.ResourceRequirements{Limits: corev1.ResourceList{name: resource.MustParse(quantity)}}
}

// overfeed sends Fortio, which keeps all of a body before it sends it back, more than it has memory for.
func overfeed(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	const bytes = 256 << 20
	err := cluster.clientset.CoreV1().RESTClient().Post().Namespace(pod.Namespace).Resource("pods").
		Name(fmt.Sprintf("%s:%d", pod.Name, measure.TargetPort)).SubResource("proxy").Suffix(measure.TargetPath).
		Body(io.LimitReader(zeros{}, bytes)).Do(ctx).Error()
	Expect(err).To(HaveOccurred(), "Fortio took %d bytes", bytes)
}

// zeros has no end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
