package controllers

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/metrics"
)

// scraped is the metrics endpoint of an operator that has just started.
type scraped struct{ registry *prometheus.Registry }

// newScraped starts an operator that only watches, with figures of so many finished runs.
func newScraped(ctx context.Context, limit int) scraped {
	GinkgoHelper()
	runs := NewExporter(limit)
	mgr, err := ctrl.NewManager(asOperator(config), ctrl.Options{Scheme: scheme, Cache: CacheOptions("default", runs),
		Metrics: metricsserver.Options{BindAddress: "0"}, GracefulShutdownTimeout: ptr.To(5 * time.Second)})
	Expect(err).NotTo(HaveOccurred())
	// Pedantic: it fails for two series with the same labels, and for one that no family describes.
	s := scraped{prometheus.NewPedanticRegistry()}
	Expect(runs.SetupWithManager(ctx, mgr, s.registry)).To(Succeed())
	start(ctx, mgr)
	return s
}

// series are the samples whose name or labels have all of the words, without what they have in common with others.
func (s scraped) series(words ...string) func(Gomega) []string {
	return func(g Gomega) (out []string) {
		families, err := s.registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		for _, family := range families {
			for _, m := range family.Metric {
				line := line(family, m)
				if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
					out = append(out, line)
				}
			}
		}
		return out
	}
}

func line(family *dto.MetricFamily, m *dto.Metric) string {
	var labels []string
	for _, l := range m.Label {
		labels = append(labels, l.GetName()+"="+l.GetValue())
	}
	value := m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
	return fmt.Sprintf("%s{%s} %g", family.GetName(), strings.Join(labels, ","), value)
}

// value of the one series that has all of the words.
func (s scraped) value(words ...string) float64 {
	GinkgoHelper()
	var got []string
	Eventually(func(g Gomega) { got = s.series(words...)(g); g.Expect(got).To(HaveLen(1)) }).Should(Succeed())
	var value float64
	_, err := fmt.Sscan(got[0][strings.LastIndex(got[0], " "):], &value)
	Expect(err).NotTo(HaveOccurred())
	return value
}

// finishAt gives a run its verdict, at a time, in one write as the operator does.
func finishAt(ctx context.Context, run *v1alpha1.PerfRun, at time.Time) {
	GinkgoHelper()
	latency := &v1alpha1.LatencySummary{P50: ptr.To(v1alpha1.NewLatency(time.Millisecond)), P99: ptr.To(v1alpha1.NewLatency(7 * time.Millisecond))}
	run.Status = v1alpha1.PerfRunStatus{
		Phase: v1alpha1.PhaseSucceeded, StartTime: run.Status.StartTime, CompletionTime: &metav1.Time{Time: at},
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonMeasured,
			Message: "measured", ObservedGeneration: run.Generation, LastTransitionTime: metav1.Now()}},
		Results: []v1alpha1.PointResult{{Connections: 16, Dapr: &v1alpha1.ArmResult{Requests: 1000, Errors: 20, AchievedRPS: "99.5", Latency: latency}}},
	}
	Expect(admin.Status().Update(ctx, run)).To(Succeed())
}

// everything is a run that has something to tell in every family.
func everything(uid types.UID, phase v1alpha1.Phase) *v1alpha1.PerfRun {
	latency, one := v1alpha1.NewLatency(time.Millisecond), resource.MustParse("1")
	now := metav1.Now()
	return &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{UID: uid}, Status: v1alpha1.PerfRunStatus{
		Phase: phase, CompletionTime: &now,
		Results: []v1alpha1.PointResult{{
			Dapr: &v1alpha1.ArmResult{Requests: 1, AchievedRPS: "1", Latency: &v1alpha1.LatencySummary{P50: &latency}},
			Added: &v1alpha1.Added{P50: &v1alpha1.AddedLatency{Value: latency, Low: &latency, High: &latency},
				CPUPer1000RPS: &v1alpha1.AddedCPU{Value: one, Low: &one, High: &one}},
		}},
		Usage:               []v1alpha1.Usage{{CPU: &one, Memory: &v1alpha1.Memory{Mean: one}}},
		ControlPlaneResults: []v1alpha1.ControlPlaneResult{{Parts: []v1alpha1.PartUsage{{CPU: &one, Memory: &one}}}},
	}}
}

