package results

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

func limit(d time.Duration) *v1alpha1.Latency { return ptr.To(v1alpha1.NewLatency(d)) }

// withCaller adds the caller's sidecar: 0.2 CPU seconds a second in the Dapr arm, else 0.1, and 30 MiB, 31 in the last block.
func withCaller(in *Input) {
	in.Components = append([]Component{{Component: v1alpha1.ComponentCallerSidecar, Pod: "lt", Node: "n1"}}, in.Components...)
	s := measure.Series{Component: "callerSidecar", Pod: "lt", Source: measure.SourceLocalProc}
	var cpu float64
	for i, b := range in.Report.Blocks {
		used, resident := 1.0, int64(30<<20)
		if b.Arm == measure.Dapr {
			used = 2
		}
		if i == len(in.Report.Blocks)-1 {
			resident = 31 << 20
		}
		s.Readings = append(s.Readings, measure.Reading{Block: i, Time: b.Start, CPUSeconds: cpu, Resident: 30 << 20},
			measure.Reading{Block: i, Time: b.End, CPUSeconds: cpu + used, Resident: resident})
		cpu += used
	}
	in.Report.Usage = append(in.Report.Usage, s)
}

// scattered makes Dapr's blocks answer in 3, 4, 5, 6, 7 and 8 ms, so that the added medians are 2 to 7 ms, 4.5 in the middle.
func scattered(t *testing.T) func(*Input) {
	return func(in *Input) {
		for i := range in.Report.Blocks {
			if b := &in.Report.Blocks[i]; b.Arm == measure.Dapr {
				b.Response = histogram(t, time.Duration(3+b.Pair)*time.Millisecond, 1000)
			}
		}
	}
}

