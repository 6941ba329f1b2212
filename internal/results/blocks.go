package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/stats"
)

// Rules for single blocks, fixed beforehand (docs/measurement.md).
const (
	// maxSkipped is the fraction of its requests that may never be sent.
	maxSkipped = 0.001
	// maxLag is how late the load tester may send one request in a hundred. A timer is up to 1 ms late on an idle machine, and a thread
	// that waits for another's time slice some 3 ms. 10 ms is several of them one after the other, or a cgroup's quota used up
	// (periods of 100 ms): a load tester that does not get its CPU. With a load average of 4 on 2 CPUs, 1000 requests/s and 16
	// connections, 6 to 8 ms were seen. It then reads answers as late as it sends requests, which nothing can take out of the
	// service times.
	maxLag = 10 * time.Millisecond
	// maxBusy is the part of the CPU open to it that the load tester may use. Beyond half, requests wait for each other inside it:
	// with random arrivals as long as they take themselves (M/M/1 at a load of 0.5).
	maxBusy = 0.5
	// maxSteal is the part of a node's CPU time that its hypervisor may give to others.
	maxSteal = 0.01
)

// sifted is what the rules for single blocks come to.
type sifted struct {
	invalid []v1alpha1.InvalidBlock
	// reasons name the points at which too few pairs are left.
	reasons []v1alpha1.Reason
	// excluded are the indices of the blocks that do not count.
	excluded map[int]bool
}

// sift judges each block and fills in the blocks of the points that count. Where too few pairs would be left, all of the point's count:
// the run is then Inconclusive, and its figures are what was measured and not what a rule has picked.
func sift(in Input, points []point) sifted {
	out := sifted{excluded: map[int]bool{}}
	rules := newRules(in)
	for i := range points {
		p := &points[i]
		faults := map[int][]v1alpha1.Reason{}
		var invalid []v1alpha1.InvalidBlock
		for _, b := range p.inOrder() {
			if broken := rules.broken(b); len(broken) > 0 {
				faults[b.index] = broken
				invalid = append(invalid, invalidBlock(p.connections, b, broken))
			}
		}
		out.invalid = append(out.invalid, invalid...)
		if reason := tooFew(*p, faults, invalid); reason != nil {
			out.reasons = append(out.reasons, *reason)
			clear(faults)
		}
		valid := func(b block) bool { _, broken := faults[b.index]; return !broken }
		p.baseline, p.dapr = filter(p.allBaseline, valid), filter(p.allDapr, valid)
		for index := range faults {
			out.excluded[index] = true
		}
	}
	return out
}

// inOrder has the blocks of both arms in the order in which they ran.
func (p point) inOrder() []block {
	all := slices.Concat(p.allBaseline, p.allDapr)
	slices.SortFunc(all, func(a, b block) int { return cmp.Compare(a.index, b.index) })
	return all
}

func filter(blocks []block, keep func(block) bool) []block {
	var out []block
	for _, b := range blocks {
		if keep(b) {
			out = append(out, b)
		}
	}
	return out
}

// rules with what they look at beside a block itself.
type rules struct {
	in Input
	// testers are all load testers.
	testers []tester
	// nodes of the pods.
	nodes map[string]string
	// interruptions of the run's containers.
	interruptions []interruption
}

// tester is what a load tester used in each block, and the CPUs that it may use; 0 if unknown. Those of one node share its CPUs.
type tester struct {
	pod  string
	busy map[int]together
	cpus float64
}

