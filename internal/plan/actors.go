package plan

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/measure"
)

// ActorType that a run in scenario Actors calls: the spec's, or one of its own. Placement knows types by namespace, so that a kept
// run would otherwise go on hosting the actors of the next.
func ActorType(run *v1alpha1.PerfRun, s v1alpha1.Settings) string {
	return cmp.Or(s.Actors.Type, NamesOf(run).ActorType)
}

// stateStore is the run's own, which the sidecars of actor hosts alone load: a mere caller needs none.
func stateStore(run *v1alpha1.PerfRun, s v1alpha1.Settings) *unstructured.Unstructured {
	names := NamesOf(run)
	switch {
	case s.Actors != nil && s.Actors.StateStore == "":
		return owned(run, dapr.NewActorStateStore(run.Namespace, names.StateStore, names.Target))
	case s.ControlPlane != nil && s.ControlPlane.ActorHosts:
		return owned(run, dapr.NewActorStateStore(run.Namespace, names.StateStore, names.Fleet))
	default:
		return nil
	}
}

// actorEndpoints: the baseline asks the host for the same method as the host's sidecar does.
func actorEndpoints(target, kind, method string) map[measure.Arm]measure.Endpoint {
	return map[measure.Arm]measure.Endpoint{
		measure.Baseline: {Method: "PUT", URL: target + dapr.ActorHostPath(kind, measure.ActorID, method)},
		measure.Dapr:     {Method: "PUT", URL: dapr.ActorURL(kind, measure.ActorID, method)},
	}
}

func actors(run *v1alpha1.PerfRun, s v1alpha1.Settings, pods Pods) *measure.Actors {
	if s.Actors == nil {
		return nil
	}
	out := &measure.Actors{Type: ActorType(run, s), Warm: s.Actors.IDs.IntValue(), Hosts: map[string]string{}}
	for _, host := range pods.Targets {
		out.Hosts[host.Name] = dapr.PublicMetadataURL(host.Status.PodIP)
	}
	return out
}
