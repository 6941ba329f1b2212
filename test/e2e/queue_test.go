package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"perfrun.dev/perfrun/api/v1alpha1"
)

func queue() {
	It("lets runs wait for each other", func(ctx SpecContext) {
		namespace := cluster.newNamespace(ctx)
		// Runs that were created within the same second go by name.
		first, second := perfRun(namespace, "a-first", exclusive), perfRun(namespace, "b-second", exclusive)
		Expect(cluster.Create(ctx, first)).To(Succeed())
		Expect(cluster.Create(ctx, second)).To(Succeed())

		cluster.awaitReason(ctx, second, v1alpha1.ReasonQueued, 10*time.Second)
		Expect(second.Status.Phase).To(Equal(v1alpha1.PhaseQueued))
		Expect(conditionOf(second, v1alpha1.ConditionSucceeded)).To(And(
			HaveField("Status", BeEquivalentTo("Unknown")),
			HaveField("Message", ContainSubstring("waiting for 1 PerfRun(s) created earlier"))))
		Expect(second.Status.QueuePosition).To(BeEquivalentTo(1))
		cluster.awaitPhase(ctx, first, v1alpha1.PhaseMeasuring, preparing)
		cluster.awaitPhase(ctx, second, v1alpha1.PhaseQueued, time.Second)
		Expect(cluster.leftovers(ctx, namespace)).NotTo(ContainElement(ContainSubstring(second.Name)), "a run that is queued has created something")

		Expect(cluster.Delete(ctx, first)).To(Succeed())
		cluster.awaitPhase(ctx, second, v1alpha1.PhasePreparing, 10*time.Second)
	}, SpecTimeout(4*time.Minute))
}
