package controllers

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/schedule"
)

// scheduled is a schedule of every minute in a namespace of its own, with an operator whose clock the test moves.
type scheduled struct {
	key        client.ObjectKey
	reconciler *PerfScheduleReconciler
	// first is the first minute after the schedule was created.
	first time.Time
}

func newSchedule(ctx context.Context, mutate ...func(*v1alpha1.PerfSchedule)) *scheduled {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	Expect(admin.Create(ctx, namespace)).To(Succeed())
	s := &v1alpha1.PerfSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "often", Labels: map[string]string{"argocd.argoproj.io/instance": "app"}},
		Spec: v1alpha1.PerfScheduleSpec{Schedule: "* * * * *", RunTemplate: v1alpha1.RunTemplate{
			Metadata: &v1alpha1.RunMetadata{Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"why": "b"}},
			Spec:     v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioInvocation, RPS: ptr.To[int32](50)},
		}},
	}
	for _, m := range mutate {
		m(s)
	}
	Expect(admin.Create(ctx, s)).To(Succeed())
	// Nobody collects garbage here, and an unfinished run would hold the queue for the next spec.
	DeferCleanup(func(ctx SpecContext) {
		Expect(admin.DeleteAllOf(ctx, &v1alpha1.PerfRun{}, client.InNamespace(namespace.Name))).To(Succeed())
	})
	base := newManager(ctx, nil, false)()
	return &scheduled{key: client.ObjectKeyFromObject(s), first: s.CreationTimestamp.Truncate(time.Minute).Add(time.Minute),
		reconciler: &PerfScheduleReconciler{Client: base.Client, Live: base.Live, Recorder: base.Recorder}}
}

// at reconciles so many minutes after the first, once the operator's cache has all that is there.
func (s *scheduled) at(ctx context.Context, minutes float64) ctrl.Result {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		cached := &v1alpha1.PerfSchedule{}
		g.Expect(s.reconciler.Get(ctx, s.key, cached)).To(Succeed())
		g.Expect(cached.ResourceVersion).To(Equal(s.get(ctx).ResourceVersion))
		g.Expect(versions(ctx, s.reconciler.Client, s.key.Namespace)).To(Equal(versions(ctx, admin, s.key.Namespace)))
	}).WithContext(ctx).Should(Succeed())
	now := s.first.Add(time.Duration(minutes * float64(time.Minute)))
	s.reconciler.Now = func() time.Time { return now }
	result, err := s.reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: s.key})
	Expect(err).NotTo(HaveOccurred())
	return result
}

