package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/schedule"
)

func schedules() {
	It("measures when a schedule is triggered, and keeps the result beyond the run", func(ctx SpecContext) {
		key := client.ObjectKey{Namespace: cluster.newNamespace(ctx), Name: "asked"}
		s := &v1alpha1.PerfSchedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Annotations: map[string]string{schedule.AnnotationTrigger: "now"}},
			Spec: v1alpha1.PerfScheduleSpec{
				Schedule: "0 0 1 1 *", Suspend: ptr.To(true), SuccessfulRunsHistoryLimit: ptr.To[int32](0), FailedRunsHistoryLimit: ptr.To[int32](0),
				RunTemplate: v1alpha1.RunTemplate{Spec: perfRun("", "", blocks(2, 2*time.Second, time.Second)).Spec},
			},
		}
		Expect(cluster.Create(ctx, s)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(cluster.Get(ctx, key, s)).To(Succeed())
			g.Expect(s.Status.Series).NotTo(BeNil())
		}).WithContext(ctx).WithTimeout(preparing + time.Minute).WithPolling(time.Second).Should(Succeed())

		result := s.Status.Results[0]
		Expect(result.Run).To(HavePrefix("asked-manual-"))
		Expect(result.Verdict).To(Or(Equal(v1alpha1.PhaseSucceeded), Equal(v1alpha1.PhaseInconclusive)))
		for _, metric := range []string{"added.p50", "baseline.p50", "dapr.p50", "callerSidecar.cpuPer1000RPS", "targetSidecar.memory", "sentry.memory"} {
			Expect(result.Figures).To(ContainElement(HaveField("Metric", metric)))
		}
		Eventually(func() bool {
			err := cluster.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: result.Run}, &v1alpha1.PerfRun{})
			return apierrors.IsNotFound(err)
		}).WithContext(ctx).WithTimeout(10*time.Second).Should(BeTrue(), "the run is beyond the history limit")
		var series v1alpha1.PerfSeries
		Expect(cluster.Get(ctx, key, &series)).To(Succeed())
		Expect(series.Results).To(Equal([]v1alpha1.RunResult{result}))
		Expect(series.Environments).To(ConsistOf(HaveField("Values", HaveKey("nodes.target"))))

		Expect(cluster.Delete(ctx, s)).To(Succeed())
		Eventually(func() bool { return apierrors.IsNotFound(cluster.Get(ctx, key, &series)) }).
			WithContext(ctx).WithTimeout(20*time.Second).WithPolling(500*time.Millisecond).Should(BeTrue(), "the series goes with its schedule")
	}, SpecTimeout(3*time.Minute))
}
