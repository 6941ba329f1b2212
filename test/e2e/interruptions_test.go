package e2e

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/plan"
)

// preparing is how long pods and sidecars may take on a machine that is busy.
const preparing = 90 * time.Second

func interruptions() {
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

// clusterFails: what a run survives, and what not, when the operator or a node goes.
func clusterFails() {
	It("sends the load once when the leader of two managers is killed in the middle", func(ctx SpecContext) {
		scaleManager(ctx, 2)
		run := perfRun(cluster.newNamespace(ctx), "killed-manager", blocks(3, 4*time.Second, time.Second), kept)
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitLoad(ctx, run, 1, preparing)
		attempt := run.Status.Attempt.DeepCopy()
		killLeader(ctx)

		cluster.awaitMeasured(ctx, run, 2*time.Minute)
		attempt.EndTime = run.Status.Attempt.EndTime
		Expect(run.Status.Attempt).To(Equal(attempt), "it is another attempt")
		measured, valid, sent := daprRequests(run)
		Expect(run.Status.Progress).To(And(HaveField("Block", run.Status.Progress.Blocks), HaveField("Percent", int32(100))))
		Expect(run.Status.Results[0].Dapr.Requests).To(Or(Equal(measured), Equal(valid)), "requests of the Dapr arm's blocks")
		Expect(cluster.traces(ctx, run).Traced).To(Equal(sent),
			"requests that reached the target through Dapr, warm-up and priming included; errors by code: %v", run.Status.Results[0].Dapr.ErrorCodes)
	}, SpecTimeout(5*time.Minute))

	It("says so when the target's node is drained", func(ctx SpecContext) {
		run := perfRun(cluster.newNamespace(ctx), "drained", blocks(3, 3*time.Second, time.Second))
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitPhase(ctx, run, v1alpha1.PhaseMeasuring, preparing)
		target := cluster.newestPod(ctx, run, plan.RoleTarget)
		DeferCleanup(uncordonAll, NodeTimeout(time.Minute))
		node := &corev1.Node{}
		Expect(cluster.Get(ctx, client.ObjectKey{Name: target.Spec.NodeName}, node)).To(Succeed())
		cordon(ctx, node)
		Expect(cluster.clientset.PolicyV1().Evictions(run.Namespace).Evict(ctx,
			&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: target.Name}})).To(Succeed())

		// No other node takes the target, so that the load soon finds nobody.
		cluster.awaitPhase(ctx, run, v1alpha1.PhaseError, time.Minute)
		Expect(conditionOf(run, v1alpha1.ConditionSucceeded)).To(And(
			HaveField("Reason", v1alpha1.ReasonPathNotWorking),
			HaveField("Message", ContainSubstring("the target's pod "+target.Name+" went away"))))
		cluster.expectNothingLeft(ctx, run.Namespace, time.Minute)
	}, SpecTimeout(4*time.Minute))
}

// scaleManager waits until so many managers are ready; afterwards there is one again.
func scaleManager(ctx SpecContext, replicas int32) {
	GinkgoHelper()
	managers := &awayDeployment{Namespace: operatorNamespace, Name: operatorDeployment}
	managers.replicas = ptr.Deref(managers.get(ctx).Spec.Replicas, 1)
	DeferCleanup(managers.restore, NodeTimeout(2*time.Minute))
	(&awayDeployment{Namespace: operatorNamespace, Name: operatorDeployment, replicas: replicas}).restore(ctx)
}

// killLeader deletes the pod of the manager that works, without grace: its lease is not released, and another manager takes over when that
// has run out.
func killLeader(ctx SpecContext) {
	GinkgoHelper()
	lease := &coordinationv1.Lease{}
	Expect(cluster.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: leaderLease}, lease)).To(Succeed())
	// The holder is POD_UUID.
	name, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
	leader := &corev1.Pod{}
	Expect(cluster.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: name}, leader)).To(Succeed(), "nobody leads")
	cluster.kill(ctx, leader)
	Eventually(ctx, func() (string, error) {
		err := cluster.Get(ctx, client.ObjectKeyFromObject(lease), lease)
		return ptr.Deref(lease.Spec.HolderIdentity, ""), err
	}).WithTimeout(time.Minute).WithPolling(pollEvery).ShouldNot(HavePrefix(name), "no other manager leads")
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
