package results

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// broken changes the block at index 4: Baseline in the third pair.
func broken(f func(*measure.BlockReport)) func(*Input) {
	return func(in *Input) { f(&in.Report.Blocks[4]) }
}

// withTester adds the load tester, limited to 1 vCPU, which uses 0.2 of it and in the block at index 4 more.
func withTester(in *Input, more float64) {
	in.Components = append(in.Components, Component{Component: v1alpha1.ComponentLoadTester, Pod: "lt", Node: "n1",
		Limits: &v1alpha1.Limits{CPU: quantity("1")}})
	s := measure.Series{Component: "loadTester", Pod: "lt", Source: measure.SourceLocalProc}
	var cpu float64
	for i, b := range in.Report.Blocks {
		used := 2.0
		if i == 4 {
			used = more
		}
		s.Readings = append(s.Readings, measure.Reading{Block: i, Time: b.Start, CPUSeconds: cpu}, measure.Reading{Block: i, Time: b.End, CPUSeconds: cpu + used})
		cpu += used
	}
	in.Report.Usage = append(in.Report.Usage, s)
}

func TestEveryRuleForBlocks(t *testing.T) {
	lag := func(base time.Duration, n int) func(*Input) {
		return broken(func(b *measure.BlockReport) { b.Lag = histogram(t, base, n) })
	}
	cases := []struct {
		name   string
		mutate func(*Input)
		reason string
		says   string
	}{
		{"nothing", func(*Input) {}, "", ""},
		{"stolen CPU", broken(func(b *measure.BlockReport) { b.Steal = map[string]float64{"lt": 0, "tg": 0.023} }), v1alpha1.ReasonCPUStolen, "2.3% of the CPU time of node n2"},
		{"a little stolen CPU", broken(func(b *measure.BlockReport) { b.Steal = map[string]float64{"tg": 0.01} }), "", ""},
		{"a busy load tester", func(in *Input) { withTester(in, 5.1) }, v1alpha1.ReasonLoadTesterBusy, "used 510m of the 1 vCPU"},
		{"a load tester at half of its limit", func(in *Input) { withTester(in, 5) }, "", ""},
		{"a busy load tester without limit", func(in *Input) {
			withTester(in, 21)
			in.Components[len(in.Components)-1].Limits = nil
		}, v1alpha1.ReasonLoadTesterBusy, "used 2100m of the 4 vCPU"},
		{"a load tester of which the CPUs are not known", func(in *Input) {
			withTester(in, 100)
			in.Report.Observed.CPUs = 0
		}, "", ""},
		{"a late load tester", lag(2*time.Millisecond, 1000), v1alpha1.ReasonLoadTesterLate, "1% of the requests 20.015ms late"},
		{"a load tester that is seldom late", lag(900*time.Microsecond, 1000), "", ""},
		{"a late load tester at a low rate", lag(11*time.Millisecond, 500), v1alpha1.ReasonLoadTesterLate, "10% of the requests 11"},
		{"too few requests to tell lateness", lag(time.Second, 50), "", ""},
		{"errors", broken(func(b *measure.BlockReport) { b.Succeeded, b.Steady, b.Errors = 980, 784, map[int]int64{500: 20} }), v1alpha1.ReasonRequestErrors, "20 of 1000 requests failed (2.0%"},
		{"few errors", broken(func(b *measure.BlockReport) { b.Succeeded, b.Errors = 990, map[int]int64{500: 10} }), "", ""},
		{"skipped requests", broken(func(b *measure.BlockReport) { b.Succeeded, b.Skipped = 998, 2 }), v1alpha1.ReasonRequestsSkipped, "2 of 1000 requests were not sent"},
		{"one skipped request", broken(func(b *measure.BlockReport) { b.Succeeded, b.Skipped = 999, 1 }), "", ""},
		{"a rate that was kept closely", broken(func(b *measure.BlockReport) { b.Steady = 792 }), "", ""},
		{"an answer under way on each connection", broken(func(b *measure.BlockReport) { b.Steady, b.SteadyTime = 76, 800*time.Millisecond }), "", ""},
		{"all at once: the cause before what it explains", func(in *Input) {
			withTester(in, 9)
			lag(time.Second, 1000)(in)
			broken(func(b *measure.BlockReport) {
				b.Succeeded, b.Steady, b.Skipped, b.Steal = 900, 700, 100, map[string]float64{"lt": 0.5}
			})(in)
		}, v1alpha1.ReasonCPUStolen, "of node n1 to others (allowed 1%); the load tester in pod lt used 900m of the 1 vCPU"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out := build(t, pairs(t, 8, c.mutate))
			if out.Verdict != v1alpha1.PhaseSucceeded {
				t.Fatalf("one block of sixteen is no reason for %s: %s", out.Verdict, out.Message)
			}
			r := out.Results[0]
			if c.reason == "" {
				if len(out.InvalidBlocks) != 0 || r.Added.P50.Pairs != 8 {
					t.Errorf("%+v", out.InvalidBlocks)
				}
				return
			}
			if len(out.InvalidBlocks) != 1 {
				t.Fatalf("%+v", out.InvalidBlocks)
			}
			got := out.InvalidBlocks[0]
			if got.Reason != c.reason || !strings.Contains(got.Message, c.says) || got.Pair != 3 || got.Arm != v1alpha1.ArmBaseline || got.Connections != 4 {
				t.Errorf("%+v", got)
			}
			if r.Baseline.Requests != 7000 || r.Dapr.Requests != 8000 || r.Added.P50.Pairs != 7 {
				t.Errorf("baseline %d, dapr %d requests, %d pairs", r.Baseline.Requests, r.Dapr.Requests, r.Added.P50.Pairs)
			}
		})
	}
}

