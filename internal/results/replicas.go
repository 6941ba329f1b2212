package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/stats"
)

// Rules for several load testers, fixed beforehand (docs/measurement.md).
const (
	// maxStartSkew is how far apart the load testers may begin a block. It is 1% of a block of 10 s, in which then at most 2% of the requests
	// are sent while not all of them send.
	maxStartSkew = 100 * time.Millisecond
	// maxDisagreement is by how much a load tester's percentile may differ from that of all together, as a part of that.
	maxDisagreement = 0.1
)

// replicaOf is the index of the load tester that runs in a pod; -1 if there is but one, or the pod is none.
func replicaOf(r *measure.Report, pod string) int {
	return slices.IndexFunc(r.Replicas, func(x measure.Replica) bool { return x.Pod == pod })
}

// skewed says which load tester was late.
func (r rules) skewed(b block) string {
	parts := make([]string, len(b.Replicas))
	for i, replica := range b.Replicas {
		parts[i] = fmt.Sprintf("%s %s late", r.in.Report.Replicas[i].Pod, v1alpha1.NewLatency(replica.Late))
	}
	return fmt.Sprintf("the load testers began %s apart (allowed %s): %s", v1alpha1.NewLatency(b.StartSkew), maxStartSkew, strings.Join(parts, ", "))
}

// startSkewMax is over all blocks of a point, also those that do not count.
func startSkewMax(r *measure.Report, p point) *v1alpha1.Latency {
	if len(r.Replicas) == 0 {
		return nil
	}
	var most time.Duration
	for _, b := range p.inOrder() {
		most = max(most, b.StartSkew)
	}
	l := v1alpha1.NewLatency(most)
	return &l
}

// disagreements compare each load tester with all together, block by block, so that what changes from block to block is in both: the median
// of the differences, which must be large and not by chance. Without an interval nothing is said. A warning for each arm and point, no
// more: it is at most 32.
func disagreements(r *measure.Report, points []point) []v1alpha1.Reason {
	var out []v1alpha1.Reason
	for _, p := range points {
		for _, arm := range []struct {
			name   v1alpha1.Arm
			blocks []block
		}{{v1alpha1.ArmBaseline, p.baseline}, {v1alpha1.ArmDapr, p.dapr}} {
			if found := disagreeing(r, arm.blocks); len(found) > 0 {
				out = append(out, v1alpha1.Reason{Reason: v1alpha1.ReasonReplicasDisagree, Message: fmt.Sprintf(
					"%s at %d connections: %s (told from %.0f%%)", arm.name, p.connections, strings.Join(found, "; "), 100*maxDisagreement)})
			}
		}
	}
	return out
}

// disagreeing lists the load testers and percentiles that differ.
func disagreeing(r *measure.Report, blocks []block) []string {
	var out []string
	for i, replica := range r.Replicas {
		for _, q := range []struct {
			name string
			q    float64
			own  func(measure.ReplicaBlock) *int64
		}{
			{"p50", 0.5, func(b measure.ReplicaBlock) *int64 { return b.P50 }},
			{"p90", 0.9, func(b measure.ReplicaBlock) *int64 { return b.P90 }},
			{"p99", 0.99, func(b measure.ReplicaBlock) *int64 { return b.P99 }},
		} {
			var all, differences []float64
			for _, b := range blocks {
				own, together := q.own(b.Replicas[i]), microsAt(b, q.q)
				if own != nil && together != nil {
					all, differences = append(all, *together), append(differences, float64(*own)-*together)
				}
			}
			whole, by := stats.Median(all), stats.Median(differences)
			if !(math.Abs(by) > maxDisagreement*whole) {
				continue
			}
			if interval, ok := stats.MedianInterval(differences); ok && (interval.Low > 0 || interval.High < 0) {
				out = append(out, fmt.Sprintf("%s of %s is %s where that of all is %s", q.name, replica.Pod, micros(whole+by), micros(whole)))
			}
		}
	}
	return out
}

func microsAt(b block, q float64) *float64 {
	d, ok := b.response.Quantile(q)
	if !ok {
		return nil
	}
	us := float64(d.Microseconds())
	return &us
}

func micros(us float64) v1alpha1.Latency { return latency(us * float64(time.Microsecond)) }
