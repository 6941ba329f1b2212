package loadtester

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"perfrun.dev/perfrun/internal/measure"
)

const (
	// idDigits number a run's actors: 31 years of them at 1000 per second.
	idDigits = 12
	// idPrefix is how much of a name stands before the number. An id is as long as the UUID of the published test with it.
	idPrefix = 23
)

// actorIDs gives out the ids of the actors that requests go to, all of one length. Connections share it.
type actorIDs struct {
	prefix string
	// warm is the number of ids that are given out in turn; 0: none is given out twice.
	warm  uint64
	given atomic.Uint64
}

// newActorIDs is nil for a plan without actors. Fresh ids bear the process's name, so that no other process of this or another run gives
// out the same; warm ids bear the run's, since they are the same for all of its processes.
func newActorIDs(plan *measure.Plan) *actorIDs {
	if plan.Actors == nil {
		return nil
	}
	name := plan.Instance
	if plan.Actors.Warm > 0 {
		name = plan.Run
	}
	return &actorIDs{prefix: name[:min(len(name), idPrefix)] + "-", warm: uint64(plan.Actors.Warm)}
}

// next is the number of the next id.
func (a *actorIDs) next() uint64 {
	n := a.given.Add(1) - 1
	if a.warm > 0 {
		n %= a.warm
	}
	return n
}

// put writes the digits of the next id.
func (a *actorIDs) put(digits []byte) {
	n := a.next()
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + n%10)
		n /= 10
	}
}

// in puts the id of a number into the URL of an endpoint.
func (a *actorIDs) in(endpoint measure.Endpoint, n uint64) measure.Endpoint {
	endpoint.URL = strings.Replace(endpoint.URL, measure.ActorID, fmt.Sprintf("%s%0*d", a.prefix, idDigits, n), 1)
	return endpoint
}

// activate calls each of the warm actors at least once, so that none is activated under the load. It does nothing without warm actors.
func (a *actorIDs) activate(ctx context.Context, conns []*connection) {
	each := (int(a.warm) + len(conns) - 1) / len(conns)
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() {
			for i := 0; i < each && ctx.Err() == nil; i++ {
				c.send(ctx)
			}
			c.unstamped = 0
		})
	}
	wg.Wait()
}

// awaitHosts waits until every host's sidecar has taken on the actor type and is connected to placement.
func awaitHosts(ctx context.Context, actors *measure.Actors, patience time.Duration) error {
	if actors == nil {
		return nil
	}
	deadline := time.Now().Add(patience)
	for _, pod := range slices.Sorted(maps.Keys(actors.Hosts)) {
		for {
			lacks := hostLacks(ctx, actors.Type, actors.Hosts[pod])
			if lacks == "" {
				break
			}
			if !time.Now().Before(deadline) {
				return &Failure{Cause: measure.CauseActorHost, Message: fmt.Sprintf(
					"nobody hosts actor type %s: after %s the sidecar of pod %s %s", actors.Type, patience, pod, lacks)}
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(probePause):
			}
		}
	}
	return nil
}

// hostLacks tells what keeps a sidecar from hosting the type; empty if nothing does.
func hostLacks(ctx context.Context, kind, url string) string {
	metadata, err := readMetadata(ctx, url)
	if err != nil {
		return fmt.Sprintf("does not tell what it hosts: %v", err)
	}
	runtime := metadata.ActorRuntime
	types := make([]string, len(runtime.ActiveActors))
	for i, active := range runtime.ActiveActors {
		types[i] = active.Type
	}
	switch {
	case !slices.Contains(types, kind) && len(types) == 0:
		return fmt.Sprintf("hosts no actor type (runtime %s, %s): the application has named none in GET /dapr/config", known(runtime.Status), known(runtime.Placement))
	case !slices.Contains(types, kind):
		return fmt.Sprintf("hosts %s instead, which is what the application has named in GET /dapr/config", strings.Join(types, ", "))
	case !runtime.HostReady:
		return fmt.Sprintf("is not ready to host it (runtime %s, %s); is Dapr's placement service running?", known(runtime.Status), known(runtime.Placement))
	}
	return ""
}

func known(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
