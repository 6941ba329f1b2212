package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/plan"
)

func withMTLS(on bool) change { return func(s *v1alpha1.PerfRunSpec) { s.MTLS = ptr.To(on) } }

// mutualTLS: a run has mTLS as it asks, whatever the cluster's setting.
func mutualTLS() {
	It("measures without mTLS on a cluster that has it", func(ctx SpecContext) {
		expectClusterMTLS(ctx, true)
		run := perfRun(cluster.newNamespace(ctx), "without-mtls", withMTLS(false), exporting("0"))
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitMeasured(ctx, run, preparing+time.Minute)
		Expect(run.Status.Environment.MTLS).To(HaveValue(BeFalse()), "mTLS, as seen on the wire")
		expectExported(run, 0)
	}, SpecTimeout(4*time.Minute))
}

// clusterMTLS: nor does it ever measure anything else, when somebody changes the cluster's setting or takes perfrun's webhook away.
func clusterMTLS() {
	It("measures with mTLS on a cluster that has it switched off", func(ctx SpecContext) {
		setClusterMTLS(ctx, false)
		run := perfRun(cluster.newNamespace(ctx), "with-mtls", kept, withMTLS(true), exporting("0.1"))
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitMeasured(ctx, run, preparing+time.Minute)
		Expect(run.Status.Environment.MTLS).To(HaveValue(BeTrue()), "mTLS, as seen on the wire")
		expectExported(run, 0.1)
		Expect(cluster.metricsOf(ctx, run, plan.RoleTarget)).To(ContainSubstring("dapr_"), "what the sidecar serves by default")
	}, SpecTimeout(4*time.Minute))

	It("ends before any load where the sidecars do not have the mTLS that was asked for", func(ctx SpecContext) {
		takeWebhookAway(ctx)
		run := perfRun(cluster.newNamespace(ctx), "no-webhook", kept, withMTLS(false))
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitPhase(ctx, run, v1alpha1.PhaseError, preparing)
		Expect(conditionOf(run, v1alpha1.ConditionSucceeded)).To(And(
			HaveField("Reason", v1alpha1.ReasonMTLSMismatch),
			HaveField("Message", And(ContainSubstring("mTLS between sidecars is on, the run asks for off"), ContainSubstring(plan.MTLSConfiguration)))))
		Expect(cluster.traces(ctx, run).Traced).To(BeZero(), "requests that reached the target through Dapr")
	}, SpecTimeout(4*time.Minute))
}

// clusterConfiguration is the Configuration that Dapr's injector reads at each pod's admission; nil if there is none, which means mTLS.
func clusterConfiguration(ctx SpecContext) *unstructured.Unstructured {
	GinkgoHelper()
	c := &unstructured.Unstructured{}
	c.SetGroupVersionKind(dapr.ConfigurationGVK)
	err := cluster.Get(ctx, client.ObjectKey{Namespace: cluster.daprNamespace(ctx), Name: "daprsystem"}, c)
	Expect(client.IgnoreNotFound(err)).To(Succeed())
	if err != nil {
		return nil
	}
	return c
}

func expectClusterMTLS(ctx SpecContext, want bool) {
	GinkgoHelper()
	got := true
	if c := clusterConfiguration(ctx); c != nil {
		if value, found, err := unstructured.NestedBool(c.Object, "spec", "mtls", "enabled"); found && err == nil {
			got = value
		}
	}
	Expect(got).To(Equal(want), "mTLS in the cluster's Configuration daprsystem")
}

// setClusterMTLS changes the cluster's own setting, for the spec.
func setClusterMTLS(ctx SpecContext, on bool) {
	GinkgoHelper()
	c := clusterConfiguration(ctx)
	Expect(c).NotTo(BeNil(), "the cluster's Configuration daprsystem")
	before, found, err := unstructured.NestedFieldCopy(c.Object, "spec", "mtls", "enabled")
	Expect(err).NotTo(HaveOccurred())
	if !found {
		before = true
	}
	set := func(ctx SpecContext, value any) {
		GinkgoHelper()
		c := clusterConfiguration(ctx)
		Expect(unstructured.SetNestedField(c.Object, value, "spec", "mtls", "enabled")).To(Succeed())
		Expect(cluster.Update(ctx, c)).To(Succeed())
	}
	DeferCleanup(func(ctx SpecContext) { set(ctx, before) }, NodeTimeout(time.Minute))
	set(ctx, on)
}

// takeWebhookAway deletes the registration of perfrun's webhook, for the spec.
func takeWebhookAway(ctx SpecContext) {
	GinkgoHelper()
	webhook := &admissionv1.MutatingWebhookConfiguration{}
	Expect(cluster.Get(ctx, client.ObjectKey{Name: plan.MTLSConfiguration}, webhook)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		for i := range webhook.Webhooks {
			// The operator puts it there, as it does after any installation.
			webhook.Webhooks[i].ClientConfig.CABundle = nil
		}
		webhook.ObjectMeta = metav1.ObjectMeta{Name: webhook.Name, Labels: webhook.Labels, Annotations: webhook.Annotations}
		Expect(cluster.Create(ctx, webhook)).To(Succeed())
		Eventually(ctx, func() ([]byte, error) {
			err := cluster.Get(ctx, client.ObjectKeyFromObject(webhook), webhook)
			return webhook.Webhooks[0].ClientConfig.CABundle, err
		}).WithTimeout(30*time.Second).Should(Not(BeEmpty()), "the authorities that the API server trusts")
	}, NodeTimeout(time.Minute))
	Expect(cluster.Delete(ctx, webhook)).To(Succeed())
}
