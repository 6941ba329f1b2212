package results

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// Rules of validity, fixed beforehand (docs/measurement.md).
const (
	// minRate is the fraction of the declared rate that each arm must achieve.
	minRate = 0.99
	// maxErrors is the fraction of the requests of a block, and of an arm, that may fail.
	maxErrors = 0.01
	// samplingSigmas is how many standard deviations of a binomial count the observed sampling may lie from the declared.
	samplingSigmas = 6
)

// steady are the good answers over the steady parts of an arm's blocks, and those that were due then. Failed requests were answered in
// time too, and are judged by themselves. The rate is judged over an arm and not over a block: a backlog that comes and goes, as where a
// sidecar runs into its CPU limit, leaves one block with more answers than were due and another with fewer.
func steady(blocks []block, rps float64) (answers, due float64) {
	for _, b := range blocks {
		_, _, failed := failures([]block{b})
		answers += float64(b.Steady)
		due += rps * spread(b) * b.SteadyTime.Seconds() * (1 - failed)
	}
	return answers, due
}

// spread is the part of the declared rate at which a block's requests are due: the schedule puts the first request of a connection at the
// block's beginning and the last at its very end, so that n of them are n-1 intervals apart. With 25 on each that is 4% less.
func spread(b block) float64 {
	if b.Planned <= int64(b.Connections) {
		return 1
	}
	return 1 - float64(b.Connections)/float64(b.Planned)
}

// invalid lists every declared condition that did not hold, apart from single blocks.
func invalid(in Input, points []point) []v1alpha1.Reason {
	var out []v1alpha1.Reason
	add := func(reason, format string, args ...any) {
		out = append(out, v1alpha1.Reason{Reason: reason, Message: fmt.Sprintf(format, args...)})
	}
	for _, p := range points {
		arms := []struct {
			name            v1alpha1.Arm
			blocks, counted []block
		}{{v1alpha1.ArmBaseline, p.allBaseline, p.baseline}, {v1alpha1.ArmDapr, p.allDapr, p.dapr}}
		if in.Settings.Baseline == v1alpha1.BaselineNone {
			arms = arms[1:]
		}
		for _, a := range arms {
			if len(a.blocks) == 0 {
				add(v1alpha1.ReasonRateShortfall, "%s at %d connections was not measured", a.name, p.connections)
			}
			if answers, due := steady(a.counted, in.Report.RPS); answers < minRate*due && !in.Settings.Rebalances() {
				add(v1alpha1.ReasonRateShortfall, "%s at %d connections achieved %.1f%% of the %g requests/s (at least %.0f%% is needed)",
					a.name, p.connections, 100*answers/due, in.Report.RPS, 100*minRate)
			}
			// Over all blocks: leaving out those with errors must not leave the errors out.
			if failed, sent, share := failures(a.blocks); share > maxErrors && !errorsAreJudged(in, a.name) {
				add(v1alpha1.ReasonRequestErrors, "%s at %d connections: %d of %d requests failed (%.1f%%, allowed %.0f%%)",
					a.name, p.connections, failed, sent, 100*share, 100*maxErrors)
			}
		}
	}
	if message := wrongNodes(in); message != "" {
		add(v1alpha1.ReasonWrongNodes, "%s", message)
	}
	if message := wrongSampling(in); message != "" {
		add(v1alpha1.ReasonSamplingMismatch, "%s", message)
	}
	return out
}

// errorsAreJudged: a limit on the Dapr arm's errors makes them a result, to be met or missed, and no fault of the measurement. The
// baseline's errors stay one. Where actor hosts join and leave, errors are what is looked for.
func errorsAreJudged(in Input, arm v1alpha1.Arm) bool {
	if in.Settings.Rebalances() {
		return true
	}
	return arm == v1alpha1.ArmDapr && in.Thresholds != nil && in.Thresholds.ErrorRatio != nil
}

func wrongNodes(in Input) string {
	targets := in.Nodes.OfTargets()
	for _, node := range in.Nodes.OfLoadTesters() {
		same := slices.Contains(targets, node)
		switch {
		case in.Settings.Placement == v1alpha1.PlacementDifferentNode && same:
			return fmt.Sprintf("load tester and target both ran on node %s, although placement is DifferentNode", node)
		case in.Settings.Placement == v1alpha1.PlacementSameNode && !same:
			return fmt.Sprintf("load tester ran on node %s and target on node %s, although placement is SameNode", node, strings.Join(targets, ", "))
		}
	}
	return ""
}

// wrongSampling compares the marks on the requests that arrived with the declared fraction.
func wrongSampling(in Input) string {
	seen := in.Report.Observed
	if !offSampling(seen.Sampled, seen.Traced, in.Settings.Sampling, 1) {
		return ""
	}
	return fmt.Sprintf("%.3f of the requests arrived marked as sampled, although sampling is %s", float64(seen.Sampled)/float64(seen.Traced), in.Settings.Sampling)
}

// offSampling tells whether a count of sampled requests is further from the declared fraction than chance and so much slack explain. Each
// request is sampled or not by itself, so the count is binomial; six standard deviations are never reached by chance.
func offSampling(sampled, requests int64, declared string, slack float64) bool {
	n := float64(requests)
	want, err := strconv.ParseFloat(declared, 64)
	return err == nil && n > 0 && math.Abs(float64(sampled)-want*n) > samplingSigmas*math.Sqrt(want*(1-want)*n)+slack
}

// uncounted warns that the declared sampling was not observed.
func uncounted(in Input) []v1alpha1.Reason {
	if !in.ForeignTarget || in.Report.Observed.Exported != nil {
		return nil
	}
	return []v1alpha1.Reason{{Reason: v1alpha1.ReasonSamplingUnknown, Message: fmt.Sprintf(
		"sampling is %s as declared, and was not observed: only perfrun's own application counts the requests that arrive sampled", in.Settings.Sampling)}}
}
