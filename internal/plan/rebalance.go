package plan

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

const (
	// minRebalanceBlock leaves a pod with a sidecar some seconds to join or to leave.
	minRebalanceBlock = 10 * time.Second
	// maxRebalancePairs: the status has room for so many changes.
	maxRebalancePairs = 32
	// minNormalCalls before a change, of which a p99 can be told.
	minNormalCalls = 100
	// maxCalls that are recorded one by one, over all blocks: some 10 MB on their way to the operator.
	maxCalls = 1_000_000
)

// ChangeAfter is how long after the beginning of its block the hosts change: what came before is what is normal.
func ChangeAfter(s v1alpha1.Settings) time.Duration { return blockDuration(s) / 4 }

func checkRebalance(s v1alpha1.Settings) error {
	block := blockDuration(s)
	switch before := measure.Requests(float64(s.RPS), ChangeAfter(s)); {
	case block < minRebalanceBlock:
		return fmt.Errorf("spec.duration %s split into spec.pairs %d makes blocks of %s: with spec.actors.rebalance at least %s is needed; lengthen duration or lower pairs",
			s.Duration.Duration, s.Pairs, block, minRebalanceBlock)
	case s.Pairs > maxRebalancePairs:
		return fmt.Errorf("spec.pairs %d: at most %d are possible with spec.actors.rebalance", s.Pairs, maxRebalancePairs)
	case before < minNormalCalls:
		return fmt.Errorf("spec.rps %d sends %d requests in the %s before a host joins: at least %d are needed to tell what is normal; raise rps or lengthen duration",
			s.RPS, before, ChangeAfter(s), minNormalCalls)
	case 2*measure.Requests(float64(s.RPS), s.Duration.Duration) > maxCalls:
		return fmt.Errorf("spec.rps %d and spec.duration %s send more than %d requests, and with spec.actors.rebalance each is kept; lower one of them",
			s.RPS, s.Duration.Duration, maxCalls)
	}
	return nil
}

// rebalanceBlocks are a warm-up and the pairs: in the first block of each a host joins, in the second it leaves.
func rebalanceBlocks(s v1alpha1.Settings) []measure.Block {
	connections := int(s.Connections[0])
	blocks := []measure.Block{{Connections: connections, Arm: measure.Dapr, Pair: -1, Duration: s.Warmup.Duration, Warmup: true}}
	for pair := range int(s.Pairs) {
		for _, change := range []v1alpha1.HostChange{v1alpha1.HostAdded, v1alpha1.HostRemoved} {
			blocks = append(blocks, measure.Block{Connections: connections, Arm: measure.Dapr, Pair: pair, Duration: blockDuration(s), Change: string(change)})
		}
	}
	return blocks
}

// joiningPod is a host like the others, in a Deployment of its own: which pod leaves is then no choice of Kubernetes', and those that are
// measured throughout stay. It begins with none. Dapr's operator keeps one Service for an app id, which it points at whichever of its
// Deployments changed last; calls of actors do not go through it.
func joiningPod(run *v1alpha1.PerfRun, settings v1alpha1.Settings, op Operator) pod {
	out := targetPod(run, settings, op)
	out.name, out.role, out.replicas = NamesOf(run).Joining, RoleJoining, 0
	if settings.Placement == v1alpha1.PlacementDifferentNode {
		out.affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: selector(run, RoleLoadTester)},
			TopologyKey:   corev1.LabelHostname,
		}}}}
	}
	return out
}
