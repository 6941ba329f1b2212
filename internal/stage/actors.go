package stage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/plan"
)

// withoutStateStore tells why the target's sidecar would come up without the one state store that it needs for hosting actors, before
// it is made: it reads its Components when it starts, and stops at two for actors. Nil if nothing is wrong, or if there are no actors.
func withoutStateStore(o Observation) *obstacle {
	if o.Settings.Actors == nil {
		return nil
	}
	names := plan.NamesOf(o.Run)
	if named := o.Settings.Actors.StateStore; named != "" {
		if block := unusable(o, named, names.Target); block != nil {
			return block
		}
	}
	store := cmp.Or(o.Settings.Actors.StateStore, names.StateStore)
	for _, c := range o.Components {
		if c.Name != store && c.HoldsActors && c.LoadedBy(names.Target) {
			return &obstacle{v1alpha1.ReasonStateStoreUnusable, fmt.Sprintf(
				"Component %s keeps the actors of app id %s too, and a sidecar takes one such state store only; name it in spec.actors.stateStore, or give it scopes without %s, or measure in another namespace",
				c.Name, names.Target, names.Target)}
		}
	}
	return nil
}

// unusable tells what is wrong with the Component that the spec names.
func unusable(o Observation, named, appID string) *obstacle {
	i := slices.IndexFunc(o.Components, func(c dapr.Component) bool { return c.Name == named })
	if i < 0 {
		return &obstacle{v1alpha1.ReasonStateStoreMissing, fmt.Sprintf(
			"there is no Component %s in namespace %s; create it, or leave spec.actors.stateStore out for one in memory", named, o.Run.Namespace)}
	}
	switch c := o.Components[i]; {
	case !c.IsStateStore():
		return &obstacle{v1alpha1.ReasonStateStoreUnusable, fmt.Sprintf(
			"Component %s is of type %s, and no state store; name another in spec.actors.stateStore, or leave it out for one in memory", named, c.Type)}
	case !c.HoldsActors:
		return &obstacle{v1alpha1.ReasonStateStoreUnusable, fmt.Sprintf(
			"Component %s does not keep actors: its metadata lacks actorStateStore with the value \"true\"", named)}
	case c.Type == dapr.InMemoryStore && (o.Settings.Hosts() > 1 || o.Settings.Rebalances()):
		return &obstacle{v1alpha1.ReasonStateStoreUnusable, fmt.Sprintf(
			"Component %s is of type %s, which keeps state in each sidecar's own memory, and the run has several hosts (spec.actors.replicas, spec.actors.rebalance): name one in spec.actors.stateStore that they share",
			named, c.Type)}
	case !c.LoadedBy(appID):
		return &obstacle{v1alpha1.ReasonStateStoreUnusable, fmt.Sprintf(
			"Component %s is for the app ids %s alone; add %s to its scopes", named, strings.Join(c.Scopes, ", "), appID)}
	}
	return nil
}
