package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/plan"
)

// preparing is how long pods and sidecars may take on a machine that is busy.
const preparing = 90 * time.Second

func interruptions() {
	It("sends the load once when the manager is killed in the middle", func(ctx SpecContext) {
		run := perfRun(cluster.newNamespace(ctx), "killed-manager", blocks(3, 7*time.Second, 2*time.Second), load(500, 8), kept)
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitLoad(ctx, run, 1, preparing)
		attempt := run.Status.Attempt.DeepCopy()
		killManager(ctx)

		cluster.awaitMeasured(ctx, run, 2*time.Minute)
		attempt.EndTime = run.Status.Attempt.EndTime
		Expect(run.Status.Attempt).To(Equal(attempt), "it is another attempt")
		measured, valid, sent := daprRequests(run)
		Expect(run.Status.Progress).To(And(HaveField("Block", run.Status.Progress.Blocks), HaveField("Percent", int32(100))))
		Expect(run.Status.Results[0].Dapr.Requests).To(Or(Equal(measured), Equal(valid)), "requests of the Dapr arm's blocks")
		Expect(cluster.traces(ctx, run).Traced).To(Equal(sent),
			"requests that reached the target through Dapr, warm-up and priming included; errors by code: %v", run.Status.Results[0].Dapr.ErrorCodes)
	}, SpecTimeout(5*time.Minute))

	It("ends with Error when the load tester is killed", func(ctx SpecContext) {
		run := perfRun(cluster.newNamespace(ctx), "killed-loadtester", blocks(2, 10*time.Second, time.Second))
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitPhase(ctx, run, v1alpha1.PhaseMeasuring, preparing)
		cluster.kill(ctx, cluster.newestPod(ctx, run, plan.RoleLoadTester))

		cluster.awaitPhase(ctx, run, v1alpha1.PhaseError, 30*time.Second)
		Expect(conditionOf(run, v1alpha1.ConditionSucceeded)).To(And(
			HaveField("Status", BeEquivalentTo("False")),
			HaveField("Reason", v1alpha1.ReasonLoadTesterLost),
			HaveField("Message", ContainSubstring("what it had measured is lost"))))
		Expect(run.Status.Results).To(BeEmpty())
		cluster.expectNothingLeft(ctx, run.Namespace, time.Minute)
	}, SpecTimeout(4*time.Minute))

	It("leaves nothing behind when a run is deleted in the middle", func(ctx SpecContext) {
		run := perfRun(cluster.newNamespace(ctx), "deleted", blocks(2, 10*time.Second, time.Second))
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitPhase(ctx, run, v1alpha1.PhaseMeasuring, preparing)
		Expect(cluster.leftovers(ctx, run.Namespace)).NotTo(BeEmpty())
		tester := cluster.newestPod(ctx, run, plan.RoleLoadTester)
		Expect(cluster.Delete(ctx, run)).To(Succeed())
		Eventually(ctx, func() (bool, error) {
			err := cluster.Get(ctx, client.ObjectKeyFromObject(tester), tester)
			return apierrors.IsNotFound(err) || tester.DeletionTimestamp != nil, client.IgnoreNotFound(err)
		}).WithTimeout(15*time.Second).WithPolling(pollEvery).Should(BeTrue(), "the load tester, and the load with it, has not been told to end")
		cluster.expectNothingLeft(ctx, run.Namespace, time.Minute)
	}, SpecTimeout(4*time.Minute))

	It("stops when it is suspended, and starts afresh when it is resumed", func(ctx SpecContext) {
		run := perfRun(cluster.newNamespace(ctx), "suspended", blocks(2, 2*time.Second, time.Second))
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitPhase(ctx, run, v1alpha1.PhaseMeasuring, preparing)
		cluster.setSuspend(ctx, run, true)
		cluster.awaitPhase(ctx, run, v1alpha1.PhaseSuspended, 5*time.Second)
		Expect(conditionOf(run, v1alpha1.ConditionSucceeded).Message).To(ContainSubstring("has stopped attempt 1"))
		cluster.expectNothingLeft(ctx, run.Namespace, time.Minute)

		cluster.setSuspend(ctx, run, false)
		cluster.awaitMeasured(ctx, run, preparing+time.Minute)
		Expect(run.Status.Attempt.ID).To(Equal("attempt-2"))
		measured, valid, _ := daprRequests(run)
		Expect(run.Status.Results[0].Dapr.Requests).To(Or(Equal(measured), Equal(valid)), "requests of the second attempt alone")
	}, SpecTimeout(4*time.Minute))
}

// killManager deletes the manager's pod without grace, and waits until another one is there; it may not lead yet.
func killManager(ctx SpecContext) {
	GinkgoHelper()
	managers := func() []corev1.Pod {
		var pods corev1.PodList
		Expect(cluster.List(ctx, &pods, client.InNamespace(operatorNamespace),
			client.MatchingLabels{"app.kubernetes.io/component": "manager"})).To(Succeed())
		return pods.Items
	}
	killed := managers()
	Expect(killed).NotTo(BeEmpty())
	for i := range killed {
		cluster.kill(ctx, &killed[i])
	}
	Eventually(ctx, managers).WithTimeout(time.Minute).WithPolling(pollEvery).Should(SatisfyAll(
		HaveLen(len(killed)), Not(ContainElement(HaveField("UID", killed[0].UID))),
		HaveEach(HaveField("Status.Phase", corev1.PodRunning))))
}

// daprRequests are the requests of a run's Dapr arm: those that are measured; of them those in valid blocks, which are all that count unless
// too few are left; and all that are sent. Besides, the warm-up's are sent, and before each block one by each load tester that looks at
// the answer and one over each connection (prime in internal/loadtester).
func daprRequests(run *v1alpha1.PerfRun) (measured, valid, sent int64) {
	rate := measure.Plan{RPS: float64(run.Status.Settings.RPS)}
	invalid := map[int]bool{}
	for _, b := range run.Status.InvalidBlocks {
		if b.Arm == v1alpha1.ArmDapr {
			invalid[int(b.Pair)-1] = true
		}
	}
	for _, b := range plan.Blocks(*run.Status.Settings) {
		if b.Arm != measure.Dapr {
			continue
		}
		n := int64(b.Connections) * rate.PerConnection(b)
		sent += n + int64(b.Connections) + int64(run.Status.Settings.LoadTesterReplicas)
		if b.Warmup {
			continue
		}
		measured += n
		if !invalid[b.Pair] {
			valid += n
		}
	}
	return measured, valid, sent
}
