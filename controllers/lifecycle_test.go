package controllers

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// setSpec changes what may be changed of a run that exists.
func setSpec(ctx context.Context, run *v1alpha1.PerfRun, change func(*v1alpha1.PerfRunSpec)) {
	GinkgoHelper()
	latest := reload(ctx, run)
	before := latest.DeepCopy()
	change(&latest.Spec)
	Expect(admin.Patch(ctx, latest, client.MergeFrom(before))).To(Succeed())
}

// withoutDeployments is a client of an API server that takes no Deployments.
type withoutDeployments struct{ client.Client }

func (c withoutDeployments) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	if _, ok := object.(*appsv1.Deployment); ok {
		return errors.New("no Deployments here")
	}
	return c.Client.Create(ctx, object, opts...)
}

var _ = Describe("A PerfRun that goes on", func() {
	It("keeps what it has made if it is told so meanwhile, for as long as it is told afterwards", func(ctx SpecContext) {
		run := newRun(ctx)
		k := newKubelet(run.Namespace, run.Name)
		newManager(ctx, k, true)
		Eventually(func() v1alpha1.Phase {
			k.sync(ctx)
			return reload(ctx, run).Status.Phase
		}).WithContext(ctx).WithTimeout(30 * time.Second).Should(Equal(v1alpha1.PhaseMeasuring))
		setSpec(ctx, run, func(s *v1alpha1.PerfRunSpec) { s.Cleanup = ptr.To(v1alpha1.CleanupNever) })
		Eventually(func() v1alpha1.Phase { return reload(ctx, run).Status.Phase }).WithContext(ctx).WithTimeout(time.Minute).
			Should(haveFigures(), func() string { return describe(ctx, run) })
		Consistently(func() int { return childrenOf(ctx, run) }).WithContext(ctx).WithTimeout(time.Second).Should(Equal(4))

		ended := time.Since(reload(ctx, run).Status.CompletionTime.Time)
		setSpec(ctx, run, func(s *v1alpha1.PerfRunSpec) {
			s.TTLSecondsAfterFinished = ptr.To(int32((ended + 3*time.Second) / time.Second))
		})
		Consistently(func() int { return childrenOf(ctx, run) }).WithContext(ctx).WithTimeout(time.Second).Should(Equal(4))
		Eventually(func() int { return childrenOf(ctx, run) }).WithContext(ctx).WithTimeout(10 * time.Second).Should(BeZero())
		expectRawData(ctx, reload(ctx, run))
	}, SpecTimeout(2*time.Minute))

	It("leaves nothing of what it had made when the API server refuses the rest", func(ctx SpecContext) {
		run := newRun(ctx)
		fresh := newManager(ctx, nil, false)
		refused := fresh()
		refused.Client = withoutDeployments{refused.Client}
		reconcile := func() string {
			_, _ = refused.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(run)})
			return verdict(reload(ctx, run)).Message
		}
		Eventually(reconcile).WithContext(ctx).Should(ContainSubstring("no Deployments here"))
		Expect(reload(ctx, run).Status.Phase).To(Equal(v1alpha1.PhasePreparing))
		Expect(childrenOf(ctx, run)).To(Equal(2), "a Configuration and a Service")
		refused.PrepareTimeout = time.Nanosecond
		Eventually(func() v1alpha1.Phase {
			reconcile()
			return reload(ctx, run).Status.Phase
		}).WithContext(ctx).Should(Equal(v1alpha1.PhaseError))
		Expect(verdict(reload(ctx, run))).To(And(HaveField("Reason", v1alpha1.ReasonStepFailed), HaveField("Message", ContainSubstring("no Deployments here"))))
		Eventually(func() int {
			reconcile()
			return childrenOf(ctx, run)
		}).WithContext(ctx).Should(BeZero())
	}, SpecTimeout(time.Minute))

	It("ends at a deadline that it is given meanwhile, and its load with it", func(ctx SpecContext) {
		run := newRun(ctx, func(s *v1alpha1.PerfRunSpec) { s.Duration.Duration = time.Minute })
		k := newKubelet(run.Namespace, run.Name)
		newManager(ctx, k, true)
		Eventually(func() int64 {
			k.sync(ctx)
			return k.requests.Load()
		}).WithContext(ctx).WithTimeout(30*time.Second).Should(BeNumerically(">", 10), func() string { return describe(ctx, run) })
		setSpec(ctx, run, func(s *v1alpha1.PerfRunSpec) { s.ActiveDeadlineSeconds = ptr.To[int32](1) })
		Eventually(func() v1alpha1.Phase { return reload(ctx, run).Status.Phase }).WithContext(ctx).WithTimeout(5 * time.Second).Should(Equal(v1alpha1.PhaseError))
		Expect(verdict(reload(ctx, run))).To(And(HaveField("Reason", v1alpha1.ReasonDeadlineExceeded), HaveField("Message", ContainSubstring("it was Measuring"))))
		expectNoLoad(ctx, k)
		Eventually(func() int { return childrenOf(ctx, run) }).WithContext(ctx).Should(BeZero())
	}, SpecTimeout(time.Minute))
})
