package cli

import (
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/schedule"
)

// nightly is a schedule that has nothing to do before 2100, say.
func nightly(namespace string) *v1alpha1.PerfSchedule {
	return &v1alpha1.PerfSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nightly"},
		Spec: v1alpha1.PerfScheduleSpec{Schedule: "0 3 * * *", RunTemplate: v1alpha1.RunTemplate{Spec: v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioInvocation}}}}
}

var _ = Describe("kubectl perfrun export", func() {
	It("writes a run for each tool, under a name that stays the same", func(ctx SpecContext) {
		ns := namespace(ctx)
		name := recorded(ctx, ns, "succeeded.yaml", func(r *v1alpha1.PerfRun) { r.GenerateName, r.Name = "invoke-", "invoke-x7k2p" })
		for format, says := range map[string]string{
			"github-action-benchmark": `"name": "invoke: added.p50 at 4 connections"`,
			"bencher":                 `"invoke/4-connections": {`,
			"otava":                   "time,run,verdict,added_p50_4_ms",
			"otava-config":            "file: invoke.csv",
			"smp":                     `"actual_QPS": 98.5`,
		} {
			got := perfrun(ctx, ns, "export", name, "-o", format)
			Expect(got.Code).To(BeZero(), got.Says)
			Expect(got.Out).To(ContainSubstring(says), format)
		}
		Expect(perfrun(ctx, ns, "export", name, "-o", "bencher", "--name", "main").Out).To(ContainSubstring(`"main/4-connections": {`))
	})

	It("writes the results of a schedule, the latest for trackers and all that are comparable for Otava", func(ctx SpecContext) {
		ns := namespace(ctx)
		s := &v1alpha1.PerfSeries{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nightly"},
			Environments: []v1alpha1.SeriesContext{{Digest: "a", Values: map[string]string{"dapr": "1.18.0"}}}, Settings: []v1alpha1.SeriesContext{{Digest: "b", Values: map[string]string{}}}}
		for i, verdict := range []v1alpha1.Phase{v1alpha1.PhaseSucceeded, v1alpha1.PhaseError, v1alpha1.PhaseInconclusive, v1alpha1.PhaseFailed} {
			r := v1alpha1.RunResult{Run: fmt.Sprintf("nightly-%d", i), Time: metav1.NewTime(time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)), Verdict: verdict, Environment: "a", Settings: "b"}
			if verdict != v1alpha1.PhaseError {
				r.Figures = []v1alpha1.Figure{{Metric: "added.p90", Connections: 16, Value: fmt.Sprintf("%dms", i+1)}}
			}
			s.Results = append(s.Results, r)
		}
		Expect(admin.Create(ctx, s)).To(Succeed())
		Expect(perfrun(ctx, ns, "export", "--schedule", "nightly", "-o", "otava").Out).To(Equal(
			"time,run,verdict,added_p90_16_ms\n2026-01-01T00:00:00Z,nightly-0,Succeeded,1\n2026-01-04T00:00:00Z,nightly-3,Failed,4\n"))
		var entries []map[string]any
		Expect(json.Unmarshal([]byte(perfrun(ctx, ns, "export", "--schedule", "nightly", "-o", "github-action-benchmark").Out), &entries)).To(Succeed())
		Expect(entries).To(ConsistOf(And(HaveKeyWithValue("name", "nightly: added.p90 at 16 connections"), HaveKeyWithValue("value", 4.0), HaveKeyWithValue("unit", "ms"))))
	})

	It("refuses what would mislead", func(ctx SpecContext) {
		ns := namespace(ctx)
		Expect(perfrun(ctx, ns, "export", recorded(ctx, ns, "inconclusive.yaml"), "-o", "bencher").Says).To(ContainSubstring("--inconclusive exports them"))
		Expect(perfrun(ctx, ns, "export", "inconclusive", "-o", "bencher", "--inconclusive").Code).To(BeZero())
		Expect(perfrun(ctx, ns, "export", recorded(ctx, ns, "queued.yaml"), "-o", "smp").Says).To(ContainSubstring("its phase is Queued"))
		Expect(perfrun(ctx, ns, "export", "-o", "smp").Says).To(ContainSubstring("whose results"))
		Expect(perfrun(ctx, ns, "export", "queued").Says).To(ContainSubstring(`"output" not set`))
		Expect(perfrun(ctx, ns, "export", "inconclusive", "-o", "xml", "--inconclusive").Says).To(ContainSubstring(`-o "xml" is none of`))
		Expect(perfrun(ctx, ns, "export", "--schedule", "nothing", "-o", "otava").Says).To(ContainSubstring("reading the results of PerfSchedule"))
	})

	It("triggers a schedule and follows the run", func(ctx SpecContext) {
		ns := namespace(ctx)
		s := nightly(ns)
		Expect(admin.Create(ctx, s)).To(Succeed())
		go func() {
			defer GinkgoRecover()
			// As the operator does.
			Eventually(func() map[string]string {
				Expect(admin.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
				return s.Annotations
			}, 10*time.Second, 50*time.Millisecond).Should(HaveKey(schedule.AnnotationTrigger))
			run := schedule.ManualName(s.Name, s.Annotations[schedule.AnnotationTrigger])
			Expect(admin.Create(ctx, &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: run}, Spec: s.Spec.RunTemplate.Spec})).To(Succeed())
			finish(ctx, ns, run, "failed.yaml")
		}()
		got := perfrun(ctx, ns, "trigger", "nightly", "--watch")
		Expect(got.Code).To(Equal(2), got.Says)
		Expect(got.Out).To(MatchRegexp(`^perfrun.perfrun.dev/nightly-manual-[0-9a-f]{8} created\n`))
		Expect(perfrun(ctx, ns, "trigger", "nothing").Says).To(ContainSubstring("reading PerfSchedule"))
		Expect(perfrun(ctx, ns, "__complete", "--kubeconfig", kubeconfig, "-n", ns, "trigger", "").Out).To(HavePrefix("nightly\t0 3 * * *\n"))
	})
})
