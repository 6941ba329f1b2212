package results

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/stats"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// synthetic is a report with known answers: six pairs of 10 s blocks at 100 requests/s. Baseline answers in 1 ms, Dapr in 3 ms,
// every tenth request takes 10 times as long. In the Dapr arm a sidecar uses 0.5 CPU seconds a second, else 0.1.
func synthetic(t *testing.T, mutate ...func(*Input)) Input {
	t.Helper()
	return pairs(t, 6, mutate...)
}

// pairs is the same with so many pairs.
func pairs(t testing.TB, n int, mutate ...func(*Input)) Input {
	t.Helper()
	r := &measure.Report{RPS: 100, Observed: measure.Observed{DaprVersion: "1.18.0", MTLS: true, CPUs: 4, Traced: 6000, Sampled: 612}}
	at := begin
	var cpu float64
	sidecar := measure.Series{Component: "targetSidecar", Pod: "tg", Source: measure.SourceRemoteProc}
	for pair := range n {
		arms := []measure.Arm{measure.Baseline, measure.Dapr}
		if pair%2 == 1 {
			arms[0], arms[1] = arms[1], arms[0]
		}
		for _, arm := range arms {
			base, rate := time.Millisecond, 0.1
			if arm == measure.Dapr {
				base, rate = 3*time.Millisecond, 0.5
			}
			index := len(r.Blocks)
			r.Blocks = append(r.Blocks, measure.BlockReport{
				Block: measure.Block{Connections: 4, Arm: arm, Pair: pair, Duration: 10 * time.Second},
				Start: at, End: at.Add(10 * time.Second), Planned: 1000, Succeeded: 1000, Steady: 800, SteadyTime: 8 * time.Second,
				Response: histogram(t, base, 1000), Service: histogram(t, base, 1000), Lag: histogram(t, 100*time.Microsecond, 1000),
			})
			sidecar.Readings = append(sidecar.Readings,
				measure.Reading{Block: index, Time: at, CPUSeconds: cpu, Resident: 50 << 20, Anonymous: 20 << 20},
				measure.Reading{Block: index, Time: at.Add(10 * time.Second), CPUSeconds: cpu + 10*rate, Resident: 54 << 20, Anonymous: 22 << 20})
			cpu += 10 * rate
			at = at.Add(10 * time.Second)
		}
	}
	r.Usage = []measure.Series{sidecar}
	in := Input{
		Settings: (&v1alpha1.PerfRunSpec{RPS: ptr.To[int32](100), Connections: []int32{4}}).EffectiveSettings(),
		Report:   r,
		Components: []Component{
			{Component: v1alpha1.ComponentTargetSidecar, Pod: "tg", Node: "n2"},
			{Component: v1alpha1.ComponentSentry, Pod: "sentry-0", Node: "n1", ControlPlane: true},
		},
		Nodes: v1alpha1.Nodes{LoadTester: "n1", Target: "n2"},
	}
	for _, m := range mutate {
		m(&in)
	}
	return in
}

