package results

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// What is disturbed, fixed beforehand (docs/measurement.md).
const (
	// slice is what is disturbed or not as a whole.
	slice = 250 * time.Millisecond
	// slow is how many times what is normal a call may take.
	slow = 2
	// maxSlow is the part of a slice's calls that may take longer. What is normal is their p99, so that a hundredth of them takes longer than that
	// in any case, and hardly any twice as long.
	maxSlow = 0.1
)

// rebalances fills in what each change of the actor hosts did to the calls of its block.
func rebalances(in Input) []v1alpha1.Rebalance {
	var blocks []measure.BlockReport
	for _, b := range in.Report.Blocks {
		if b.Change != "" {
			blocks = append(blocks, b)
		}
	}
	out := slices.Clone(in.Rebalances)
	for i := range out {
		switch r := &out[i]; {
		case i >= len(blocks) || blocks[i].Calls == nil || blocks[i].Change != string(r.Change):
			r.Note = "its calls were not recorded"
		default:
			at := r.Time.Add(in.ClockOffset).Sub(blocks[i].Start)
			if at <= 0 || at+slice > blocks[i].Duration {
				r.Note = fmt.Sprintf("the change was made %s after its block of %s began: the operator was away", at.Round(time.Millisecond), blocks[i].Duration)
				continue
			}
			disturbance(r, *blocks[i].Calls, at, blocks[i].Duration)
			if left := r.DoneTime; left == nil || left.Add(in.ClockOffset).After(blocks[i].Start.Add(blocks[i].Duration)) {
				r.Note = "the host had not " + joined(r.Change) + " by the end of the block: " +
					cmp.Or(r.Note, "give it longer blocks, by a longer spec.duration or lower spec.pairs")
			}
		}
	}
	return out
}

func joined(c v1alpha1.HostChange) string {
	if c == v1alpha1.HostAdded {
		return "joined"
	}
	return "left"
}

// tally is the calls of a slice.
type tally struct{ calls, failed, slow int }

func (s tally) disturbed() bool { return s.failed > 0 || float64(s.slow) > maxSlow*float64(s.calls) }

// disturbance compares the calls from a moment of their block on with those that had ended by then.
func disturbance(r *v1alpha1.Rebalance, calls measure.Calls, at, end time.Duration) {
	normal, ok := normalBefore(calls, at)
	if !ok {
		r.Note = "no call was answered before the change, so that nothing is known of what is normal"
		return
	}
	tallies := make([]tally, (end-at+slice-1)/slice)
	var answered []time.Duration
	var slowest time.Duration
	for i := range calls.Due {
		due, took, good := call(calls, i)
		if due+took <= at {
			continue
		}
		s := &tallies[min(max(0, int((due-at)/slice)), len(tallies)-1)]
		s.calls++
		r.Calls++
		slowest = max(slowest, took)
		if !good {
			s.failed++
			r.Failed++
			continue
		}
		answered = append(answered, due+took)
		if took > slow*normal {
			s.slow++
		}
	}
	r.Normal, r.SlowestCall, r.LongestStall = lasting(normal), lasting(slowest), lasting(longestGap(answered, at, end))
	r.Disturbed, r.Recovery = disturbed(tallies)
}

// call is when one of them was due in its block, how long it took, and whether it was answered well.
func call(calls measure.Calls, i int) (due, took time.Duration, good bool) {
	n := calls.Response[i]
	return time.Duration(calls.Due[i]) * time.Microsecond, time.Duration(max(n, -n)) * time.Microsecond, n >= 0
}

// normalBefore is the p99 of the calls that had been answered by a moment.
func normalBefore(calls measure.Calls, at time.Duration) (p99 time.Duration, ok bool) {
	var all []time.Duration
	for i := range calls.Due {
		if due, took, good := call(calls, i); good && due+took <= at {
			all = append(all, took)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	return all[(len(all)*99-1)/100], true
}

// longestGap is the longest time without any of the moments, from one end to the other.
func longestGap(moments []time.Duration, from, until time.Duration) time.Duration {
	slices.Sort(moments)
	var longest time.Duration
	for _, m := range append(moments, until) {
		longest = max(longest, m-from)
		from = max(from, m)
	}
	return longest
}

// disturbed adds up the slices that are, and tells when the last of them ends; nil if that is the end of all.
func disturbed(tallies []tally) (sum, recovery *v1alpha1.Latency) {
	n, last := 0, -1
	for i, s := range tallies {
		if s.disturbed() {
			n++
			last = i
		}
	}
	if last < len(tallies)-1 {
		recovery = lasting(time.Duration(last+1) * slice)
	}
	return lasting(time.Duration(n) * slice), recovery
}

func lasting(d time.Duration) *v1alpha1.Latency { return ptr.To(v1alpha1.NewLatency(d)) }

// unfinished are the changes that did not come about as planned.
func unfinished(in Input, all []v1alpha1.Rebalance) []v1alpha1.Reason {
	if !in.Settings.Rebalances() {
		return nil
	}
	var out []v1alpha1.Reason
	for _, r := range all {
		if r.Note != "" {
			out = append(out, v1alpha1.Reason{Reason: v1alpha1.ReasonRebalanceUnfinished, Message: fmt.Sprintf("%s in pair %d: %s", r.Change, r.Pair, r.Note)})
		}
	}
	if want := 2 * int(in.Settings.Pairs); len(all) < want {
		out = append(out, v1alpha1.Reason{Reason: v1alpha1.ReasonRebalanceUnfinished, Message: fmt.Sprintf("%d of %d changes of the actor hosts were made: the operator was away", len(all), want)})
	}
	return out
}

// rebalanceHeadline is the answer in one sentence: the calls that failed of all, and the worst of the rest.
func rebalanceHeadline(all []v1alpha1.Rebalance) string {
	about := func(change v1alpha1.HostChange) string {
		var calls, failed int64
		var stall, recovery time.Duration
		back := true
		for _, r := range all {
			if r.Change != change {
				continue
			}
			calls, failed = calls+r.Calls, failed+r.Failed
			stall = max(stall, ptr.Deref(r.LongestStall, v1alpha1.Latency{}).Duration)
			back = back && r.Recovery != nil
			recovery = max(recovery, ptr.Deref(r.Recovery, v1alpha1.Latency{}).Duration)
		}
		end := "not back to normal at the block's end"
		if back {
			end = fmt.Sprintf("back to normal after %s", v1alpha1.NewLatency(recovery))
		}
		return fmt.Sprintf("%d of %d calls failed, at worst %s without an answer and %s", failed, calls, v1alpha1.NewLatency(stall), end)
	}
	return "when an actor host joins, " + about(v1alpha1.HostAdded) + "; when it leaves, " + about(v1alpha1.HostRemoved)
}
