package e2e

import (
	"context"
	"fmt"
	"math"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/plan"
)

// exporting sends a fraction of the requests' traces to the sink. Where nothing and where a tenth is exported is checked beside mTLS.
func exporting(sampling string) change {
	return func(s *v1alpha1.PerfRunSpec) {
		s.Sampling = ptr.To(sampling)
		s.Telemetry = &v1alpha1.TelemetrySettings{Export: ptr.To(true)}
	}
}

// telemetry: what is exported arrives, and sidecars without metrics are measured all the same.
func telemetry() {
	It("counts every trace at the sink, and measures sidecars without metrics", func(ctx SpecContext) {
		run := perfRun(cluster.newNamespace(ctx), "all-traced", kept, exporting("1"),
			func(s *v1alpha1.PerfRunSpec) { s.Telemetry.Metrics = ptr.To(false) })
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitMeasured(ctx, run, preparing+time.Minute)
		expectExported(run, 1)
		// Dapr serves a page all the same, which tells of the process alone.
		page, err := cluster.metricsOf(ctx, run, plan.RoleTarget)
		Expect(err).NotTo(HaveOccurred())
		Expect(page).To(And(ContainSubstring("process_cpu_seconds_total"), Not(ContainSubstring("dapr_http_"))), "the sidecar counts requests, although its metrics are off")
		for _, u := range usageOf(run, v1alpha1.ArmDapr) {
			Expect(u.CPU).NotTo(BeNil(), "%s has no CPU: %s", u.Component, u.Note)
			if u.Component == v1alpha1.ComponentCallerSidecar || u.Component == v1alpha1.ComponentTargetSidecar {
				Expect(u.Source).To(Equal(v1alpha1.SourceProc))
				Expect(crossCheck(u, v1alpha1.SourceDaprMetrics)).To(HaveField("Note", ContainSubstring("metrics are off")))
			}
		}
	}, SpecTimeout(4*time.Minute))
}

// expectExported compares what the sink has counted with the fraction that was asked for; six standard deviations are no accident, and a few
// traces are those of the load tester's own questions.
func expectExported(run *v1alpha1.PerfRun, sampling float64) {
	GinkgoHelper()
	t := run.Status.Telemetry
	Expect(t).NotTo(BeNil())
	Expect(t.Note).To(BeEmpty())
	n := float64(t.Requests)
	Expect(n).To(BeNumerically(">=", 400), "2 blocks of 2 s at 200/s, and what comes before them, at half the rate at least")
	AddReportEntry(run.Name, fmt.Sprintf("%d spans in %d traces of %d requests, %s bytes", *t.Spans, *t.Traces, t.Requests, t.Bytes))
	Expect(float64(*t.Traces)).To(BeNumerically("~", sampling*n, 6*math.Sqrt(sampling*(1-sampling)*n)+5))
	if sampling == 0 {
		Expect(*t.Spans).To(BeZero())
		return
	}
	// The target's sidecar exports as well as the caller's; a question of the load tester's that came too early for the target has one span.
	Expect(*t.Spans).To(BeNumerically(">=", 2*(*t.Traces-5)))
	Expect(t.Bytes.Value()).To(BeNumerically(">", 50**t.Spans))
	for _, w := range run.Status.Warnings {
		Expect(w.Reason).NotTo(Equal(v1alpha1.ReasonTracesLost), w.Message)
	}
}

// metricsOf asks the sidecar in a pod of the run for its metrics, through the API server.
func (c *testCluster) metricsOf(ctx context.Context, run *v1alpha1.PerfRun, role string) (string, error) {
	GinkgoHelper()
	pod := c.newestPod(ctx, run, role)
	text, err := c.clientset.CoreV1().Pods(run.Namespace).ProxyGet("http", pod.Name, fmt.Sprint(dapr.MetricsPort), "/metrics", nil).DoRaw(ctx)
	return string(text), err
}
