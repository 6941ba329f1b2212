package loadtester

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"perfrun.dev/perfrun/internal/measure"
)

const (
	// spreadPrefix is of the ids that are called to see where placement has put actors; the load calls none of them.
	spreadPrefix = "spread-"
	// callsPerHost of a round. Placement hashes each id to a host: of N hosts that share evenly, one gets none of 16 N calls with a
	// probability of e^-16.
	callsPerHost = 16
)

// awaitSpread calls actors until each of several hosts has got some: only then has placement told the caller's sidecar of all of them. It
// leaves it to the priming to tell what is wrong where no call at all gets through.
func awaitSpread(ctx context.Context, plan *measure.Plan, patience time.Duration) error {
	if plan.Actors == nil || len(plan.Actors.Hosts) < 2 {
		return nil
	}
	deadline := time.Now().Add(patience)
	ids := &actorIDs{prefix: spreadPrefix + plan.Instance[:min(len(plan.Instance), idPrefix)] + "-"}
	answered := false
	for {
		for range callsPerHost * len(plan.Actors.Hosts) {
			if answer := ask(ctx, plan, ids.in(plan.Endpoints[measure.Dapr], ids.next())); answer.err == nil && isGood(answer.code) {
				answered = true
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		idle := idleHosts(ctx, plan.Actors)
		if len(idle) == 0 {
			return nil
		}
		if !time.Now().Before(deadline) {
			if !answered {
				return nil
			}
			return &Failure{Cause: measure.CauseActorHost, Message: fmt.Sprintf(
				"placement has not spread actor type %s over all hosts: after %s none of %d calls has reached %s",
				plan.Actors.Type, patience, ids.given.Load(), strings.Join(idle, ", "))}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(probePause):
		}
	}
}

// idleHosts are the pods of the hosts that no actor was activated on.
func idleHosts(ctx context.Context, actors *measure.Actors) []string {
	var idle []string
	for _, pod := range slices.Sorted(maps.Keys(actors.Hosts)) {
		active := 0
		if metadata, err := readMetadata(ctx, actors.Hosts[pod]); err == nil {
			for _, a := range metadata.ActorRuntime.ActiveActors {
				if a.Type == actors.Type {
					active += a.Count
				}
			}
		}
		if active == 0 {
			idle = append(idle, pod)
		}
	}
	return idle
}