func histogram(t testing.TB, base time.Duration, n int) []byte {
	t.Helper()
	h := stats.NewHistogram()
	for i := range n {
		if i%10 == 9 {
			h.Record(10 * base)
		} else {
			h.Record(base)
		}
	}
	b, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func build(t *testing.T, in Input) *Outcome {
	t.Helper()
	out, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestKnownAnswers(t *testing.T) {
	out := build(t, synthetic(t))
	if out.Verdict != v1alpha1.PhaseSucceeded || out.Reason != v1alpha1.ReasonMeasured {
		t.Fatalf("verdict %s %s: %s", out.Verdict, out.Reason, out.Message)
	}
	r := out.Results[0]
	for _, c := range []struct{ name, got, want string }{
		{"requests", fmt.Sprint(r.Dapr.Requests), "6000"},
		{"rate", r.Dapr.AchievedRPS, "100.0"},
		{"baseline p50", r.Baseline.Latency.P50.Round(10 * time.Microsecond).String(), "1ms"},
		{"dapr p50", r.Dapr.Latency.P50.Round(10 * time.Microsecond).String(), "3ms"},
		{"dapr p99", r.Dapr.Latency.P99.Round(100 * time.Microsecond).String(), "30ms"},
		{"added p50", r.Added.P50.Value.Round(10 * time.Microsecond).String(), "2ms"},
		{"added p99", r.Added.P99.Value.Round(100 * time.Microsecond).String(), "20ms"},
		{"interval", r.Added.P50.Low.Round(10 * time.Microsecond).String(), "2ms"},
		{"sampling", out.Sampling, "0.102"},
		{"summary", out.Summary.SidecarCPU, "500m"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, c.got, c.want)
		}
	}
	if !strings.Contains(out.Message, "at 4 connections Dapr adds p50 2") {
		t.Errorf("headline: %s", out.Message)
	}
}

func TestErrorsGoByStatusOrByTheNameOfTheirCode(t *testing.T) {
	out := build(t, synthetic(t, func(in *Input) {
		for i := range in.Report.Blocks {
			if in.Report.Blocks[i].Arm == measure.Dapr {
				in.Report.Blocks[i].Errors = map[int]int64{measure.FirstGRPCCode + 14: 2, 500: 3, -1: 1}
			}
		}
	}))
	dapr, blocks := out.Results[0].Dapr, out.Results[0].Added.P50.Pairs
	want := map[string]int64{"Unavailable": 2 * int64(blocks), "500": 3 * int64(blocks), "-1": int64(blocks)}
	if diff := cmp.Diff(want, dapr.ErrorCodes); diff != "" || dapr.Errors != 6*int64(blocks) {
		t.Errorf("%d errors: %s", dapr.Errors, diff)
	}
}

func TestWithoutBaselineTheDaprArmStandsAlone(t *testing.T) {
	in := synthetic(t)
	in.Settings.Baseline = v1alpha1.BaselineNone
	in.Report = withoutBaseline(in.Report)
	out := build(t, in)
	if out.Verdict != v1alpha1.PhaseSucceeded || !strings.HasPrefix(out.Message, "at 4 connections requests through Dapr take mean ") {
		t.Fatalf("verdict %s %s: %s", out.Verdict, out.Reason, out.Message)
	}
	r := out.Results[0]
	if r.Baseline != nil || r.Dapr.Requests != 6000 || r.Added != nil && r.Added.P50 != nil {
		t.Errorf("%+v", r)
	}
	for _, u := range out.Usage {
		if u.Arm != v1alpha1.ArmDapr {
			t.Errorf("usage of an arm that was not measured: %+v", u)
		}
	}
}

// withoutBaseline leaves the Dapr arm's blocks, and their readings.
func withoutBaseline(r *measure.Report) *measure.Report {
	out := *r
	out.Blocks = nil
	index := map[int]int{}
	for i, b := range r.Blocks {
		if b.Arm == measure.Dapr {
			index[i] = len(out.Blocks)
			out.Blocks = append(out.Blocks, b)
		}
	}
	out.Usage = nil
	for _, s := range r.Usage {
		var kept []measure.Reading
		for _, reading := range s.Readings {
			if i, ok := index[reading.Block]; ok {
				reading.Block = i
				kept = append(kept, reading)
			}
		}
		s.Readings = kept
		out.Usage = append(out.Usage, s)
	}
	return &out
}

func TestLatenessIsCounted(t *testing.T) {
	// Every tenth request of one Dapr block is sent 3 ms late; everywhere else it is 1 ms, which a timer may be.
	out := build(t, synthetic(t, func(in *Input) { in.Report.Blocks[1].Lag = histogram(t, 300*time.Microsecond, 1000) }))
	r := out.Results[0]
	if r.Baseline.Late != 0 || r.Dapr.Late != 100 {
		t.Errorf("late: baseline %d, Dapr %d", r.Baseline.Late, r.Dapr.Late)
	}
	if l := r.Dapr.Lag; l.Max.Round(10*time.Microsecond) != 3*time.Millisecond || l.P99.Round(10*time.Microsecond) != 3*time.Millisecond {
		t.Errorf("lag: %+v", l)
	}
}

func TestUsageCountsEachArmAlone(t *testing.T) {
	usage := build(t, synthetic(t)).Usage
	want := v1alpha1.Usage{
		Component: v1alpha1.ComponentTargetSidecar, Arm: v1alpha1.ArmDapr, Pod: "tg", Node: "n2", Source: v1alpha1.SourceProc, Coverage: "1.00",
		CPU: quantity("500m"), CPUPer1000RPS: quantity("5"), AnonymousMemory: quantity("21Mi"),
		Memory: &v1alpha1.Memory{Kind: v1alpha1.MemoryResident, Mean: *quantity("52Mi"), Max: *quantity("54Mi")},
		CrossChecks: []v1alpha1.CrossCheck{{Source: v1alpha1.SourceMetricsServer,
			Note: "unavailable: 0 of metrics-server's windows lie wholly within the measurement, at least 2 are needed"}},
	}
	if diff := cmp.Diff(want, usage[0], cmp.Comparer(sameQuantity)); diff != "" {
		t.Error(diff)
	}
	if u := usage[1]; u.CPU != nil || u.Note == "" {
		t.Errorf("a component that was not read has no figure but a note: %+v", u)
	}
	baseline := usage[2]
	if baseline.Arm != v1alpha1.ArmBaseline || !sameQuantity(*baseline.CPU, *quantity("100m")) || baseline.CPUPer1000RPS != nil {
		t.Errorf("baseline: %+v", baseline)
	}
}

func quantity(s string) *resource.Quantity { q := resource.MustParse(s); return &q }

func sameQuantity(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }

func TestMetricsServerIsComparedOverItsOwnWindows(t *testing.T) {
	in := synthetic(t)
	// From 5 s to 25 s: 5 s of Baseline (0.1) and 15 s of Dapr (0.5): 8 CPU seconds in 20 s. The window before the first block does not count.
	window := func(end, length time.Duration, cpu float64) measure.Window {
		return measure.Window{Component: "targetSidecar", Pod: "tg", End: begin.Add(end), Length: length, CPU: cpu, WorkingSet: 60 << 20}
	}
	in.Report.Windows = []measure.Window{window(5*time.Second, 15*time.Second, 9), window(25*time.Second, 20*time.Second, 0.41), window(45*time.Second, 20*time.Second, 0.21)}
	c := build(t, in).Usage[0].CrossChecks[0]
	// 25 s to 45 s: Dapr to 30 s, then Baseline to 50 s: 5*0.5 + 15*0.1 = 4 CPU seconds in 20 s.
	if c.Windows != 2 || !sameQuantity(*c.CPU, *quantity("310m")) || !sameQuantity(*c.ComparedCPU, *quantity("300m")) || c.Memory.Kind != v1alpha1.MemoryWorkingSet {
		t.Errorf("%+v", c)
	}
}

func TestACounterThatWentBackCountsForNothing(t *testing.T) {
	in := synthetic(t)
	readings := in.Report.Usage[0].Readings
	for i := 3; i < len(readings); i++ {
		readings[i].CPUSeconds -= readings[3].CPUSeconds - 0.01
	}
	u := build(t, in).Usage[0]
	if !sameQuantity(*u.CPU, *quantity("500m")) || u.Coverage != "0.83" {
		t.Errorf("cpu %s, coverage %s: the block in which the process restarted must be left out, and be missing from the coverage", u.CPU, u.Coverage)
	}
}

func TestEveryRuleOfValidity(t *testing.T) {
	block := func(f func(*measure.BlockReport)) func(*Input) {
		return func(in *Input) {
			for i := range in.Report.Blocks {
				if in.Report.Blocks[i].Arm == measure.Dapr {
					f(&in.Report.Blocks[i])
				}
			}
		}
	}
	cases := []struct {
		name   string
		mutate func(*Input)
		want   []string
	}{
		{"nothing wrong", func(*Input) {}, nil},
		{"a few errors", block(func(b *measure.BlockReport) { b.Succeeded, b.Steady, b.Errors = 995, 796, map[int]int64{500: 5} }), nil},
		{"many errors", block(func(b *measure.BlockReport) {
			b.Succeeded, b.Steady, b.Errors = 900, 720, map[int]int64{500: 60, -1: 40}
		}), []string{v1alpha1.ReasonRequestErrors, v1alpha1.ReasonRequestErrors}},
		{"skipped requests", block(func(b *measure.BlockReport) { b.Succeeded, b.Steady, b.Skipped = 900, 700, 100 }), []string{v1alpha1.ReasonRequestsSkipped, v1alpha1.ReasonRateShortfall}},
		// 25 requests on each of 4 connections are due 24 intervals apart: 76.8 of them in 80% of the block.
		{"few requests on each connection", block(func(b *measure.BlockReport) {
			b.Planned, b.Succeeded, b.Steady, b.SteadyTime = 100, 100, 77, 800*time.Millisecond
		}), nil},
		{"fewer than were due", block(func(b *measure.BlockReport) {
			b.Planned, b.Succeeded, b.Steady, b.SteadyTime = 100, 100, 75, 800*time.Millisecond
		}), []string{v1alpha1.ReasonRateShortfall}},
		{"a backlog that grows", block(func(b *measure.BlockReport) { b.Steady = 785 }), []string{v1alpha1.ReasonRateShortfall}},
		{"a backlog at the end that was there all along", block(func(b *measure.BlockReport) { b.End = b.End.Add(time.Second) }), nil},
		{"a restarted sidecar", func(in *Input) { in.Components[0].Restarts = 1 }, []string{v1alpha1.ReasonRestarted}},
		{"a restarted control plane is shown, not judged", func(in *Input) { in.Components[1].Restarts = 1 }, nil},
		{"another target", func(in *Input) { in.Replaced = []string{"tg"} }, []string{v1alpha1.ReasonPodMoved}},
		{"one node instead of two", func(in *Input) { in.Nodes.LoadTester = "n2" }, []string{v1alpha1.ReasonWrongNodes}},
		{"two nodes instead of one", func(in *Input) { in.Settings.Placement = v1alpha1.PlacementSameNode }, []string{v1alpha1.ReasonWrongNodes}},
		{"another sampling", func(in *Input) { in.Report.Observed.Sampled = 6000 }, []string{v1alpha1.ReasonSamplingMismatch}},
		{"sampling off", func(in *Input) { in.Settings.Sampling = "0"; in.Report.Observed.Sampled = 0 }, nil},
		{"an arm without blocks", func(in *Input) { in.Report.Blocks = in.Report.Blocks[:1] }, []string{v1alpha1.ReasonRateShortfall}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out := build(t, synthetic(t, c.mutate))
			var got []string
			for _, r := range out.Reasons {
				got = append(got, r.Reason)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n%+v", diff, out.Reasons)
			}
			if want := len(c.want) > 0; (out.Verdict == v1alpha1.PhaseInconclusive) != want {
				t.Errorf("verdict %s", out.Verdict)
			}
		})
	}
}