func newRules(in Input) rules {
	out := rules{in: in, nodes: map[string]string{}, interruptions: interruptions(in)}
	onNode := map[string]float64{}
	for _, c := range in.Components {
		out.nodes[c.Pod] = c.Node
		if c.Component == v1alpha1.ComponentLoadTester {
			onNode[c.Node]++
		}
	}
	for _, c := range in.Components {
		if c.Component != v1alpha1.ComponentLoadTester {
			continue
		}
		t := tester{pod: c.Pod, busy: readIn(in.Report, c), cpus: float64(in.Report.Observed.CPUs)}
		if i := replicaOf(in.Report, c.Pod); i >= 0 {
			t.cpus = float64(in.Report.Replicas[i].CPUs)
		}
		t.cpus /= onNode[c.Node]
		if c.Limits != nil && c.Limits.CPU != nil {
			t.cpus = min(t.cpus, c.Limits.CPU.AsApproximateFloat64())
		}
		out.testers = append(out.testers, t)
	}
	return out
}

// broken lists the rules that a block breaks, what explains others before what it explains.
func (r rules) broken(b block) []v1alpha1.Reason {
	var out []v1alpha1.Reason
	add := func(reason, format string, args ...any) {
		out = append(out, v1alpha1.Reason{Reason: reason, Message: fmt.Sprintf(format, args...)})
	}
	for _, i := range r.interruptions {
		if i.touches(b) {
			add(i.reason, "%s", i.message)
		}
	}
	if pod, share := mostStolen(b); share > maxSteal {
		add(v1alpha1.ReasonCPUStolen, "the hypervisor gave %.1f%% of the CPU time of node %s to others (allowed %.0f%%)",
			100*share, r.nodes[pod], 100*maxSteal)
	}
	for _, t := range r.testers {
		if used, known := t.busy[b.index]; known && t.cpus > 0 && used.cpu > maxBusy*t.cpus {
			add(v1alpha1.ReasonLoadTesterBusy, "the load tester in pod %s used %s of the %s vCPU that it may use (allowed %.0f%%)",
				t.pod, milli(used.cpu), milli(t.cpus), 100*maxBusy)
		}
	}
	if q, lag := lateness(b.lag); lag > maxLag {
		add(v1alpha1.ReasonLoadTesterLate, "the load tester sent %.0f%% of the requests %s late or later (allowed %s)", 100*(1-q), v1alpha1.NewLatency(lag), maxLag)
	}
	failed, sent, share := failures([]block{b})
	if share > maxErrors && !errorsAreJudged(r.in, v1alpha1.Arm(b.Arm)) {
		add(v1alpha1.ReasonRequestErrors, "%d of %d requests failed (%.1f%%, allowed %.0f%%)", failed, sent, 100*share, 100*maxErrors)
	}
	if skipped := float64(b.Skipped) / float64(max(1, b.Planned)); skipped > maxSkipped {
		add(v1alpha1.ReasonRequestsSkipped, "%d of %d requests were not sent before the block's deadline (%.1f%%, allowed %.1f%%)",
			b.Skipped, b.Planned, 100*skipped, 100*maxSkipped)
	}
	if b.StartSkew > maxStartSkew {
		add(v1alpha1.ReasonStartSkew, "%s", r.skewed(b))
	}
	return out
}

func mostStolen(b block) (pod string, share float64) {
	for p, s := range b.Steal {
		if s > share || s == share && p < pod {
			pod, share = p, s
		}
	}
	return pod, share
}

// lateness is the lag's highest of two percentiles for which there are requests enough. If the lower one is above a limit, so is the higher.
func lateness(lag *stats.Histogram) (q float64, d time.Duration) {
	for _, q := range []float64{0.99, 0.9} {
		if d, ok := lag.Quantile(q); ok {
			return q, d
		}
	}
	return 0, 0
}

func invalidBlock(connections int32, b block, broken []v1alpha1.Reason) v1alpha1.InvalidBlock {
	messages := make([]string, len(broken))
	for i, r := range broken {
		messages[i] = r.Message
	}
	return v1alpha1.InvalidBlock{Connections: connections, Pair: int32(b.Pair) + 1, Arm: v1alpha1.Arm(b.Arm),
		Reason: broken[0].Reason, Message: strings.Join(messages, "; ")}
}

