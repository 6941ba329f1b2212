package stage

import (
	"fmt"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/plan"
)

// Told is how far back in the queue a run is told at once that it has moved up. Behind that, a queue of a thousand would be a thousand
// writes whenever a run ends.
const Told = 10

// perPlace is how long a run in the queue looks away for each place. Runs take a minute or more, so that a place that is shown is wrong by
// at most a twelfth.
const perPlace = 5 * time.Second

func queued(o Observation) Decision {
	if err := plan.Check(o.Settings); err != nil {
		return failed(v1alpha1.ReasonInvalidSpec, err.Error())
	}
	if o.Settings.Actors.Java() && !o.JavaHost {
		return failed(v1alpha1.ReasonInvalidSpec,
			"this operator knows no image of the Java actor host; name one with its flag --actor-host-java-image (make deploy ACTOR_HOST_JAVA_IMG=...), or take actors.host: Go")
	}
	if o.Ahead > 0 {
		return Decision{Phase: v1alpha1.PhaseQueued, Reason: v1alpha1.ReasonQueued, Place: o.Ahead, After: time.Duration(max(o.Ahead, Told)) * perPlace,
			Message: fmt.Sprintf("waiting for %d PerfRun(s) created earlier: runs measure one at a time, or they would disturb each other", o.Ahead)}
	}
	return Decision{Phase: v1alpha1.PhasePreparing, Reason: v1alpha1.ReasonPreparing, Message: "creating what the run needs", After: soon}
}
