package report

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// printed is the report of a status, its runs of blanks as one.
func printed(t *testing.T, status v1alpha1.PerfRunStatus) string {
	t.Helper()
	var out strings.Builder
	if err := Write(&out, &v1alpha1.PerfRun{Status: status}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ")
	}
	return strings.Join(lines, "\n")
}

func shows(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if !strings.Contains(text, l) {
			t.Errorf("%q is not in:\n%s", l, text)
		}
	}
}

func TestThresholds(t *testing.T) {
	shows(t, printed(t, v1alpha1.PerfRunStatus{Thresholds: []v1alpha1.ThresholdResult{
		{Threshold: "added.p90", Connections: 16, Limit: "2ms", Figure: "2.3ms", Low: "2.1ms", High: "2.5ms", Outcome: v1alpha1.OutcomeMissed},
		{Threshold: "sidecarCPU", Connections: 16, Limit: "1", Outcome: v1alpha1.OutcomeUndecided, Message: "not read"},
	}}), "Thresholds", "Missed added.p90 16 2ms 2.3ms 2.1ms 2.5ms", "Undecided sidecarCPU 16 1 - - - not read")
}

func TestAnotherApplicationIsNamed(t *testing.T) {
	shows(t, printed(t, v1alpha1.PerfRunStatus{Settings: &v1alpha1.Settings{Sampling: "0.1"},
		Environment: &v1alpha1.Environment{Images: &v1alpha1.Images{Perfrun: "perfrun:1", Target: "example.org/app:1"}}}),
		"target example.org/app:1", "sampling 0.1 asked, unknown seen at the target")
}

func TestPunctuality(t *testing.T) {
	lag := &v1alpha1.Lag{P99: ptr.To(v1alpha1.NewLatency(180 * time.Microsecond)), Max: v1alpha1.NewLatency(3100 * time.Microsecond)}
	shows(t, printed(t, v1alpha1.PerfRunStatus{Results: []v1alpha1.PointResult{{Connections: 16,
		Dapr: &v1alpha1.ArmResult{Requests: 60000, Late: 12, Skipped: 3, Lag: lag}}}}),
		"Dapr: 12 requests sent more than 1ms late (lag p99 180us, max 3.1ms), 3 not sent in time")
}

func TestUsage(t *testing.T) {
	shows(t, printed(t, v1alpha1.PerfRunStatus{Usage: []v1alpha1.Usage{{
		Component: v1alpha1.ComponentTargetSidecar, Arm: v1alpha1.ArmDapr, Pod: "tg", Source: v1alpha1.SourceProc, CPU: ptr.To(resource.MustParse("435m")),
		Limits: &v1alpha1.Limits{CPU: ptr.To(resource.MustParse("500m"))}, Throttling: &v1alpha1.Throttling{Periods: 600, ThrottledPeriods: 258},
		Restarts: 1, RestartReason: "OOMKilled (exit code 137)",
	}}}), "targetSidecar tg 435m - - - - 500m 43% 1, last after OOMKilled (exit code 137) proc -")
}

func TestIntervals(t *testing.T) {
	us := func(n time.Duration) *v1alpha1.Latency { return ptr.To(v1alpha1.NewLatency(n * time.Microsecond)) }
	shows(t, printed(t, v1alpha1.PerfRunStatus{Results: []v1alpha1.PointResult{{Connections: 16, Added: &v1alpha1.Added{
		P50: &v1alpha1.AddedLatency{Value: *us(910), Low: us(880), High: us(950), Detectable: us(50), Pairs: 6},
		CPUPer1000RPS: &v1alpha1.AddedCPU{Value: resource.MustParse("212m"), Low: ptr.To(resource.MustParse("200m")),
			High: ptr.To(resource.MustParse("220m")), Detectable: ptr.To(resource.MustParse("15m")), Pairs: 6},
	}}}}), "Dapr adds 910us", "95% from 880us", "95% to 950us", "detectable 50us",
		"for each 1000 requests/s: 212m (95% from 200m to 220m, detectable 15m)")
}

func TestSeveralLoadTesters(t *testing.T) {
	shows(t, printed(t, v1alpha1.PerfRunStatus{
		Settings:    &v1alpha1.Settings{},
		Environment: &v1alpha1.Environment{Nodes: &v1alpha1.Nodes{LoadTester: "n3", LoadTesters: []string{"n3", "n1", "n3"}, Target: "n2"}},
		Results:     []v1alpha1.PointResult{{Connections: 6, StartSkewMax: ptr.To(v1alpha1.NewLatency(1500 * time.Microsecond))}},
	}), "3 load testers (1 on n1, 2 on n3), target on n2", "The load testers began each block within 1.5ms of each other")
	shows(t, printed(t, v1alpha1.PerfRunStatus{
		Settings:    &v1alpha1.Settings{},
		Environment: &v1alpha1.Environment{Nodes: &v1alpha1.Nodes{LoadTester: "n3", Target: "n2"}},
	}), "load tester on n3, target on n2")
}

