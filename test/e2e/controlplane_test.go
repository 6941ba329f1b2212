package e2e

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/report"
)

func controlPlaneScenario() {
	It("measures what pods with sidecars take of the control plane", func(ctx SpecContext) {
		const pods = 3
		namespace := cluster.newNamespace(ctx)
		run := &v1alpha1.PerfRun{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "fleet"},
			Spec: v1alpha1.PerfRunSpec{
				Scenario: v1alpha1.ScenarioControlPlane, Duration: &metav1.Duration{Duration: 6 * time.Second},
				ControlPlane: &v1alpha1.ControlPlaneSettings{Pods: ptr.To[int32](pods)},
			},
		}
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitPhase(ctx, run, v1alpha1.PhaseSucceeded, 3*time.Minute)
		AddReportEntry("the report", func() string {
			var out strings.Builder
			Expect(report.Write(&out, run)).To(Succeed())
			return out.String()
		}())

		steps := run.Status.ControlPlaneResults
		Expect(steps).To(HaveLen(4))
		Expect(steps[2].Pods).To(BeEquivalentTo(pods))
		for _, step := range steps {
			Expect(step.Total.Unread).To(BeZero())
			Expect(step.Total.Pods).To(BeNumerically(">=", len(controlPlane)))
			Expect(vcpu(&step.Total.CPU)).To(BeNumerically(">", 0))
			Expect(vcpu(&step.Total.Memory)).To(BeNumerically(">", 50<<20))
		}
		// Each pod is admitted once, and its sidecar asks for its certificate at least once.
		Expect(amountOf(steps[1], v1alpha1.ComponentInjector, "admission requests")).To(BeNumerically(">=", pods))
		Expect(amountOf(steps[1], v1alpha1.ComponentSentry, "certificate requests")).To(BeNumerically(">=", pods))
		Expect(amountOf(steps[2], v1alpha1.ComponentPlacement, "connected actor hosts")).To(BeEquivalentTo(pods))
		cluster.expectNothingLeft(ctx, namespace, time.Minute)
	}, SpecTimeout(5*time.Minute))
}

// amountOf the work that all pods of a component had in a step.
func amountOf(step v1alpha1.ControlPlaneResult, component v1alpha1.Component, work string) int64 {
	var sum int64
	for _, p := range step.Parts {
		for _, w := range p.Work {
			if p.Component == component && w.Name == work {
				sum += w.Amount
			}
		}
	}
	return sum
}
