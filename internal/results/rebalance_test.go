package results

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

const ms = time.Millisecond

// callsOf a block of 10 s: one each 5 ms, which takes 2 ms unless response says otherwise.
func callsOf(response func(due time.Duration) time.Duration) *measure.Calls {
	out := &measure.Calls{}
	for due := time.Duration(0); due < 10*time.Second; due += 5 * ms {
		out.Due = append(out.Due, due.Microseconds())
		out.Response = append(out.Response, response(due).Microseconds())
	}
	return out
}

// rebalanced is a run with one pair; the changes were asked for 2.5 s into their blocks and came about 1 s later.
func rebalanced(added, removed func(due time.Duration) time.Duration) func(*Input) {
	return func(in *Input) {
		in.Settings.Actors = &v1alpha1.ActorsInForce{Rebalance: true, Replicas: 1}
		in.Settings.Baseline, in.Settings.Pairs, in.ClockOffset = v1alpha1.BaselineNone, 1, time.Hour
		in.Report.Blocks = in.Report.Blocks[:2]
		for i, c := range []struct {
			change v1alpha1.HostChange
			calls  func(time.Duration) time.Duration
		}{{v1alpha1.HostAdded, added}, {v1alpha1.HostRemoved, removed}} {
			b := &in.Report.Blocks[i]
			b.Arm, b.Pair, b.Change, b.Calls = measure.Dapr, 0, string(c.change), callsOf(c.calls)
			at := b.Start.Add(2500*ms - in.ClockOffset)
			in.Rebalances = append(in.Rebalances, v1alpha1.Rebalance{Change: c.change, Pair: 1,
				Time: metav1.NewMicroTime(at), DoneTime: ptr.To(metav1.NewMicroTime(at.Add(time.Second)))})
		}
	}
}

func calm(time.Duration) time.Duration { return 2 * ms }

func TestWhatAChangeOfHostsDoes(t *testing.T) {
	// From 4 s on everything waits until 5 s; the calls that were due from 5 s to 5.1 s fail after 1 ms.
	stall := func(due time.Duration) time.Duration {
		switch {
		case due >= 4*time.Second && due < 5*time.Second:
			return 5*time.Second - due + 2*ms
		case due >= 5*time.Second && due < 5100*ms:
			return -ms
		}
		return 2 * ms
	}
	out := build(t, synthetic(t, rebalanced(calm, stall)))
	lasts := func(d time.Duration) *v1alpha1.Latency { return ptr.To(v1alpha1.NewLatency(d)) }
	for i, want := range []v1alpha1.Rebalance{
		{Calls: 1500, Normal: lasts(2 * ms), SlowestCall: lasts(2 * ms), LongestStall: lasts(5 * ms), Disturbed: lasts(0), Recovery: lasts(0)},
		// 4 s to 5.25 s are five slices; the last good answer before them came at 3.997 s, the first after them at 5.002 s.
		{Calls: 1500, Failed: 20, Normal: lasts(2 * ms), SlowestCall: lasts(1002 * ms), LongestStall: lasts(1005 * ms), Disturbed: lasts(1250 * ms), Recovery: lasts(2750 * ms)},
	} {
		got := out.Rebalances[i]
		want.Change, want.Pair, want.Time, want.DoneTime = got.Change, got.Pair, got.Time, got.DoneTime
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", got.Change, d)
		}
	}
	if out.Verdict != v1alpha1.PhaseSucceeded || !strings.Contains(out.Message, "when it leaves, 20 of 1500 calls failed, at worst 1.005s without an answer and back to normal after 2.75s") {
		t.Errorf("%s: %s", out.Verdict, out.Message)
	}
}

func TestAChangeThatIsNotOver(t *testing.T) {
	never := func(due time.Duration) time.Duration {
		if due > 3*time.Second {
			return -100 * ms
		}
		return 2 * ms
	}
	out := build(t, synthetic(t, rebalanced(calm, never)))
	if r := out.Rebalances[1]; r.Recovery != nil || !strings.Contains(out.Message, "not back to normal at the block's end") {
		t.Errorf("%+v: %s", r, out.Message)
	}
	for name, c := range map[string]struct {
		spoil func(*Input)
		says  string
	}{
		"the host did not join":   {func(in *Input) { in.Rebalances[0].DoneTime = nil }, "HostAdded in pair 1: the host had not joined by the end of the block: give it longer blocks"},
		"no node took the host":   {func(in *Input) { in.Rebalances[0].DoneTime, in.Rebalances[0].Note = nil, "no node takes it" }, "by the end of the block: no node takes it"},
		"it left too late":        {func(in *Input) { in.Rebalances[1].DoneTime.Time = in.Rebalances[1].DoneTime.Add(time.Minute) }, "the host had not left"},
		"the operator was away":   {func(in *Input) { in.Rebalances[1].Time.Time = in.Rebalances[1].Time.Add(time.Minute) }, "HostRemoved in pair 1: the change was made 1m2.5s after its block of 10s began"},
		"a change was never made": {func(in *Input) { in.Rebalances = in.Rebalances[:1] }, "1 of 2 changes"},
		"the calls were not kept": {func(in *Input) { in.Report.Blocks[0].Calls = nil }, "were not recorded"},
		"nothing was ever answered": {func(in *Input) {
			in.Report.Blocks[0].Calls = callsOf(func(time.Duration) time.Duration { return -ms })
		}, "nothing is known of what is normal"},
	} {
		out := build(t, synthetic(t, rebalanced(calm, calm), c.spoil))
		if out.Verdict != v1alpha1.PhaseInconclusive || out.Reason != v1alpha1.ReasonRebalanceUnfinished || !strings.Contains(out.Message, c.says) {
			t.Errorf("%s: %s %s: %s", name, out.Verdict, out.Reason, out.Message)
		}
	}
}
