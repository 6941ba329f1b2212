package cli

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/rawdata"
	"perfrun.dev/perfrun/internal/stats"
)

// measured creates a finished run of six pairs at 16 connections, in which the baseline takes about 1 ms and Dapr so much more.
func measured(ctx context.Context, namespace, name string, more time.Duration, changes ...func(*v1alpha1.PerfRun)) {
	GinkgoHelper()
	report := &measure.Report{Version: measure.Version, RPS: 100}
	for pair := range 6 {
		for _, arm := range []measure.Arm{measure.Baseline, measure.Dapr} {
			took := time.Millisecond + time.Duration(pair%3)*20*time.Microsecond
			if arm == measure.Dapr {
				took += more + time.Duration(pair%2)*30*time.Microsecond
			}
			h := stats.NewHistogram()
			for range 100 {
				h.Record(took)
			}
			histogram, err := h.Encode()
			Expect(err).NotTo(HaveOccurred())
			start := time.Date(2026, 1, 2, 3, 4, len(report.Blocks), 0, time.UTC)
			report.Blocks = append(report.Blocks, measure.BlockReport{
				Block: measure.Block{Connections: 16, Arm: arm, Pair: pair, Duration: time.Second}, Start: start, End: start.Add(time.Second),
				Planned: 100, Succeeded: 100, Response: histogram, Service: histogram, Lag: histogram,
				Timelines: []measure.Timeline{{Step: 1, Requests: []int64{100}, P50: []int64{1000}, P99: []int64{1000}}}})
		}
	}
	file, err := rawdata.Encode(rawdata.Name{Namespace: namespace, Name: name}, report, rawdata.Budget)
	Expect(err).NotTo(HaveOccurred())
	Expect(admin.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-raw"}, BinaryData: map[string][]byte{rawdata.Key: file.Bytes}})).To(Succeed())
	recorded(ctx, namespace, "failed.yaml", append(changes, func(r *v1alpha1.PerfRun) {
		r.Name = name
		settings := r.Spec.EffectiveSettings()
		r.Status.Settings, r.Status.InvalidBlocks = &settings, nil
		r.Status.Raw = &v1alpha1.RawData{ConfigMap: name + "-raw", Digest: file.Digest}
	})...)
}

var _ = Describe("kubectl perfrun compare", func() {
	It("tells a difference from noise", func(ctx SpecContext) {
		ns := namespace(ctx)
		measured(ctx, ns, "before", 2*time.Millisecond)
		measured(ctx, ns, "again", 2*time.Millisecond)
		measured(ctx, ns, "slower", 3*time.Millisecond)
		Expect(perfrun(ctx, ns, "compare", "before", "slower").Out).To(And(
			MatchRegexp(`(?m)^  added.p50 +16 +2\.0\d+ms +3\.0\d+ms +(999us|1(\.00\d)?ms) .* B is higher$`),
			MatchRegexp(`(?m)^  baseline.p50 +16 .* within noise$`), ContainSubstring("a schedule's series does")))
		Expect(perfrun(ctx, ns, "compare", "slower", "before").Out).To(MatchRegexp(`(?m)^  added.p50 .* B is lower$`))
		same := perfrun(ctx, ns, "compare", "before", "again", "-o", "json")
		var read comparison
		Expect(json.Unmarshal([]byte(same.Out), &read)).To(Succeed(), same.Says)
		Expect(read.Differences).NotTo(BeEmpty())
		Expect(read.Differences).To(HaveEach(And(HaveField("Change", "0s"), HaveField("Outcome", BeEquivalentTo("WithinNoise")))))
		Expect(perfrun(ctx, ns, "compare", "before", "again", "-o", "yaml").Out).To(HavePrefix("a: before\nb: again\ndifferences:\n"))
	})

	It("refuses what is not comparable, unless it is told to", func(ctx SpecContext) {
		ns := namespace(ctx)
		measured(ctx, ns, "before", 2*time.Millisecond)
		measured(ctx, ns, "newer", 2*time.Millisecond, func(r *v1alpha1.PerfRun) { r.Status.Environment.Dapr = "1.19.0" })
		Expect(perfrun(ctx, ns, "compare", "before", "newer")).To(And(HaveField("Code", 1),
			HaveField("Says", And(ContainSubstring("environment.dapr 1.18.0 -> 1.19.0"), ContainSubstring("--anyway")))))
		Expect(perfrun(ctx, ns, "compare", "before", "newer", "--anyway").Out).To(ContainSubstring("Not alike: environment.dapr 1.18.0 -> 1.19.0"))
		Expect(perfrun(ctx, ns, "compare", "before", recorded(ctx, ns, "queued.yaml")).Says).To(ContainSubstring("has no raw data"))
	})
})