func TestEveryOutcomeOfAThreshold(t *testing.T) {
	latencies := func(l v1alpha1.LatencyThresholds) v1alpha1.Thresholds { return v1alpha1.Thresholds{Latency: &l} }
	added := func(l v1alpha1.LatencyThresholds) v1alpha1.Thresholds { return v1alpha1.Thresholds{Added: &l} }
	failing := func(in *Input) {
		in.Report.Blocks[1].Succeeded, in.Report.Blocks[1].Errors = 940, map[int]int64{500: 60}
	}
	stalled := func(in *Input) { in.Report.Blocks[1].Response = histogram(t, 2*time.Second, 1000) }
	cases := []struct {
		name       string
		thresholds v1alpha1.Thresholds
		mutate     []func(*Input)
		want       v1alpha1.Outcome
		figure     string
		says       string
	}{
		{"added: limit above the interval", added(v1alpha1.LatencyThresholds{P50: limit(8 * time.Millisecond)}), []func(*Input){scattered(t)}, v1alpha1.OutcomeMet, "4.5", ""},
		{"added: limit below the interval", added(v1alpha1.LatencyThresholds{P50: limit(time.Millisecond)}), []func(*Input){scattered(t)}, v1alpha1.OutcomeMissed, "4.5", ""},
		{"added: limit inside the interval", added(v1alpha1.LatencyThresholds{P50: limit(4 * time.Millisecond)}), []func(*Input){scattered(t)}, v1alpha1.OutcomeUndecided, "4.5", "inside the interval"},
		{"added: too few pairs", added(v1alpha1.LatencyThresholds{P50: limit(time.Minute)}), []func(*Input){func(in *Input) {
			in.Settings.Pairs, in.Report.Blocks = 5, in.Report.Blocks[:10]
		}}, v1alpha1.OutcomeUndecided, "2", "no interval: 5 pair(s) have a figure, at least 6 are needed"},
		{"added: too few requests", added(v1alpha1.LatencyThresholds{P99: limit(time.Minute)}), []func(*Input){func(in *Input) {
			for i := range in.Report.Blocks {
				in.Report.Blocks[i].Response = histogram(t, time.Millisecond, 900)
			}
		}}, v1alpha1.OutcomeUndecided, "", "too few requests"},
		{"latency: met", latencies(v1alpha1.LatencyThresholds{P90: limit(4 * time.Millisecond)}), nil, v1alpha1.OutcomeMet, "3", ""},
		{"latency: missed", latencies(v1alpha1.LatencyThresholds{P90: limit(2 * time.Millisecond)}), nil, v1alpha1.OutcomeMissed, "3", ""},
		{"latency: limit inside", latencies(v1alpha1.LatencyThresholds{P50: limit(5500 * time.Microsecond)}), []func(*Input){scattered(t)}, v1alpha1.OutcomeUndecided, "", "inside"},
		// The median of the blocks' p99 is 30 ms, but the arm's is 20 s: one block in six is far from met.
		{"latency: one block stalled", latencies(v1alpha1.LatencyThresholds{P99: limit(40 * time.Millisecond)}), []func(*Input){stalled}, v1alpha1.OutcomeUndecided, "20", "inside"},
		{"errors: met", v1alpha1.Thresholds{ErrorRatio: ptr.To("0.01")}, []func(*Input){failing}, v1alpha1.OutcomeMet, "0.01", ""},
		{"errors: missed", v1alpha1.Thresholds{ErrorRatio: ptr.To("0.009")}, []func(*Input){failing}, v1alpha1.OutcomeMissed, "0.01", ""},
		{"errors: none allowed, none seen", v1alpha1.Thresholds{ErrorRatio: ptr.To("0")}, nil, v1alpha1.OutcomeMet, "0", ""},
		{"cpu: met", v1alpha1.Thresholds{SidecarCPU: quantity("701m")}, []func(*Input){withCaller}, v1alpha1.OutcomeMet, "700m", ""},
		{"cpu: missed", v1alpha1.Thresholds{SidecarCPU: quantity("690m")}, []func(*Input){withCaller}, v1alpha1.OutcomeMissed, "700m", ""},
		{"cpu: one sidecar not read", v1alpha1.Thresholds{SidecarCPU: quantity("1")}, nil, v1alpha1.OutcomeUndecided, "", "could not be read"},
		{"memory: met at its largest", v1alpha1.Thresholds{SidecarMemory: quantity("85Mi")}, []func(*Input){withCaller}, v1alpha1.OutcomeMet, "84Mi", ""},
		{"memory: missed at its largest", v1alpha1.Thresholds{SidecarMemory: quantity("83Mi")}, []func(*Input){withCaller}, v1alpha1.OutcomeMissed, "84Mi", ""},
	}
	verdicts := map[v1alpha1.Outcome][2]string{
		v1alpha1.OutcomeMet:       {string(v1alpha1.PhaseSucceeded), v1alpha1.ReasonMeasured},
		v1alpha1.OutcomeMissed:    {string(v1alpha1.PhaseFailed), v1alpha1.ReasonThresholdMissed},
		v1alpha1.OutcomeUndecided: {string(v1alpha1.PhaseInconclusive), v1alpha1.ReasonThresholdUndecided},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := synthetic(t, c.mutate...)
			in.Thresholds = &c.thresholds
			out := build(t, in)
			if len(out.Thresholds) != 1 {
				t.Fatalf("%+v", out.Thresholds)
			}
			got := out.Thresholds[0]
			if got.Outcome != c.want || !strings.HasPrefix(got.Figure, c.figure) || !strings.Contains(got.Message, c.says) {
				t.Errorf("got %+v", got)
			}
			if verdict := [2]string{string(out.Verdict), out.Reason}; verdict != verdicts[c.want] {
				t.Errorf("verdict %v: %s", verdict, out.Message)
			}
			if c.want != v1alpha1.OutcomeMet && !strings.Contains(out.Message, got.Threshold+" at 4 connections") {
				t.Errorf("message: %s", out.Message)
			}
		})
	}
}