func TestAnotherApplicationIsNotBlamedForItsSampling(t *testing.T) {
	out := build(t, synthetic(t, func(in *Input) {
		in.ForeignTarget, in.Report.Observed.Traced, in.Report.Observed.Sampled = true, 0, 0
	}))
	if out.Verdict != v1alpha1.PhaseSucceeded || out.Sampling != "" ||
		len(out.Warnings) != 1 || out.Warnings[0].Reason != v1alpha1.ReasonSamplingUnknown {
		t.Errorf("%s, sampling %q, warnings %+v", out.Verdict, out.Sampling, out.Warnings)
	}
}

func TestFewPairsHaveNoInterval(t *testing.T) {
	out := build(t, synthetic(t, func(in *Input) { in.Report.Blocks = in.Report.Blocks[:10] }))
	if a := out.Results[0].Added.P50; a.Pairs != 5 || a.Low != nil || a.High != nil || a.Detectable != nil ||
		a.Note != "no interval: 5 pair(s) have a figure, at least 6 are needed" {
		t.Errorf("%+v", a)
	}
}

func TestCPUPerRequestIsThatOfBothSidecars(t *testing.T) {
	// The target's sidecar uses 500m in each Dapr block at 100 requests/s, the caller's 200m and once 400m.
	in := synthetic(t, withCaller, func(in *Input) {
		caller := in.Report.Usage[1].Readings
		// Blocks run in the order BDDBBDDB...: the third is the second of the Dapr arm.
		for i := 2*2 + 1; i < len(caller); i++ {
			caller[i].CPUSeconds += 2
		}
	})
	out := build(t, in)
	cpu := out.Results[0].Added.CPUPer1000RPS
	if cpu.Pairs != 6 || !sameQuantity(cpu.Value, *quantity("7")) || cpu.Low == nil || cpu.High == nil || cpu.Note != "" {
		t.Errorf("%+v", cpu)
	}
	in.Report.Usage = in.Report.Usage[:1]
	if a := build(t, in).Results[0].Added; a.CPUPer1000RPS != nil {
		t.Errorf("one sidecar is not both: %+v", a.CPUPer1000RPS)
	}
}

func TestTheSmallestDifferenceStandsBesideTheInterval(t *testing.T) {
	a := build(t, synthetic(t, scattered(t))).Results[0].Added.P50
	want := 1.43 * float64(a.High.Duration-a.Low.Duration) / 2
	if got := float64(a.Detectable.Duration); got < 0.99*want || got > 1.01*want || want == 0 {
		t.Errorf("got %s, interval %s to %s", a.Detectable, a.Low, a.High)
	}
}

func TestTheSameReportGivesTheSameOutcome(t *testing.T) {
	in := synthetic(t, withCaller, scattered(t))
	in.Thresholds = &v1alpha1.Thresholds{Added: &v1alpha1.LatencyThresholds{P50: limit(4 * time.Millisecond)}, SidecarCPU: quantity("1")}
	if diff := cmp.Diff(build(t, in), build(t, in), cmp.Comparer(sameQuantity)); diff != "" {
		t.Error(diff)
	}
}

func TestAReportThatCannotBeReadIsAnError(t *testing.T) {
	in := synthetic(t, func(in *Input) { in.Report.Blocks[3].Response = []byte("no histogram") })
	if _, err := Build(in); err == nil || !strings.Contains(err.Error(), "block 3") {
		t.Errorf("got %v", err)
	}
}