// tooFew tells whether the invalid blocks of a point leave too few pairs: fewer than two thirds. Its reason is the most frequent one.
func tooFew(p point, faults map[int][]v1alpha1.Reason, invalid []v1alpha1.InvalidBlock) *v1alpha1.Reason {
	measured, spoilt := map[int]bool{}, map[int]bool{}
	for _, b := range p.inOrder() {
		measured[b.Pair] = true
		if len(faults[b.index]) > 0 {
			spoilt[b.Pair] = true
		}
	}
	needed := len(measured) - len(measured)/3
	left := len(measured) - len(spoilt)
	if left >= needed {
		return nil
	}
	count := map[string]int{}
	most := invalid[0]
	for _, b := range invalid {
		count[b.Reason]++
	}
	for _, b := range invalid {
		if count[b.Reason] > count[most.Reason] {
			most = b
		}
	}
	return &v1alpha1.Reason{Reason: most.Reason, Message: fmt.Sprintf(
		"at %d connections %d of %d pairs are valid, at least %d are needed: %d block(s) are invalid, %d of them as %s in pair %d: %s",
		p.connections, left, len(measured), needed, len(invalid), count[most.Reason], most.Arm, most.Pair, most.Message)}
}

// maxListed is the most that the API server takes in status.invalidBlocks and in status.warnings.
const maxListed = 64

// listed cuts the list of invalid blocks short, with a warning that says so.
func listed(invalid []v1alpha1.InvalidBlock, warnings []v1alpha1.Reason) ([]v1alpha1.InvalidBlock, []v1alpha1.Reason) {
	if len(invalid) <= maxListed {
		return invalid, warnings
	}
	warning := v1alpha1.Reason{Reason: v1alpha1.ReasonBlocksNotListed,
		Message: fmt.Sprintf("%d blocks are invalid, the first %d are listed", len(invalid), maxListed)}
	return invalid[:maxListed], append(warnings, warning)
}

// maxDrift is how far the medians of the thirds of an arm may be apart, as a part of the smallest.
const maxDrift = 0.05

// drift compares the thirds of each arm's measurement. Order alternates within pairs, so that a slow drift hardly touches what is added;
// but the arms' own figures then depend on when they were measured. A warning, no more: it is at most 32.
func drift(points []point) []v1alpha1.Reason {
	var out []v1alpha1.Reason
	for _, p := range points {
		for _, arm := range []struct {
			name   v1alpha1.Arm
			blocks []block
		}{{v1alpha1.ArmBaseline, p.baseline}, {v1alpha1.ArmDapr, p.dapr}} {
			medians, ok := thirds(arm.blocks)
			if !ok {
				continue
			}
			least, largest := slices.Min(medians[:]), slices.Max(medians[:])
			if by := float64(largest-least) / math.Max(1, float64(least)); by > maxDrift {
				out = append(out, v1alpha1.Reason{Reason: v1alpha1.ReasonDrift, Message: fmt.Sprintf(
					"%s at %d connections: p50 was %s, %s and %s in the thirds of the measurement, %.0f%% apart (told from %.0f%%)", arm.name, p.connections,
					v1alpha1.NewLatency(medians[0]), v1alpha1.NewLatency(medians[1]), v1alpha1.NewLatency(medians[2]), 100*by, 100*maxDrift)})
			}
		}
	}
	return out
}

// thirds are the median response times of the first, middle and last third of an arm's blocks; not ok with fewer than three blocks.
func thirds(blocks []block) (medians [3]time.Duration, ok bool) {
	n := len(blocks) / 3
	if n == 0 {
		return medians, false
	}
	for i, part := range [][]block{blocks[:n], blocks[n : len(blocks)-n], blocks[len(blocks)-n:]} {
		all := stats.NewHistogram()
		for _, b := range part {
			all.Merge(b.response)
		}
		if medians[i], ok = all.Quantile(0.5); !ok {
			return medians, false
		}
	}
	return medians, true
}