func TestInvalidBlocksAreInNoFigure(t *testing.T) {
	out := build(t, pairs(t, 8, func(in *Input) {
		// Blocks run in the order BDDBBDDB...: the third is Dapr's in the second pair.
		b := &in.Report.Blocks[2]
		b.Steal, b.Response = map[string]float64{"tg": 0.5}, histogram(t, time.Second, 1000)
		readings := in.Report.Usage[0].Readings
		for i := 5; i < len(readings); i++ {
			readings[i].CPUSeconds += 100
		}
	}))
	u := out.Usage[0]
	if !sameQuantity(*u.CPU, *quantity("500m")) || !sameQuantity(*u.CPUPer1000RPS, *quantity("5")) || u.Coverage != "1.00" {
		t.Errorf("usage: %+v", u)
	}
	if most := out.Results[0].Dapr.Latency.Max; most.Duration > 100*time.Millisecond {
		t.Errorf("latency: %s", most)
	}
	if out.InvalidBlocks[0].Arm != v1alpha1.ArmDapr || out.InvalidBlocks[0].Pair != 2 {
		t.Errorf("%+v", out.InvalidBlocks)
	}
}

// spoil lets something be stolen from the first so many Dapr blocks.
func spoil(n int) func(*Input) {
	return func(in *Input) {
		for i := range in.Report.Blocks {
			if b := &in.Report.Blocks[i]; b.Arm == measure.Dapr && b.Pair < n {
				b.Steal = map[string]float64{"tg": 0.1}
			}
		}
	}
}

func TestTooManyInvalidBlocks(t *testing.T) {
	for _, c := range []struct {
		pairs, spoilt int
		enough        bool
	}{
		{1, 0, true}, {1, 1, false}, {3, 1, true}, {3, 2, false}, {5, 1, true}, {5, 2, false},
		{6, 0, true}, {6, 2, true}, {6, 3, false}, {8, 2, true}, {8, 3, false},
		// A third may be lost.
		{12, 4, true}, {12, 5, false},
	} {
		t.Run(fmt.Sprintf("%d of %d", c.spoilt, c.pairs), func(t *testing.T) {
			out := build(t, pairs(t, c.pairs, spoil(c.spoilt)))
			if len(out.InvalidBlocks) != c.spoilt {
				t.Errorf("%d invalid blocks", len(out.InvalidBlocks))
			}
			counted := c.pairs - c.spoilt
			if !c.enough {
				counted = c.pairs
				if out.Verdict != v1alpha1.PhaseInconclusive || out.Reason != v1alpha1.ReasonCPUStolen ||
					!strings.Contains(out.Message, fmt.Sprintf("at 4 connections %d of %d pairs are valid", c.pairs-c.spoilt, c.pairs)) {
					t.Errorf("%s %s: %s", out.Verdict, out.Reason, out.Message)
				}
			} else if out.Verdict != v1alpha1.PhaseSucceeded {
				t.Errorf("%s: %s", out.Verdict, out.Message)
			}
			if got := out.Results[0].Added.P50.Pairs; int(got) != counted {
				t.Errorf("%d pairs are counted, want %d", got, counted)
			}
		})
	}
}