func TestSeveralActorHosts(t *testing.T) {
	shows(t, printed(t, v1alpha1.PerfRunStatus{
		Settings:    &v1alpha1.Settings{Actors: &v1alpha1.ActorsInForce{IDs: intstr.FromInt32(100), Method: "echo", StateStore: "redis", Replicas: 2}},
		Environment: &v1alpha1.Environment{Nodes: &v1alpha1.Nodes{LoadTester: "n3", Target: "n1", Targets: []string{"n1", "n2"}}},
		ActorHosts:  []v1alpha1.HostCalls{{Pod: "a", Calls: ptr.To[int64](750)}, {Pod: "b", Calls: ptr.To[int64](250)}, {Pod: "c"}},
	}), "100 warm ones in turn, method echo, 2 hosts, state store: redis", "load tester on n3, 2 actor hosts (1 on n1, 1 on n2)",
		"a: 750 calls, 75%", "b: 250 calls, 25%", "c: calls not counted")
}

func TestRebalances(t *testing.T) {
	at := metav1.NewMicroTime(time.Unix(1000, 0))
	lasts := func(d time.Duration) *v1alpha1.Latency { return ptr.To(v1alpha1.NewLatency(d)) }
	shows(t, printed(t, v1alpha1.PerfRunStatus{
		Settings: &v1alpha1.Settings{Actors: &v1alpha1.ActorsInForce{IDs: intstr.FromInt32(100), Method: "echo", StateStore: "redis", Replicas: 1, Rebalance: true}},
		Rebalances: []v1alpha1.Rebalance{
			{Change: v1alpha1.HostAdded, Pair: 1, Time: at, Host: "j", DoneTime: ptr.To(metav1.NewMicroTime(at.Add(3 * time.Second))), Calls: 1500, Failed: 20,
				Normal: lasts(2 * time.Millisecond), SlowestCall: lasts(time.Second), LongestStall: lasts(900 * time.Millisecond), Disturbed: lasts(1250 * time.Millisecond), Recovery: lasts(4 * time.Second)},
			{Change: v1alpha1.HostRemoved, Pair: 1, Time: at, Note: "the host had not left by the end of the block"},
		},
	}), "one more joining and leaving", "HostAdded 1 j 3s 1500 20 900ms 1s 1.25s 4s 2ms", "HostRemoved 1 - - 0 0 - - - - - the host had not left")
}

func TestPath(t *testing.T) {
	shows(t, printed(t, v1alpha1.PerfRunStatus{Settings: &v1alpha1.Settings{
		Invocation: &v1alpha1.InvocationPath{Caller: v1alpha1.ProtocolGRPC, Target: v1alpha1.ProtocolHTTP, Display: "gRPC to HTTP"},
	}}), "path gRPC to HTTP")
}

func TestWithoutBaseline(t *testing.T) {
	text := printed(t, v1alpha1.PerfRunStatus{
		Settings: &v1alpha1.Settings{RPS: 500, PayloadBytes: 2, Pairs: 6, Baseline: v1alpha1.BaselineNone},
		Results: []v1alpha1.PointResult{{Connections: 8, Dapr: &v1alpha1.ArmResult{Requests: 30000, AchievedRPS: "500.0"},
			Added: &v1alpha1.Added{CPUPer1000RPS: &v1alpha1.AddedCPU{Value: resource.MustParse("212m"), Pairs: 6}}}},
	})
	shows(t, text, "500 requests/s of 2 bytes, 6 block(s) without a baseline", "Dapr - - - - - - - - 30000 0 500.0", "for each 1000 requests/s: 212m")
	for _, absent := range []string{"Baseline", "Dapr adds"} {
		if strings.Contains(text, absent) {
			t.Errorf("%q is in:\n%s", absent, text)
		}
	}
}

func TestActors(t *testing.T) {
	for says, a := range map[string]v1alpha1.ActorsInForce{
		"actors a fresh one with each request, method echo, state store: the sidecar's memory":                 {IDs: intstr.FromString("New"), Method: "echo"},
		"actors a fresh one with each request, method echo, hosted in Java, state store: the sidecar's memory": {Host: v1alpha1.ActorHostJava, IDs: intstr.FromString("New"), Method: "echo"},
		"actors 100 warm ones in turn, method noOp, state store: redis":                                        {IDs: intstr.FromInt32(100), Method: "noOp", StateStore: "redis"},
	} {
		shows(t, printed(t, v1alpha1.PerfRunStatus{Settings: &v1alpha1.Settings{Actors: &a}}), says)
	}
}

func TestInvalidBlocksAndWarnings(t *testing.T) {
	shows(t, printed(t, v1alpha1.PerfRunStatus{
		InvalidBlocks: []v1alpha1.InvalidBlock{{Connections: 16, Pair: 3, Arm: v1alpha1.ArmDapr, Reason: v1alpha1.ReasonCPUStolen, Message: "2% stolen"}},
		Warnings:      []v1alpha1.Reason{{Reason: v1alpha1.ReasonDrift, Message: "Dapr at 16 connections drifted"}},
	}), "16 3 Dapr CPUStolen 2% stolen", "Notes\nDapr at 16 connections drifted")
}
