package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
)

// noticing is how long the operator may take to say what it waits for.
const noticing = 15 * time.Second

// obstacles: a cluster that lacks something is told so, and what to do; where it is put right in time, the run goes on by itself.
func obstacles() {
	It("waits for a second node where two are asked for", func(ctx SpecContext) {
		cordonAllButOne(ctx)
		run := perfRun(cluster.newNamespace(ctx), "one-node")
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitReason(ctx, run, v1alpha1.ReasonUnschedulable, noticing)
		Expect(conditionOf(run, v1alpha1.ConditionSucceeded).Message).To(And(
			ContainSubstring("need two schedulable nodes"), ContainSubstring("spec.placement")))
		uncordonAll(ctx)
		cluster.awaitPhase(ctx, run, v1alpha1.PhaseMeasuring, preparing)
		Expect(run.Status.Environment.Nodes.LoadTester).NotTo(Equal(run.Status.Environment.Nodes.Target))
	}, SpecTimeout(4*time.Minute))

	It("waits for Dapr's sidecar injector", func(ctx SpecContext) {
		injector := awayDeployment{Namespace: cluster.daprNamespace(ctx), Name: dapr.InjectorWebhook}
		injector.scaleToZero(ctx, injector.restore)
		run := perfRun(cluster.newNamespace(ctx), "no-injector")
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitReason(ctx, run, v1alpha1.ReasonInjectorMissing, noticing)
		Expect(conditionOf(run, v1alpha1.ConditionSucceeded).Message).To(ContainSubstring("no ready pod in namespace " + injector.Namespace))
		Consistently(ctx, func() ([]string, error) { return cluster.leftovers(ctx, run.Namespace) }).
			WithTimeout(3*time.Second).WithPolling(pollEvery).Should(BeEmpty(), "something was created, though it would have no sidecar")
		injector.restore(ctx)
		cluster.awaitPhase(ctx, run, v1alpha1.PhaseMeasuring, preparing)
	}, SpecTimeout(5*time.Minute))

	It("measures without metrics-server, and says so", func(ctx SpecContext) {
		server := metricsServer(ctx)
		// It needs half a minute to be ready again, which nobody but the suite's end waits for.
		server.scaleToZero(ctx, server.scaleBack)
		run := perfRun(cluster.newNamespace(ctx), "no-metrics-server")
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitMeasured(ctx, run, preparing+time.Minute)
		Expect(conditionOf(run, v1alpha1.ConditionMetricsServer)).To(And(
			HaveField("Status", BeEquivalentTo("False")),
			HaveField("Reason", v1alpha1.ReasonMetricsServerMissing),
			HaveField("Message", ContainSubstring("install metrics-server"))))
		for _, u := range usageOf(run, v1alpha1.ArmDapr) {
			Expect(u.CPU).NotTo(BeNil(), "%s has no CPU: %s", u.Component, u.Note)
			Expect(crossCheck(u, v1alpha1.SourceMetricsServer)).To(HaveField("Note", Not(BeEmpty())), "%s does not say why a figure is missing", u.Component)
		}
	}, SpecTimeout(5*time.Minute))
}

// cordonedByUs marks the nodes that are to be uncordoned again.
const cordonedByUs = "perfrun.dev/e2e-cordoned"

func cordonAllButOne(ctx SpecContext) {
	GinkgoHelper()
	var nodes corev1.NodeList
	Expect(cluster.List(ctx, &nodes)).To(Succeed())
	DeferCleanup(uncordonAll, NodeTimeout(time.Minute))
	spared := false
	for i := range nodes.Items {
		node := &nodes.Items[i]
		if !schedulable(node) {
			continue
		}
		if !spared {
			spared = true
			continue
		}
		cordon(ctx, node)
	}
	Expect(spared).To(BeTrue(), "no node takes pods")
}

func cordon(ctx SpecContext, node *corev1.Node) {
	GinkgoHelper()
	before := node.DeepCopy()
	node.Spec.Unschedulable = true
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[cordonedByUs] = cluster.suite
	Expect(cluster.Patch(ctx, node, client.MergeFrom(before))).To(Succeed())
}

// schedulable tells whether a pod without tolerations may run there: a control plane's node is usually tainted.
func schedulable(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule {
			return false
		}
	}
	return !node.Spec.Unschedulable
}

func uncordonAll(ctx SpecContext) {
	GinkgoHelper()
	var nodes corev1.NodeList
	Expect(cluster.List(ctx, &nodes)).To(Succeed())
	for i := range nodes.Items {
		node := &nodes.Items[i]
		if node.Annotations[cordonedByUs] != cluster.suite {
			continue
		}
		before := node.DeepCopy()
		node.Spec.Unschedulable = false
		delete(node.Annotations, cordonedByUs)
		Expect(cluster.Patch(ctx, node, client.MergeFrom(before))).To(Succeed())
	}
}
