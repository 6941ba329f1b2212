package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
)

func callActors(settings *v1alpha1.ActorsSettings) change {
	return func(s *v1alpha1.PerfRunSpec) {
		s.Scenario, s.Actors, s.RPS = v1alpha1.ScenarioActors, settings, ptr.To[int32](100)
	}
}

// actors: the sidecars and the placement service are real, and so is what they make of a state store that they cannot use.
func actors() {
	It("activates an actor with each request, and compares that with the host itself", func(ctx SpecContext) {
		run := perfRun(cluster.newNamespace(ctx), "activation", callActors(nil))
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitPhase(ctx, run, v1alpha1.PhaseMeasuring, preparing)
		Expect(components(ctx, run.Namespace)).To(ConsistOf("activation-actors"))
		cluster.awaitMeasured(ctx, run, time.Minute)
		expectCalls(run)
		Expect(run.Status.Settings.PayloadBytes).To(BeEquivalentTo(2), "the body {}")
		Expect(run.Status.Results[0].Baseline.Errors).To(BeZero())
		Expect(run.Status.Results[0].Added.P50).NotTo(BeNil(), "added p50")
		Expect(decimal(run.Status.Environment.Sampling)).To(BeNumerically("~", 0.1, 0.08), "sampling as seen at the host")
		Expect(printedReport(ctx, run)).To(ContainSubstring("a fresh one with each request"))
		cluster.expectNothingLeft(ctx, run.Namespace, 30*time.Second)
		Expect(components(ctx, run.Namespace)).To(BeEmpty())
	}, SpecTimeout(4*time.Minute))

	It("calls warm actors of another's host, once the state store that is named will do", func(ctx SpecContext) {
		run := perfRun(cluster.newNamespace(ctx), "warm", application(operatorImage(ctx), "target", "--actor-type=Counter"),
			callActors(&v1alpha1.ActorsSettings{IDs: ptr.To(intstr.FromInt32(50)), Type: ptr.To("Counter"), StateStore: ptr.To("shared")}))
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitReason(ctx, run, v1alpha1.ReasonStateStoreMissing, noticing)
		Expect(conditionOf(run, v1alpha1.ConditionSucceeded).Message).To(ContainSubstring("there is no Component shared in namespace " + run.Namespace))

		By("making one that is not for actors")
		shared := dapr.NewActorStateStore(run.Namespace, "shared", "warm-target")
		metadata := shared.Object["spec"].(map[string]any)["metadata"]
		Expect(unstructured.SetNestedSlice(shared.Object, []any{}, "spec", "metadata")).To(Succeed())
		Expect(cluster.Create(ctx, shared)).To(Succeed())
		cluster.awaitReason(ctx, run, v1alpha1.ReasonStateStoreUnusable, noticing)
		Expect(conditionOf(run, v1alpha1.ConditionSucceeded).Message).To(ContainSubstring("actorStateStore"))

		By("making it one for actors")
		Expect(unstructured.SetNestedField(shared.Object, metadata, "spec", "metadata")).To(Succeed())
		Expect(cluster.Update(ctx, shared)).To(Succeed())
		cluster.awaitMeasured(ctx, run, preparing+time.Minute)
		expectCalls(run)
		Expect(run.Status.Results[0].Baseline).To(BeNil(), "another's host is not called directly")
		Expect(run.Status.Results[0].Added).To(HaveField("P50", BeNil()))
		Expect(printedReport(ctx, run)).To(And(ContainSubstring("50 warm ones"), ContainSubstring("state store: shared")))
		Expect(components(ctx, run.Namespace)).To(ConsistOf("shared"), "the user's own stays")
	}, SpecTimeout(5*time.Minute))

	It("calls actors on two hosts that share a state store, while a third one joins and leaves", func(ctx SpecContext) {
		run := perfRun(cluster.newNamespace(ctx), "hosts", blocks(1, 16*time.Second, time.Second), callActors(&v1alpha1.ActorsSettings{
			IDs: ptr.To(intstr.FromInt32(200)), Replicas: ptr.To[int32](2), StateStore: ptr.To("shared"), Rebalance: ptr.To(true)}))
		startStore(ctx, run.Namespace, "shared", "hosts-target")
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitMeasured(ctx, run, preparing+2*time.Minute)
		expectBothHosts(run)
		expectRebalances(run)
		printed := printedReport(ctx, run)
		AddReportEntry("kubectl perfrun report "+run.Name, "\n"+printed)
		Expect(printed).To(And(ContainSubstring("2 actor hosts"), ContainSubstring("state store: shared"), ContainSubstring("Rebalancing")))
		Eventually(ctx, func() error {
			return cluster.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: "hosts-joining"}, &appsv1.Deployment{})
		}).WithTimeout(30*time.Second).Should(Satisfy(apierrors.IsNotFound), "the third one's Deployment goes with the others")
	}, SpecTimeout(4*time.Minute))

	It("activates actors of a host made with Dapr's Java SDK", func(ctx SpecContext) {
		run := perfRun(cluster.newNamespace(ctx), "java", callActors(&v1alpha1.ActorsSettings{Host: ptr.To(v1alpha1.ActorHostJava), Method: ptr.To("noOp")}))
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitMeasured(ctx, run, preparing+time.Minute)
		expectCalls(run)
		Expect(run.Status.Results[0].Baseline).To(BeNil(), "an SDK's host is not called directly")
		Expect(printedReport(ctx, run)).To(ContainSubstring("hosted in Java"))
		app := usageOf(run, v1alpha1.ArmDapr, v1alpha1.ComponentApp)[0]
		Expect(app.Limits.Memory.String()).To(Equal("800Mi"))
		Expect(app.Memory.Mean.Value()).To(BeNumerically(">", 60<<20), "a Java virtual machine and Spring, not perfrun's own host")
	}, SpecTimeout(4*time.Minute))

	It("is told which actor type nobody hosts", func(ctx SpecContext) {
		run := perfRun(cluster.newNamespace(ctx), "nobody", application(operatorImage(ctx), "target"), callActors(&v1alpha1.ActorsSettings{Type: ptr.To("Nobody")}))
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitPhase(ctx, run, v1alpha1.PhaseError, preparing+time.Minute)
		Expect(conditionOf(run, v1alpha1.ConditionSucceeded)).To(And(
			HaveField("Reason", v1alpha1.ReasonActorHostMissing),
			HaveField("Message", And(ContainSubstring("nobody hosts actor type Nobody"), ContainSubstring("/dapr/config")))))
	}, SpecTimeout(4*time.Minute))
}

