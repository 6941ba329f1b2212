package v1alpha1_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// measured is a status with something in every part.
func measured() v1alpha1.PerfRunStatus {
	return v1alpha1.PerfRunStatus{
		Phase: v1alpha1.PhaseInconclusive,
		Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRestarted,
			Message: "the target's sidecar restarted once", ObservedGeneration: 1, LastTransitionTime: metav1.Unix(1700000000, 0),
		}},
		QueuePosition: 3,
		Settings:      ptr.To((&v1alpha1.PerfRunSpec{}).EffectiveSettings()),
		Progress:      &v1alpha1.Progress{Block: 12, Blocks: 12, Percent: 100, Display: "100%"},
		Environment:   &v1alpha1.Environment{Kubernetes: "v1.36.3", Dapr: "1.18.0", MTLS: ptr.To(true), Sampling: "0.1"},
		Results: []v1alpha1.PointResult{{
			Connections: 16,
			Baseline:    &v1alpha1.ArmResult{Requests: 60000, AchievedRPS: "1000.0", Latency: latencies(400 * time.Microsecond)},
			Dapr:        &v1alpha1.ArmResult{Requests: 60000, AchievedRPS: "999.9", Latency: latencies(1403 * time.Microsecond)},
			Added: &v1alpha1.Added{
				P90:           added(910 * time.Microsecond),
				P99:           added(2 * time.Millisecond),
				CPUPer1000RPS: &v1alpha1.AddedCPU{Value: resource.MustParse("212m"), Pairs: 1, Note: "no interval"},
			},
		}},
		Usage: []v1alpha1.Usage{{
			Component: v1alpha1.ComponentCallerSidecar, Arm: v1alpha1.ArmDapr, Pod: "invoke-load-tester-x", Source: v1alpha1.SourceProc,
			CPU:    ptr.To(resource.MustParse("106m")),
			Memory: &v1alpha1.Memory{Kind: v1alpha1.MemoryResident, Mean: resource.MustParse("52Mi"), Max: resource.MustParse("55Mi")},
		}},
		Thresholds: []v1alpha1.ThresholdResult{{
			Threshold: "added.p90", Connections: 16, Limit: "1ms", Figure: "910us", Low: "880us", High: "950us", Outcome: v1alpha1.OutcomeMet,
		}},
		InvalidBlocks: []v1alpha1.InvalidBlock{{Connections: 16, Pair: 2, Arm: v1alpha1.ArmDapr, Reason: v1alpha1.ReasonCPUStolen, Message: "2% stolen"}},
		Warnings:      []v1alpha1.Reason{{Reason: v1alpha1.ReasonDrift, Message: "it drifted"}},
		Summary:       &v1alpha1.Summary{SidecarCPU: "212m", SidecarMemory: "104Mi"},
		Raw: &v1alpha1.RawData{ConfigMap: "invoke-raw", Digest: "sha256:" + strings.Repeat("0f", 32), Bytes: 65536,
			SeriesStep: metav1.Duration{Duration: time.Second}},
	}
}

func latencies(p50 time.Duration) *v1alpha1.LatencySummary {
	at := func(factor time.Duration) *v1alpha1.Latency { return ptr.To(v1alpha1.NewLatency(factor * p50)) }
	return &v1alpha1.LatencySummary{Mean: *at(1), P50: at(1), P90: at(2), P99: at(3), Max: *at(10)}
}

func added(value time.Duration) *v1alpha1.AddedLatency {
	return &v1alpha1.AddedLatency{Value: v1alpha1.NewLatency(value), Pairs: 6, Detectable: ptr.To(v1alpha1.NewLatency(value / 10))}
}

var _ = Describe("The status of a PerfRun", func() {
	var run *v1alpha1.PerfRun

	BeforeEach(func(ctx context.Context) {
		run = &v1alpha1.PerfRun{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "status-", Namespace: "default"},
			Spec:       v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioInvocation},
		}
		Expect(strict.Create(ctx, run)).To(Succeed())
		run.Status = measured()
		Expect(strict.Status().Update(ctx, run)).To(Succeed())
	})

	It("comes back as it was written, with nothing pruned", func(ctx context.Context) {
		var read v1alpha1.PerfRun
		Expect(strict.Get(ctx, client.ObjectKeyFromObject(run), &read)).To(Succeed())
		want, err := json.Marshal(measured())
		Expect(err).NotTo(HaveOccurred())
		Expect(json.Marshal(read.Status)).To(MatchJSON(want))
	})

	It("fills the columns of kubectl get", func(ctx context.Context) {
		table := tableOf(ctx, run)
		columns := map[string]any{}
		for i, c := range table.ColumnDefinitions {
			columns[c.Name] = table.Rows[0].Cells[i]
		}
		delete(columns, "Age")
		Expect(columns).To(Equal(map[string]any{
			"Name": run.Name, "Scenario": "Invocation", "Phase": "Inconclusive", "Queue": float64(3), "Done": "100%",
			"RPS": "999.9", "P90": "2.806ms", "P99": "4.209ms", "Added P90": "910us", "Added P99": "2ms",
			"Sidecar CPU": "212m", "Sidecar Memory": "104Mi", "Path": "HTTP to HTTP", "Message": "the target's sidecar restarted once",
		}))
	})
})

// tableOf asks for a PerfRun as kubectl get does.
func tableOf(ctx context.Context, run *v1alpha1.PerfRun) *metav1.Table {
	GinkgoHelper()
	server, err := rest.HTTPClientFor(restConfig)
	Expect(err).NotTo(HaveOccurred())
	path, err := url.JoinPath(restConfig.Host, "apis/perfrun.dev/v1alpha1/namespaces", run.Namespace, "perfruns", run.Name)
	Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	response, err := server.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(response.Body.Close()).To(Succeed()) }()
	Expect(response.StatusCode).To(Equal(http.StatusOK))
	table := &metav1.Table{}
	Expect(json.NewDecoder(response.Body).Decode(table)).To(Succeed())
	Expect(table.Rows).To(HaveLen(1))
	return table
}