func someSchedule() *v1alpha1.PerfSchedule {
	now := metav1.Now()
	return &v1alpha1.PerfSchedule{ObjectMeta: metav1.ObjectMeta{UID: "schedule"}, Status: v1alpha1.PerfScheduleStatus{
		LastScheduleTime: &now, NextScheduleTime: &now, LastSuccessfulTime: &now, Changes: []v1alpha1.FigureChange{{Size: v1alpha1.Size{Value: "1"}}},
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue}, {Type: v1alpha1.ConditionRegressed, Status: metav1.ConditionFalse}},
	}}
}

var _ = Describe("The metrics of runs", func() {
	// Later than what other specs leave behind.
	later := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

	It("follow a run through its phases to its figures, and go with it", func(ctx SpecContext) {
		s := newScraped(ctx, 1)
		queued, succeeded := s.value("perfrun_runs{phase=Queued}"), s.value("perfrun_runs_finished_total{verdict=Succeeded}")
		run := newRun(ctx)
		of := "namespace=" + run.Namespace
		Eventually(func() float64 { return s.value("perfrun_runs{phase=Queued}") }).Should(Equal(queued + 1))
		Expect(s.series(of)(Default)).To(BeEmpty(), "a run that waits is counted, no more")

		By("measuring")
		run.Status = v1alpha1.PerfRunStatus{Phase: v1alpha1.PhaseMeasuring, StartTime: ptr.To(metav1.Now()), Progress: &v1alpha1.Progress{Percent: 30}}
		Expect(admin.Status().Update(ctx, run)).To(Succeed())
		labels := "{kind=PerfRun,name=" + run.Name + ",namespace=" + run.Namespace
		Eventually(s.series(of)).Should(ConsistOf(
			"perfrun_active"+labels+",phase=Measuring} 1", "perfrun_progress_ratio"+labels+"} 0.3"))
		Expect(s.value("perfrun_queue_seconds")).To(BeEquivalentTo(1), "runs that have left the queue")
		Expect(s.value("perfrun_runs{phase=Queued}")).To(Equal(queued))

		By("finishing")
		finishAt(ctx, run, later)
		Eventually(s.series(of, "perfrun_latency_seconds")).Should(ConsistOf(
			"perfrun_latency_seconds{arm=Dapr,connections=16,kind=PerfRun,name="+run.Name+",namespace="+run.Namespace+",percentile=p50} 0.001",
			"perfrun_latency_seconds{arm=Dapr,connections=16,kind=PerfRun,name="+run.Name+",namespace="+run.Namespace+",percentile=p99} 0.007"))
		Expect(s.value("perfrun_error_ratio{", of)).To(Equal(0.02))
		Expect(s.value("perfrun_verdict{", of, "verdict=Succeeded")).To(BeEquivalentTo(1))
		Expect(s.series("perfrun_active{", of)(Default)).To(BeEmpty())
		Expect(s.value("perfrun_runs_finished_total{verdict=Succeeded}")).To(Equal(succeeded + 1))

		By("the operator being restarted, which remembers no figure in its cache")
		restarted := newScraped(ctx, 1)
		before := s.series(of)(Default)
		Eventually(restarted.series(of)).Should(ConsistOf(before))
		Expect(restarted.value("perfrun_runs_finished_total{verdict=Succeeded}")).To(BeZero(), "it counts what it sees")

		By("something else of the run being changed")
		run.Spec.Cleanup = ptr.To(v1alpha1.CleanupNever)
		Expect(admin.Update(ctx, run)).To(Succeed())
		Consistently(restarted.series(of)).WithTimeout(300 * time.Millisecond).Should(ConsistOf(before))

		By("the run being deleted")
		Expect(admin.Delete(ctx, run)).To(Succeed())
		for _, s := range []scraped{s, restarted} {
			Eventually(s.series(of)).Should(BeEmpty())
		}
		Expect(s.value("perfrun_runs_finished_total{verdict=Succeeded}")).To(Equal(succeeded+1), "what was counted stays")
	}, SpecTimeout(time.Minute))

	It("are bounded: the runs that finished last have figures, the others are counted", func(ctx SpecContext) {
		s := newScraped(ctx, 2)
		hidden := s.value("perfrun_results_hidden")
		var runs []*v1alpha1.PerfRun
		for i := range 4 {
			run := newRun(ctx)
			finishAt(ctx, run, later.Add(time.Duration(i)*time.Hour))
			runs = append(runs, run)
		}
		shown := func(g Gomega) (out []string) {
			for i, run := range runs {
				if n := len(s.series("namespace=" + run.Namespace)(g)); n > 0 {
					out = append(out, fmt.Sprint(i))
				}
			}
			return out
		}
		Eventually(shown).Should(Equal([]string{"2", "3"}))
		Expect(s.value("perfrun_results_hidden") - hidden).To(BeNumerically(">=", 2))

		By("the last one being deleted")
		Expect(admin.Delete(ctx, runs[3])).To(Succeed())
		Eventually(shown).Should(Equal([]string{"1", "2"}))
	}, SpecTimeout(time.Minute))

	It("are a schedule's, whatever its runs are called, and outlive them until the schedule goes", func(ctx SpecContext) {
		schedule := newSchedule(ctx)
		of := "namespace=" + schedule.key.Namespace
		s := newScraped(ctx, 1)
		owned := func(name string, at time.Time) *v1alpha1.PerfRun {
			run := &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Namespace: schedule.key.Namespace, Name: name}, Spec: schedule.get(ctx).Spec.RunTemplate.Spec}
			Expect(controllerutil.SetControllerReference(schedule.get(ctx), run, scheme)).To(Succeed())
			Expect(admin.Create(ctx, run)).To(Succeed())
			finishAt(ctx, run, at)
			Eventually(s.series(of, "perfrun_latency_seconds", "percentile=p99")).Should(HaveLen(1))
			return run
		}
		first := owned("often-1", later.Add(time.Minute))
		latency := "perfrun_latency_seconds{arm=Dapr,connections=16,kind=PerfSchedule,name=often," + of + ",percentile=p99} 0.007"
		Expect(s.series(of, "perfrun_latency_seconds", "p99")(Default)).To(ConsistOf(latency))
		Expect(s.series(of, "perfrun_result_info", "run=often-1,")(Default)).To(HaveLen(1))

		By("a later one and an earlier one finishing")
		second := owned("often-2", later.Add(2*time.Minute))
		owned("often-0", later)
		Eventually(s.series(of, "perfrun_result_info")).Should(ConsistOf(ContainSubstring("run=often-2,")))
		Expect(s.series(of, "kind=PerfRun")(Default)).To(BeEmpty())

		By("the history limits taking the runs away")
		Expect(admin.Delete(ctx, first)).To(Succeed())
		Expect(admin.Delete(ctx, second)).To(Succeed())
		Consistently(s.series(of, "perfrun_latency_seconds", "p99")).WithTimeout(300 * time.Millisecond).Should(ConsistOf(latency))

		By("the schedule telling how it goes")
		latest := schedule.get(ctx)
		latest.Status = v1alpha1.PerfScheduleStatus{Missed: 3, Conditions: []metav1.Condition{{Type: v1alpha1.ConditionRegressed, Status: metav1.ConditionTrue,
			Reason: v1alpha1.ReasonRegression, LastTransitionTime: metav1.Now()}}}
		Expect(admin.Status().Update(ctx, latest)).To(Succeed())
		Eventually(s.series(of, "perfrun_schedule_regressed")).Should(ConsistOf("perfrun_schedule_regressed{name=often," + of + "} 1"))
		Expect(s.series(of, "perfrun_schedule_missed_total")(Default)).To(ConsistOf(HaveSuffix(" 3")))

		By("the schedule being deleted")
		Expect(admin.Delete(ctx, latest)).To(Succeed())
		Eventually(s.series(of)).Should(BeEmpty())
	}, SpecTimeout(time.Minute))

	It("are told by the operator that leads alone", func() {
		runs := NewExporter(1)
		elected := make(chan struct{})
		runs.elected = elected
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(runs)
		Expect(registry.Gather()).To(BeEmpty())
		close(elected)
		Expect(registry.Gather()).NotTo(BeEmpty())
	})

	It("are named as Prometheus' conventions ask for", func() {
		runs := NewExporter(1)
		elected := make(chan struct{})
		close(elected)
		runs.elected = elected
		for i, phase := range []v1alpha1.Phase{v1alpha1.PhaseMeasuring, v1alpha1.PhaseSucceeded} {
			runs.runSeen(everything(types.UID(fmt.Sprint(i)), phase))
		}
		runs.scheduleSeen(someSchedule())
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(runs)
		families, err := registry.Gather()
		Expect(err).NotTo(HaveOccurred())
		Expect(len(families)).To(BeNumerically(">", len(metrics.Families)), "a family has no series here")
		docs, err := os.ReadFile("../docs/prometheus.md")
		Expect(err).NotTo(HaveOccurred())
		for _, family := range families {
			Expect(string(docs)).To(ContainSubstring("| `" + family.GetName() + "` | " + strings.ToLower(family.GetType().String()) + " |"))
		}
		Expect(promlint.NewWithMetricFamilies(families).Lint()).To(BeEmpty())
	})
})
