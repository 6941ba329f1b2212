package results

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// restartedAfter gives the sidecar's readings from the one with this index on to another container.
func restartedAfter(index int) func(*Input) {
	return func(in *Input) {
		in.Components[0].Restarts, in.Components[0].RestartReason = 1, "OOMKilled (exit code 137)"
		readings := in.Report.Usage[0].Readings
		for i := range readings {
			readings[i].Started = 1000
			if i > index {
				readings[i].Started = 2000
			}
		}
	}
}

func TestInterruptionsSpoilTheBlocksThatTheyFallInto(t *testing.T) {
	app := func(until int) func(*Input) {
		return func(in *Input) {
			in.Replaced = []string{"tg"}
			in.Components = append(in.Components, Component{Component: v1alpha1.ComponentApp, Pod: "tg", Node: "n2"})
			series := in.Report.Usage[0]
			series.Component, series.Readings = "app", series.Readings[:until]
			in.Report.Usage = append(in.Report.Usage, series)
		}
	}
	for name, c := range map[string]struct {
		mutate func(*Input)
		reason string
		blocks []int
	}{
		// Two readings in each block, at its ends; the order of the blocks is BDDBBDDB...
		"within the second block":                   {restartedAfter(2), v1alpha1.ReasonRestarted, []int{1}},
		"between the second and the third":          {restartedAfter(3), v1alpha1.ReasonRestarted, nil},
		"within a block, its end unread":            {func(in *Input) { restartedAfter(2)(in); drop(in, 3) }, v1alpha1.ReasonRestarted, []int{1}},
		"unread from one block into the next":       {func(in *Input) { restartedAfter(2)(in); drop(in, 4); drop(in, 3) }, v1alpha1.ReasonRestarted, []int{1, 2}},
		"the target's pod goes in the second last":  {app(21), v1alpha1.ReasonPodMoved, []int{10, 11}},
		"the target's pod goes between two of them": {app(22), v1alpha1.ReasonPodMoved, []int{11}},
	} {
		t.Run(name, func(t *testing.T) {
			in := synthetic(t, c.mutate)
			out := build(t, in)
			if out.Verdict != v1alpha1.PhaseInconclusive || out.Reason != c.reason {
				t.Errorf("%s %s: %s", out.Verdict, out.Reason, out.Message)
			}
			var want []v1alpha1.InvalidBlock
			for _, i := range c.blocks {
				b := in.Report.Blocks[i]
				want = append(want, v1alpha1.InvalidBlock{Connections: 4, Pair: int32(b.Pair) + 1, Arm: v1alpha1.Arm(b.Arm), Reason: c.reason})
			}
			got := out.InvalidBlocks
			for i := range got {
				if got[i].Message == "" {
					t.Errorf("block %d has no message", i)
				}
				got[i].Message = ""
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func drop(in *Input, reading int) {
	s := &in.Report.Usage[0]
	s.Readings = append(append([]measure.Reading{}, s.Readings[:reading]...), s.Readings[reading+1:]...)
}

func TestRestartsAreShownWithTheirReason(t *testing.T) {
	out := build(t, synthetic(t, restartedAfter(2)))
	if u := out.Usage[0]; u.Restarts != 1 || u.RestartReason != "OOMKilled (exit code 137)" {
		t.Errorf("%+v", u)
	}
	if want := "targetSidecar in pod tg restarted 1 time(s) during the measurement, last after OOMKilled (exit code 137)"; !strings.Contains(out.Message, want) {
		t.Errorf("%q does not say %q", out.Message, want)
	}
}

func TestThrottlingIsThatOfTheArmsBlocks(t *testing.T) {
	// In each Dapr block 95 periods, 19 of them throttled; in each Baseline block 10 and none; between blocks more that do not count.
	counted := measure.Throttling{}
	in := synthetic(t, func(in *Input) {
		readings := in.Report.Usage[0].Readings
		for i := range readings {
			if i%2 == 1 {
				counted.Periods += 10
				if in.Report.Blocks[readings[i].Block].Arm == measure.Dapr {
					counted.Periods, counted.Throttled, counted.Time = counted.Periods+85, counted.Throttled+19, counted.Time+time.Second
				}
			}
			at := counted
			readings[i].Throttling = &at
			if i%2 == 1 {
				counted.Periods, counted.Throttled = counted.Periods+3, counted.Throttled+3
			}
		}
	})
	out := build(t, in)
	dapr, baseline := out.Usage[0].Throttling, out.Usage[2].Throttling
	if dapr == nil || dapr.Periods != 6*95 || dapr.ThrottledPeriods != 6*19 || dapr.Time.Duration != 6*time.Second {
		t.Fatalf("%+v", dapr)
	}
	if baseline == nil || baseline.Periods != 60 || baseline.ThrottledPeriods != 0 {
		t.Errorf("%+v", baseline)
	}
	if len(out.Warnings) != 1 || out.Warnings[0].Reason != v1alpha1.ReasonThrottled || !strings.Contains(out.Warnings[0].Message, "in 20% of the periods") {
		t.Errorf("warnings %+v", out.Warnings)
	}
}