// expectBothHosts checks that both hosts were called and measured, away from the load tester.
func expectBothHosts(run *v1alpha1.PerfRun) {
	GinkgoHelper()
	Expect(run.Status.ActorHosts).To(HaveLen(2))
	var calls int64
	for _, host := range run.Status.ActorHosts {
		Expect(host.Calls).To(HaveValue(BeNumerically(">", 0)), "calls of %s", host.Pod)
		Expect(host.Node).NotTo(Equal(run.Status.Environment.Nodes.LoadTester))
		calls += *host.Calls
	}
	Expect(calls).To(BeNumerically("<=", run.Status.Results[0].Dapr.Requests+64))
	for _, component := range []v1alpha1.Component{v1alpha1.ComponentApp, v1alpha1.ComponentTargetSidecar} {
		entries := usageOf(run, v1alpha1.ArmDapr, component)
		Expect(entries).To(HaveLen(2), "%s of each host", component)
		for _, u := range entries {
			Expect(vcpu(u.CPU)).To(BeNumerically(">", 0), "CPU of %s in %s", component, u.Pod)
		}
	}
}

// expectRebalances checks that a host joined and left under load, and that what this did was recorded. Whether calls fail is Dapr's affair.
func expectRebalances(run *v1alpha1.PerfRun) {
	GinkgoHelper()
	Expect(run.Status.Rebalances).To(HaveExactElements(HaveField("Change", v1alpha1.HostAdded), HaveField("Change", v1alpha1.HostRemoved)))
	for _, r := range run.Status.Rebalances {
		Expect(r.Note).To(BeEmpty())
		Expect(r.Host).To(HavePrefix("hosts-joining-"))
		Expect(r.DoneTime.Sub(r.Time.Time)).To(And(BeNumerically(">", 100*time.Millisecond), BeNumerically("<", 12*time.Second)))
		// 100 requests/s in the three quarters of a block of 16 s; fewer where the operator was late to make the change, or the path.
		Expect(r.Calls).To(And(BeNumerically(">", 300), BeNumerically("<=", 1260)))
		// Which of the two is longer is the machine's affair too, where others measure beside.
		Expect(r.Normal.Duration).To(BeNumerically(">", 0))
		Expect(r.LongestStall.Duration).To(BeNumerically(">=", 10*time.Millisecond), "two calls are 10 ms apart")
		Expect(r.SlowestCall.Duration).To(BeNumerically(">", 0))
	}
}

// expectCalls checks the Dapr arm of a run in which no call fails.
func expectCalls(run *v1alpha1.PerfRun) {
	GinkgoHelper()
	arm := run.Status.Results[0].Dapr
	measured, valid, _ := daprRequests(run)
	Expect(arm).To(And(HaveField("Requests", Or(Equal(measured), Equal(valid))), HaveField("Errors", BeZero())))
	Expect(arm.Latency.P50.Duration).To(BeNumerically(">", 0))
	for _, u := range usageOf(run, v1alpha1.ArmDapr, append(controlPlane, driven...)...) {
		Expect(u.CPU).NotTo(BeNil(), "%s has no CPU: %s", u.Component, u.Note)
		Expect(u.Restarts).To(BeZero(), "restarts of %s", u.Component)
	}
}

// components of Dapr in a namespace, by name.
func components(ctx context.Context, namespace string) []string {
	GinkgoHelper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(dapr.ComponentGVK.GroupVersion().WithKind(dapr.ComponentGVK.Kind + "List"))
	Expect(cluster.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	var names []string
	for _, c := range list.Items {
		names = append(names, c.GetName())
	}
	return names
}

// operatorImage is perfrun's own image, as the cluster knows it.
func operatorImage(ctx context.Context) string {
	GinkgoHelper()
	var operator appsv1.Deployment
	Expect(cluster.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorDeployment}, &operator)).To(Succeed())
	return operator.Spec.Template.Spec.Containers[0].Image
}
