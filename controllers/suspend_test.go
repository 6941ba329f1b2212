package controllers

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
)

func held(s *v1alpha1.PerfRunSpec) { s.Suspend = ptr.To(true) }

func setSuspend(ctx context.Context, run *v1alpha1.PerfRun, suspend bool) {
	GinkgoHelper()
	latest := reload(ctx, run)
	before := latest.DeepCopy()
	latest.Spec.Suspend = &suspend
	Expect(admin.Patch(ctx, latest, client.MergeFrom(before))).To(Succeed())
}

// childrenOf counts what a run has in its namespace.
func childrenOf(ctx context.Context, run *v1alpha1.PerfRun) int {
	GinkgoHelper()
	configurations := &unstructured.UnstructuredList{}
	configurations.SetGroupVersionKind(dapr.ConfigurationGVK)
	n := 0
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &corev1.ServiceList{}, configurations} {
		Expect(admin.List(ctx, list, client.InNamespace(run.Namespace))).To(Succeed())
		n += lenOf(list)
	}
	return n
}

func lenOf(list client.ObjectList) int {
	switch l := list.(type) {
	case *appsv1.DeploymentList:
		return len(l.Items)
	case *corev1.ServiceList:
		return len(l.Items)
	case *unstructured.UnstructuredList:
		return len(l.Items)
	}
	return -1
}

// expectNoLoad waits until the last requests are through, and looks that no more come.
func expectNoLoad(ctx context.Context, k *kubelet) {
	GinkgoHelper()
	var last int64 = -1
	Eventually(func() bool {
		before := last
		last = k.requests.Load()
		return last == before
	}).WithContext(ctx).WithPolling(200 * time.Millisecond).WithTimeout(2 * time.Second).Should(BeTrue())
	Consistently(k.requests.Load).WithContext(ctx).WithTimeout(time.Second).Should(Equal(last))
}

var _ = Describe("Suspending a PerfRun", func() {
	It("stops its load, deletes what it has made, and starts afresh when it is resumed", func(ctx SpecContext) {
		run := newRun(ctx)
		k := newKubelet(run.Namespace, run.Name)
		fresh := newManager(ctx, k, false)
		loaded(ctx, fresh, run, k, 10)
		Expect(reload(ctx, run).Status.Attempt.ID).To(Equal("attempt-1"))

		setSuspend(ctx, run, true)
		Eventually(func() v1alpha1.Phase {
			step(ctx, fresh, run)
			return reload(ctx, run).Status.Phase
		}).WithContext(ctx).WithTimeout(3 * time.Second).Should(Equal(v1alpha1.PhaseSuspended))
		expectNoLoad(ctx, k)
		Eventually(func() int {
			step(ctx, fresh, run)
			return childrenOf(ctx, run)
		}).WithContext(ctx).WithTimeout(5 * time.Second).Should(BeZero())
		stopped := reload(ctx, run)
		Expect(verdict(stopped)).To(And(HaveField("Status", BeEquivalentTo("Unknown")), HaveField("Reason", v1alpha1.ReasonSuspended),
			HaveField("Message", ContainSubstring("has stopped attempt 1"))))
		Expect(stopped.Status.VoidAttempts).To(BeEquivalentTo(1))
		Expect(stopped.Status.Attempt).To(BeNil())
		Expect(stopped.Status.StartTime).To(BeNil())

		By("waiting for its former pods to go when it is resumed")
		setSuspend(ctx, run, false)
		Eventually(func() string {
			step(ctx, fresh, run)
			return verdict(reload(ctx, run)).Reason
		}).WithContext(ctx).WithTimeout(5 * time.Second).Should(Equal(v1alpha1.ReasonPodsNotGone))
		Expect(childrenOf(ctx, run)).To(BeZero())
		k.sync(ctx)
		before := k.requests.Load()
		Eventually(func() v1alpha1.Phase {
			step(ctx, fresh, run)
			k.sync(ctx)
			return reload(ctx, run).Status.Phase
		}).WithContext(ctx).WithTimeout(time.Minute).Should(haveFigures(), func() string { return describe(ctx, run) })
		done := reload(ctx, run)
		Expect(done.Status.Attempt.ID).To(Equal("attempt-2"))
		Expect(done.Status.Results[0].Dapr.Requests).To(BeEquivalentTo(100))
		Expect(k.requests.Load()-before).To(Equal(expected(run)), "the whole plan, from its beginning")
		expectRawData(ctx, done)
	}, SpecTimeout(2*time.Minute))

	It("holds a run that waits, and lets the next one measure", func(ctx SpecContext) {
		newManager(ctx, nil, true)
		first := newRun(ctx, held)
		Eventually(func() v1alpha1.Phase { return reload(ctx, first).Status.Phase }).WithContext(ctx).Should(Equal(v1alpha1.PhaseSuspended))
		nextSecond(ctx, first)
		second := newRun(ctx)
		Eventually(func() v1alpha1.Phase { return reload(ctx, second).Status.Phase }).WithContext(ctx).Should(Equal(v1alpha1.PhasePreparing))
		nextSecond(ctx, second)
		third := newRun(ctx)
		Eventually(func() int32 { return reload(ctx, third).Status.QueuePosition }).WithContext(ctx).Should(BeEquivalentTo(1))

		By("taking its place by its creation when it is resumed")
		setSuspend(ctx, first, false)
		Eventually(func() int32 { return reload(ctx, first).Status.QueuePosition }).WithContext(ctx).Should(BeEquivalentTo(1))
		Eventually(func() int32 { return reload(ctx, third).Status.QueuePosition }).WithContext(ctx).Should(BeEquivalentTo(2))

		By("making way at once when one that has the cluster is suspended")
		setSuspend(ctx, second, true)
		Eventually(func() v1alpha1.Phase { return reload(ctx, first).Status.Phase }).WithContext(ctx).WithTimeout(5 * time.Second).Should(Equal(v1alpha1.PhasePreparing))
		Eventually(func() int { return childrenOf(ctx, second) }).WithContext(ctx).WithTimeout(10 * time.Second).Should(BeZero())
		Eventually(func() int32 { return reload(ctx, third).Status.QueuePosition }).WithContext(ctx).Should(BeEquivalentTo(1))
		Expect(reload(ctx, second).Status.VoidAttempts).To(BeZero(), "it had not begun to measure")
	}, SpecTimeout(time.Minute))
})

var _ = Describe("Deleting a PerfRun", func() {
	It("stops its load and takes everything away, even if somebody's finalizer keeps the object", func(ctx SpecContext) {
		run := newRun(ctx)
		k := newKubelet(run.Namespace, run.Name)
		fresh := newManager(ctx, k, false)
		Expect(admin.Patch(ctx, run, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/keep"]}}`)))).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(client.IgnoreNotFound(admin.Patch(ctx, run, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))).To(Succeed())
		})
		loaded(ctx, fresh, run, k, 10)

		Expect(admin.Delete(ctx, run)).To(Succeed())
		Eventually(func() int {
			step(ctx, fresh, run)
			return childrenOf(ctx, run)
		}).WithContext(ctx).WithTimeout(5 * time.Second).Should(BeZero())
		expectNoLoad(ctx, k)
		Expect(verdict(reload(ctx, run))).To(And(HaveField("Reason", v1alpha1.ReasonDeleting), HaveField("Message", ContainSubstring("example.com/keep"))))
	}, SpecTimeout(2*time.Minute))
})
