package controllers

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"perfrun.dev/perfrun/api/v1alpha1"
)

func notExclusive(s *v1alpha1.PerfRunSpec) { s.Exclusive = ptr.To(false) }

// inPhase makes a run that has come to a phase.
func inPhase(ctx context.Context, phase v1alpha1.Phase, mutate ...func(*v1alpha1.PerfRunSpec)) *v1alpha1.PerfRun {
	GinkgoHelper()
	run := newRun(ctx, mutate...)
	run.Status.Phase = phase
	Expect(admin.Status().Update(ctx, run)).To(Succeed())
	return run
}

var _ = Describe("The queue", func() {
	It("is of exclusive runs that are not finished, by creation, behind the one that has the cluster", func(ctx SpecContext) {
		r := newManager(ctx, nil, false)()
		ahead := func(run *v1alpha1.PerfRun) func() (int, error) {
			return func() (int, error) { return r.ahead(ctx, run) }
		}
		for _, verdict := range []v1alpha1.Phase{v1alpha1.PhaseSucceeded, v1alpha1.PhaseError} {
			inPhase(ctx, verdict)
		}
		beside := inPhase(ctx, v1alpha1.PhaseMeasuring, notExclusive)
		first := inPhase(ctx, v1alpha1.PhaseQueued)
		nextSecond(ctx, first)
		second := newRun(ctx)
		Eventually(ahead(second)).WithContext(ctx).Should(Equal(1))
		Expect(r.ahead(ctx, first)).To(BeZero())
		Expect(r.ahead(ctx, beside)).To(BeZero())

		By("putting a run that has the cluster before an older one")
		nextSecond(ctx, second)
		holder := inPhase(ctx, v1alpha1.PhasePreparing)
		Eventually(ahead(first)).WithContext(ctx).Should(Equal(1))
		Eventually(ahead(second)).WithContext(ctx).Should(Equal(2))
		Expect(r.beside(ctx, holder)).To(ConsistOf(beside.Namespace + "/" + beside.Name))
		Expect(r.beside(ctx, first)).To(HaveLen(2))

		By("waiting for one that was let out a moment ago, which the cache does not show yet")
		Expect(admin.Delete(ctx, holder)).To(Succeed())
		Eventually(ahead(first)).WithContext(ctx).Should(BeZero())
		r.leaves(second, inStage(second, v1alpha1.PhasePreparing))
		Expect(r.ahead(ctx, first)).To(Equal(1))
		r.shown(second)
		Expect(r.ahead(ctx, first)).To(Equal(1), "the cache still has it in the queue")
		r.shown(inStage(second, v1alpha1.PhasePreparing))
		Expect(r.ahead(ctx, first)).To(BeZero())
	}, SpecTimeout(time.Minute))

	It("wakes whose turn it is, whose place has changed, and who has company", func(ctx SpecContext) {
		r := newManager(ctx, nil, false)()
		ended := inPhase(ctx, v1alpha1.PhaseSucceeded)
		beside := inPhase(ctx, v1alpha1.PhaseMeasuring, notExclusive)
		queue := make([]*v1alpha1.PerfRun, 13)
		for i := range queue {
			queue[i] = inPhase(ctx, v1alpha1.PhaseQueued)
		}
		names := func() (out []types.NamespacedName) {
			for _, request := range r.queueMoved(ctx, ended) {
				out = append(out, request.NamespacedName)
			}
			return out
		}
		Eventually(names).WithContext(ctx).Should(And(HaveLen(1+10), ContainElement(client.ObjectKeyFromObject(beside))),
			"ten of those that wait, and the one that measures")

		By("leaving alone those whose place is right")
		for place, name := range names()[1:] {
			run := &v1alpha1.PerfRun{}
			Expect(admin.Get(ctx, name, run)).To(Succeed())
			run.Status.QueuePosition = int32(place)
			Expect(admin.Status().Update(ctx, run)).To(Succeed())
		}
		Eventually(names).WithContext(ctx).Should(HaveLen(2), "the first, and the one that measures")
	}, SpecTimeout(time.Minute))

	DescribeTable("moves when", func(before, now *v1alpha1.PerfRun, moves bool) {
		Expect(queueMoves.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: now})).To(Equal(moves))
	},
		Entry("a run is let out", phase(v1alpha1.PhaseQueued), phase(v1alpha1.PhasePreparing), true),
		Entry("a run ends", phase(v1alpha1.PhaseCollecting), phase(v1alpha1.PhaseFailed), true),
		Entry("a queued run ends", phase(""), phase(v1alpha1.PhaseError), true),
		Entry("a run that has the cluster is to be deleted", phase(v1alpha1.PhaseMeasuring), deleting(phase(v1alpha1.PhaseMeasuring)), true),
		Entry("a queued run is to be deleted", phase(v1alpha1.PhaseQueued), deleting(phase(v1alpha1.PhaseQueued)), true),
		Entry("not when a run goes on", phase(v1alpha1.PhaseMeasuring), phase(v1alpha1.PhaseMeasuring), false),
		Entry("not when a run comes to its next stage", phase(v1alpha1.PhasePreparing), phase(v1alpha1.PhaseMeasuring), false),
		Entry("not when a run comes into the queue", phase(""), phase(v1alpha1.PhaseQueued), false),
		Entry("not when a run that has ended is deleted", phase(v1alpha1.PhaseSucceeded), deleting(phase(v1alpha1.PhaseSucceeded)), false),
	)

	It("lets a run that is not exclusive measure beside another, and both say so", func(ctx SpecContext) {
		first := newRun(ctx)
		k := newKubelet(first.Namespace, first.Name)
		newManager(ctx, k, true)
		Eventually(func() v1alpha1.Phase {
			k.sync(ctx)
			return reload(ctx, first).Status.Phase
		}).WithContext(ctx).WithTimeout(30*time.Second).Should(Equal(v1alpha1.PhaseMeasuring), func() string { return describe(ctx, first) })
		second := newRun(ctx, notExclusive)
		Eventually(func() v1alpha1.Phase { return reload(ctx, second).Status.Phase }).WithContext(ctx).Should(Equal(v1alpha1.PhasePreparing))
		Eventually(func() v1alpha1.Phase { return reload(ctx, first).Status.Phase }).WithContext(ctx).WithTimeout(time.Minute).
			Should(Equal(v1alpha1.PhaseInconclusive), func() string { return describe(ctx, first) })
		done := reload(ctx, first)
		Expect(done.Status.Environment.SharedWith).To(ConsistOf(second.Namespace + "/" + second.Name))
		Expect(done.Status.Reasons).To(ContainElement(And(HaveField("Reason", v1alpha1.ReasonClusterShared),
			HaveField("Message", ContainSubstring(second.Namespace+"/"+second.Name)))))
	}, SpecTimeout(2*time.Minute))

	It("is not held up by a run that somebody's finalizer keeps", func(ctx SpecContext) {
		const finalizer = "example.com/keep"
		first := inPhase(ctx, v1alpha1.PhasePreparing)
		first.Finalizers = []string{finalizer}
		Expect(admin.Update(ctx, first)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(client.IgnoreNotFound(admin.Patch(ctx, first, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))).To(Succeed())
		})
		newManager(ctx, nil, true)
		second := newRun(ctx)
		Eventually(func() int32 { return reload(ctx, second).Status.QueuePosition }).WithContext(ctx).Should(BeEquivalentTo(1))
		Expect(admin.Delete(ctx, first)).To(Succeed())
		Eventually(func() v1alpha1.Phase { return reload(ctx, second).Status.Phase }).WithContext(ctx).WithTimeout(10 * time.Second).Should(Equal(v1alpha1.PhasePreparing))
		Expect(reload(ctx, second).Status.QueuePosition).To(BeZero())
	}, SpecTimeout(time.Minute))
})

func phase(p v1alpha1.Phase) *v1alpha1.PerfRun {
	return &v1alpha1.PerfRun{Status: v1alpha1.PerfRunStatus{Phase: p}}
}

func deleting(run *v1alpha1.PerfRun) *v1alpha1.PerfRun {
	run.DeletionTimestamp = ptr.To(run.CreationTimestamp)
	return run
}

func inStage(run *v1alpha1.PerfRun, p v1alpha1.Phase) *v1alpha1.PerfRun {
	out := run.DeepCopy()
	out.Status.Phase = p
	return out
}

// nextSecond waits until what is created is younger than a run: the API server's times are in seconds.
func nextSecond(ctx context.Context, than *v1alpha1.PerfRun) {
	GinkgoHelper()
	Eventually(func() error {
		if time.Since(than.CreationTimestamp.Time) < time.Second {
			return fmt.Errorf("still the same second")
		}
		return nil
	}).WithContext(ctx).WithTimeout(5 * time.Second).Should(Succeed())
}