func versions(ctx context.Context, c client.Reader, namespace string) map[string]string {
	GinkgoHelper()
	var list v1alpha1.PerfRunList
	Expect(c.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	out := map[string]string{}
	for _, run := range list.Items {
		out[run.Name] = run.ResourceVersion
	}
	return out
}

func (s *scheduled) get(ctx context.Context) *v1alpha1.PerfSchedule {
	GinkgoHelper()
	out := &v1alpha1.PerfSchedule{}
	Expect(admin.Get(ctx, s.key, out)).To(Succeed())
	return out
}

func (s *scheduled) change(ctx context.Context, mutate func(*v1alpha1.PerfSchedule)) {
	GinkgoHelper()
	latest := s.get(ctx)
	mutate(latest)
	Expect(admin.Update(ctx, latest)).To(Succeed())
}

func (s *scheduled) trigger(ctx context.Context, value string) {
	GinkgoHelper()
	s.change(ctx, func(p *v1alpha1.PerfSchedule) { p.Annotations = map[string]string{schedule.AnnotationTrigger: value} })
}

// runs by name.
func (s *scheduled) runs(ctx context.Context) []string {
	GinkgoHelper()
	var list v1alpha1.PerfRunList
	Expect(admin.List(ctx, &list, client.InNamespace(s.key.Namespace))).To(Succeed())
	var out []string
	for _, run := range list.Items {
		out = append(out, run.Name)
	}
	return out
}

// name of the run that is due so many minutes after the first.
func (s *scheduled) name(minutes int) string {
	return schedule.Name(s.key.Name, s.first.Add(time.Duration(minutes)*time.Minute))
}

// finish gives all unfinished runs a verdict, and figures by which Dapr adds so much at p90.
func (s *scheduled) finish(ctx context.Context, verdict v1alpha1.Phase, p90 time.Duration) {
	GinkgoHelper()
	var list v1alpha1.PerfRunList
	Expect(admin.List(ctx, &list, client.InNamespace(s.key.Namespace))).To(Succeed())
	for i := range list.Items {
		run := &list.Items[i]
		if run.Status.Phase.Finished() {
			continue
		}
		now := metav1.NewTime(s.reconciler.Now())
		run.Status.Phase, run.Status.StartTime, run.Status.CompletionTime = verdict, &now, &now
		run.Status.Environment = &v1alpha1.Environment{Dapr: "1.18.0"}
		run.Status.Results = []v1alpha1.PointResult{{Connections: 16, Added: &v1alpha1.Added{
			P90:           &v1alpha1.AddedLatency{Value: v1alpha1.NewLatency(p90), Pairs: 6},
			CPUPer1000RPS: &v1alpha1.AddedCPU{Value: resource.MustParse("200m"), Pairs: 6}}}}
		Expect(admin.Status().Update(ctx, run)).To(Succeed())
	}
}

func (s *scheduled) condition(ctx context.Context, kind string) metav1.Condition {
	GinkgoHelper()
	return ptr.Deref(meta.FindStatusCondition(s.get(ctx).Status.Conditions, kind), metav1.Condition{})
}

var _ = Describe("A PerfSchedule", func() {
	It("creates a run when it is due, as its template has it and once", func(ctx SpecContext) {
		s := newSchedule(ctx)
		Expect(s.at(ctx, -0.25).RequeueAfter).To(Equal(15 * time.Second))
		Expect(s.runs(ctx)).To(BeEmpty())

		Expect(s.at(ctx, 0.5).RequeueAfter).To(Equal(30 * time.Second))
		Expect(s.runs(ctx)).To(ConsistOf(s.name(0)))
		run := &v1alpha1.PerfRun{}
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: s.key.Namespace, Name: s.name(0)}, run)).To(Succeed())
		Expect(metav1.IsControlledBy(run, s.get(ctx))).To(BeTrue())
		Expect(run.Labels).To(Equal(map[string]string{"team": "a", "perfrun.dev/schedule": "often"}), "nothing of the schedule's own")
		Expect(run.Annotations).To(Equal(map[string]string{"why": "b", "perfrun.dev/scheduled-at": s.first.UTC().Format(time.RFC3339)}))
		Expect(run.Spec.RPS).To(HaveValue(BeEquivalentTo(50)))

		status := s.get(ctx).Status
		Expect(status.LastScheduleTime.Time).To(BeTemporally("==", s.first))
		Expect(status.NextScheduleTime.Time).To(BeTemporally("==", s.first.Add(time.Minute)))
		Expect(status.Active).To(Equal([]string{s.name(0)}))
		Expect(status.Settings.TimeZone).To(Equal("Etc/UTC"))
		Expect(s.condition(ctx, v1alpha1.ConditionAccepted)).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonScheduled)))
		Expect(s.condition(ctx, v1alpha1.ConditionRegressed)).To(HaveField("Status", metav1.ConditionUnknown))

		By("not twice, when the status that said so is lost")
		lost := s.get(ctx)
		lost.Status = v1alpha1.PerfScheduleStatus{}
		Expect(admin.Status().Update(ctx, lost)).To(Succeed())
		s.at(ctx, 0.75)
		Expect(s.runs(ctx)).To(ConsistOf(s.name(0)))
		Expect(s.get(ctx).Status.Skipped).To(BeZero())
		Expect(s.get(ctx).Status.LastScheduleTime.Time).To(BeTemporally("==", s.first))
	}, SpecTimeout(time.Minute))

	It("skips, allows or replaces by its concurrency policy", func(ctx SpecContext) {
		s := newSchedule(ctx)
		s.at(ctx, 0)
		s.at(ctx, 1)
		Expect(s.runs(ctx)).To(ConsistOf(s.name(0)))
		Expect(s.get(ctx).Status.Skipped).To(BeEquivalentTo(1))
		s.at(ctx, 1.5)
		Expect(s.get(ctx).Status.Skipped).To(BeEquivalentTo(1), "counted once")

		s.change(ctx, func(p *v1alpha1.PerfSchedule) { p.Spec.ConcurrencyPolicy = ptr.To(v1alpha1.ConcurrencyAllow) })
		s.at(ctx, 2)
		Expect(s.runs(ctx)).To(ConsistOf(s.name(0), s.name(2)))

		s.change(ctx, func(p *v1alpha1.PerfSchedule) { p.Spec.ConcurrencyPolicy = ptr.To(v1alpha1.ConcurrencyReplace) })
		s.at(ctx, 3)
		Expect(s.runs(ctx)).To(ConsistOf(s.name(3)))
		Expect(s.get(ctx).Status.Active).To(Equal([]string{s.name(3)}))
		Expect(s.get(ctx).Status.Missed).To(BeZero())
	}, SpecTimeout(time.Minute))

	It("makes up for the latest time it missed, and counts the others", func(ctx SpecContext) {
		s := newSchedule(ctx)
		s.at(ctx, 3)
		Expect(s.runs(ctx)).To(ConsistOf(s.name(3)))
		Expect(s.get(ctx).Status.Missed).To(BeEquivalentTo(3))

		By("counting up to a hundred")
		s.finish(ctx, v1alpha1.PhaseSucceeded, time.Millisecond)
		s.at(ctx, 5000)
		Expect(s.runs(ctx)).To(ConsistOf(s.name(3), s.name(5000)))
		Expect(s.get(ctx).Status.Missed).To(BeEquivalentTo(3 + 99))

		By("not past its deadline")
		s.finish(ctx, v1alpha1.PhaseSucceeded, time.Millisecond)
		s.change(ctx, func(p *v1alpha1.PerfSchedule) {
			p.Spec.Schedule, p.Spec.StartingDeadlineSeconds = "*/10 * * * *", ptr.To[int64](30)
		})
		s.at(ctx, 5001)
		table, err := schedule.Parse("*/10 * * * *", "Etc/UTC")
		Expect(err).NotTo(HaveOccurred())
		next, _ := table.After(s.first.Add(5001 * time.Minute))
		s.at(ctx, next.Sub(s.first).Minutes()+0.75)
		Expect(s.runs(ctx)).To(HaveLen(2))
		Expect(s.get(ctx).Status.Missed).To(BeEquivalentTo(3 + 99 + 1))
	}, SpecTimeout(time.Minute))

	It("creates nothing while it is suspended, unless it is asked to", func(ctx SpecContext) {
		s := newSchedule(ctx, func(p *v1alpha1.PerfSchedule) { p.Spec.Suspend = ptr.To(true) })
		s.at(ctx, 2)
		Expect(s.runs(ctx)).To(BeEmpty())
		Expect(s.get(ctx).Status.NextScheduleTime).To(BeNil())
		Expect(s.condition(ctx, v1alpha1.ConditionAccepted)).To(HaveField("Reason", v1alpha1.ReasonSuspended))

		for range 2 {
			s.trigger(ctx, "please")
			s.at(ctx, 2.5)
			Expect(s.runs(ctx)).To(HaveLen(1))
		}
		s.trigger(ctx, "again")
		s.at(ctx, 2.6)
		Expect(s.runs(ctx)).To(HaveLen(2))
		Expect(s.get(ctx).Status.LastTrigger).To(Equal("again"))

		By("making up for the latest time that passed, once it goes on")
		s.finish(ctx, v1alpha1.PhaseSucceeded, time.Millisecond)
		s.change(ctx, func(p *v1alpha1.PerfSchedule) { p.Spec.Suspend = nil })
		s.at(ctx, 3.5)
		Expect(s.runs(ctx)).To(ContainElement(s.name(3)))
	}, SpecTimeout(time.Minute))

	It("says what is wrong with it, and goes on when that is mended", func(ctx SpecContext) {
		s := newSchedule(ctx, func(p *v1alpha1.PerfSchedule) { p.Spec.TimeZone = ptr.To("Europe/Atlantis") })
		s.at(ctx, 0)
		Expect(s.condition(ctx, v1alpha1.ConditionAccepted)).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonUnknownTimeZone),
			HaveField("Message", ContainSubstring(`no time zone "Europe/Atlantis"`))))
		s.change(ctx, func(p *v1alpha1.PerfSchedule) { p.Spec.TimeZone, p.Spec.Schedule = nil, "0 3 30 2 *" })
		s.at(ctx, 0)
		Expect(s.condition(ctx, v1alpha1.ConditionAccepted)).To(HaveField("Reason", v1alpha1.ReasonNeverDue))
		s.change(ctx, func(p *v1alpha1.PerfSchedule) { p.Spec.Schedule = "* * * * *" })
		s.at(ctx, 0.5)
		Expect(s.condition(ctx, v1alpha1.ConditionAccepted)).To(HaveField("Status", metav1.ConditionTrue))

		By("leaving alone a run that is not its own")
		foreign := &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.name(1)},
			Spec: v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioInvocation}}
		Expect(admin.Create(ctx, foreign)).To(Succeed())
		Expect(s.at(ctx, 1).RequeueAfter).To(Equal(time.Minute))
		Expect(s.condition(ctx, v1alpha1.ConditionAccepted)).To(HaveField("Reason", v1alpha1.ReasonNameTaken))
		s.at(ctx, 2)
		Expect(s.runs(ctx)).To(ConsistOf(s.name(1), s.name(2)))
		Expect(s.get(ctx).Status.Missed).To(BeEquivalentTo(1))
	}, SpecTimeout(time.Minute))

	It("keeps results beyond its runs, and tells when they change", func(ctx SpecContext) {
		s := newSchedule(ctx, func(p *v1alpha1.PerfSchedule) {
			p.Spec.Suspend, p.Spec.SuccessfulRunsHistoryLimit, p.Spec.FailedRunsHistoryLimit = ptr.To(true), ptr.To[int32](2), ptr.To[int32](1)
		})
		one := func(i int, verdict v1alpha1.Phase, p90 time.Duration) {
			s.trigger(ctx, fmt.Sprint(i))
			s.at(ctx, float64(i))
			s.finish(ctx, verdict, p90)
			s.at(ctx, float64(i)+0.5)
		}
		for i := range 10 {
			one(i, v1alpha1.PhaseSucceeded, time.Duration(1000+i%3)*time.Microsecond)
		}
		Expect(s.runs(ctx)).To(HaveLen(2))
		Expect(s.condition(ctx, v1alpha1.ConditionRegressed)).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonNoRegression)))
		one(10, v1alpha1.PhaseInconclusive, 9*time.Millisecond)
		one(11, v1alpha1.PhaseError, 0)
		Expect(s.runs(ctx)).To(HaveLen(3))
		for i := range 5 {
			one(12+i, v1alpha1.PhaseFailed, time.Duration(2000+i%3)*time.Microsecond)
		}

		status := s.get(ctx).Status
		Expect(s.condition(ctx, v1alpha1.ConditionRegressed)).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Message", ContainSubstring("added.p90 at 16 connections"))))
		Expect(status.Changes).To(HaveLen(1))
		Expect(status.Changes[0].Since).To(Equal(status.Results[4].Run))
		Expect(status.Results).To(HaveLen(10))
		Expect(status.Series).To(HaveValue(Equal(v1alpha1.SeriesReference{Name: "often", Results: 17})))
		Expect(status.LastSuccessfulTime.Time).To(BeTemporally("==", s.first.Add(9*time.Minute)))
		series := &v1alpha1.PerfSeries{}
		Expect(admin.Get(ctx, s.key, series)).To(Succeed())
		Expect(series.Results).To(HaveLen(17))
		Expect(metav1.IsControlledBy(series, s.get(ctx))).To(BeTrue())
		Eventually(func() ([]eventsv1.Event, error) {
			var list eventsv1.EventList
			err := admin.List(ctx, &list, client.InNamespace(s.key.Namespace))
			return list.Items, err
		}).WithContext(ctx).Should(ContainElement(And(HaveField("Reason", v1alpha1.ReasonRegression), HaveField("Type", corev1.EventTypeWarning))))

		By("accepting it")
		s.change(ctx, func(p *v1alpha1.PerfSchedule) {
			p.Spec.Detection = &v1alpha1.Detection{AcceptedUntil: &status.Changes[0].Time}
		})
		s.at(ctx, 20)
		Expect(s.condition(ctx, v1alpha1.ConditionRegressed)).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonRegressionAccepted)))
	}, SpecTimeout(2*time.Minute))
})