func TestThresholdsAreListedAtEachPoint(t *testing.T) {
	in := synthetic(t, withCaller)
	in.Thresholds = &v1alpha1.Thresholds{
		Added:   &v1alpha1.LatencyThresholds{P50: limit(time.Millisecond), P90: limit(time.Millisecond), P99: limit(time.Second)},
		Latency: &v1alpha1.LatencyThresholds{P50: limit(time.Second)}, ErrorRatio: ptr.To("0.1"), SidecarCPU: quantity("2"), SidecarMemory: quantity("1Gi"),
	}
	in.Settings.Connections = []int32{4, 8}
	for _, b := range in.Report.Blocks {
		b.Point, b.Connections = 1, 8
		in.Report.Blocks = append(in.Report.Blocks, b)
	}
	out := build(t, in)
	var got []string
	for _, r := range out.Thresholds[:7] {
		got = append(got, r.Threshold+" "+r.Limit+" "+string(r.Outcome))
	}
	want := []string{"added.p50 1ms Missed", "added.p90 1ms Missed", "added.p99 1s Met", "latency.p50 1s Met", "errorRatio 0.1 Met", "sidecarCPU 2 Met", "sidecarMemory 1Gi Met"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(out.Thresholds) != 14 || out.Thresholds[7].Connections != 8 {
		t.Errorf("%+v", out.Thresholds)
	}
}

func TestMissedOutweighsUndecided(t *testing.T) {
	in := synthetic(t)
	in.Thresholds = &v1alpha1.Thresholds{Added: &v1alpha1.LatencyThresholds{P50: limit(time.Millisecond)}, SidecarCPU: quantity("1")}
	out := build(t, in)
	if out.Verdict != v1alpha1.PhaseFailed || !strings.HasPrefix(out.Message, "1 of 2 thresholds missed: added.p50 at 4 connections is 2.001ms, the limit is 1ms") || out.Reasons != nil {
		t.Errorf("%s: %s, %v", out.Verdict, out.Message, out.Reasons)
	}
}

func TestInvalidConditionsWinOverThresholds(t *testing.T) {
	in := synthetic(t, func(in *Input) { in.Components[0].Restarts = 1 })
	in.Thresholds = &v1alpha1.Thresholds{Added: &v1alpha1.LatencyThresholds{P50: limit(time.Millisecond), P90: limit(time.Minute)}}
	out := build(t, in)
	if out.Verdict != v1alpha1.PhaseInconclusive || out.Reason != v1alpha1.ReasonRestarted {
		t.Errorf("%s %s: %s", out.Verdict, out.Reason, out.Message)
	}
	for _, r := range out.Thresholds {
		if r.Outcome != v1alpha1.OutcomeUndecided || r.Figure == "" || !strings.Contains(r.Message, "not judged") {
			t.Errorf("%+v", r)
		}
	}
}

func TestALimitOnErrorsReplacesTheRuleForTheDaprArmAlone(t *testing.T) {
	failing := func(arm measure.Arm) func(*Input) {
		return func(in *Input) {
			for i := range in.Report.Blocks {
				if b := &in.Report.Blocks[i]; b.Arm == arm {
					b.Succeeded, b.Errors = 900, map[int]int64{500: 100}
				}
			}
			in.Thresholds = &v1alpha1.Thresholds{ErrorRatio: ptr.To("0.05")}
		}
	}
	if out := build(t, synthetic(t, failing(measure.Dapr))); out.Verdict != v1alpha1.PhaseFailed {
		t.Errorf("Dapr's errors: %s: %s", out.Verdict, out.Message)
	}
	if out := build(t, synthetic(t, failing(measure.Baseline))); out.Reason != v1alpha1.ReasonRequestErrors {
		t.Errorf("the baseline's errors: %s: %s", out.Verdict, out.Message)
	}
}

func TestReasonsFitIntoTheStatus(t *testing.T) {
	in := synthetic(t)
	in.Settings.Connections = make([]int32, 16)
	in.Components = append(in.Components, make([]Component, 40)...)
	for i := range in.Components {
		in.Components[i].Restarts = 1
	}
	out := build(t, in)
	if len(out.Reasons) != 32 || !strings.HasPrefix(out.Reasons[31].Message, "and ") {
		t.Errorf("%d reasons, the last %+v", len(out.Reasons), out.Reasons[len(out.Reasons)-1])
	}
}