func TestLeavingBlocksOutLeavesNoErrorOut(t *testing.T) {
	in := pairs(t, 8, spoil(1), func(in *Input) {
		in.Report.Blocks[1].Succeeded, in.Report.Blocks[1].Errors = 500, map[int]int64{500: 500}
	})
	if out := build(t, in); out.Reason != v1alpha1.ReasonRequestErrors {
		t.Errorf("%s %s: %s", out.Verdict, out.Reason, out.Message)
	}
	in.Thresholds = &v1alpha1.Thresholds{ErrorRatio: ptr.To("0.01")}
	if out := build(t, in); out.Verdict != v1alpha1.PhaseFailed || out.Thresholds[0].Figure != "0.0625" {
		t.Errorf("%s: %s", out.Verdict, out.Message)
	}
}

func TestThresholdsNeedWhatInvalidBlocksLeave(t *testing.T) {
	in := pairs(t, 8, spoil(2))
	in.Thresholds = &v1alpha1.Thresholds{Added: &v1alpha1.LatencyThresholds{P50: limit(3 * time.Millisecond)}}
	if out := build(t, in); out.Verdict != v1alpha1.PhaseSucceeded || out.Thresholds[0].Outcome != v1alpha1.OutcomeMet {
		t.Errorf("%s: %s", out.Verdict, out.Message)
	}
}

func TestDriftIsAWarning(t *testing.T) {
	slower := func(by time.Duration) func(*Input) {
		return func(in *Input) {
			for i := range in.Report.Blocks {
				if b := &in.Report.Blocks[i]; b.Arm == measure.Dapr && b.Pair >= 4 {
					b.Response = histogram(t, 3*time.Millisecond+by, 1000)
				}
			}
		}
	}
	out := build(t, synthetic(t, slower(300*time.Microsecond)))
	if len(out.Warnings) != 1 || out.Warnings[0].Reason != v1alpha1.ReasonDrift || out.Verdict != v1alpha1.PhaseSucceeded ||
		!strings.Contains(out.Warnings[0].Message, "Dapr at 4 connections: p50 was 3.001ms, 3.001ms and 3.301ms in the thirds of the measurement, 10% apart") {
		t.Errorf("%s: %+v", out.Verdict, out.Warnings)
	}
	for name, in := range map[string]Input{
		"a little":     synthetic(t, slower(100*time.Microsecond)),
		"no thirds":    pairs(t, 2),
		"with a third": pairs(t, 3),
	} {
		if out := build(t, in); len(out.Warnings) != 0 {
			t.Errorf("%s: %+v", name, out.Warnings)
		}
	}
}

func TestInvalidBlocksFitIntoTheStatus(t *testing.T) {
	invalid, warnings := listed(make([]v1alpha1.InvalidBlock, 65), nil)
	want := []v1alpha1.Reason{{Reason: v1alpha1.ReasonBlocksNotListed, Message: "65 blocks are invalid, the first 64 are listed"}}
	if diff := cmp.Diff(want, warnings); len(invalid) != 64 || diff != "" {
		t.Errorf("%d: %s", len(invalid), diff)
	}
	if invalid, warnings := listed(make([]v1alpha1.InvalidBlock, 64), nil); len(invalid) != 64 || warnings != nil {
		t.Errorf("%d: %+v", len(invalid), warnings)
	}
}
