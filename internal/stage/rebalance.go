package stage

import (
	"fmt"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/plan"
)

// pollChange: how soon a change is to be seen that no event tells of.
const pollChange = 500 * time.Millisecond

// Changes are the changes of the actor hosts that the status has to record next.
type Changes struct {
	// Done: the last recorded one has come about.
	Done bool
	// Begin the next one.
	Begin bool
	// Obstacle is what keeps the last one from coming about, if that is worth a name.
	Obstacle string
}

// any tells whether there is something to record that the status does not say yet.
func (c Changes) any(recorded []v1alpha1.Rebalance) bool {
	return c.Done || c.Begin || c.Obstacle != "" && c.Obstacle != recorded[len(recorded)-1].Note
}

// NextChanges are due at this moment, and how long it is until something else may be.
func NextChanges(o Observation) (c Changes, after time.Duration) {
	recorded := o.Run.Status.Rebalances
	after = pollMeasuring
	if n := len(recorded); n > 0 && recorded[n-1].DoneTime == nil {
		c.Done, after = changed(o, recorded[n-1].Change), pollChange
		if recorded[n-1].Change == v1alpha1.HostAdded && !c.Done {
			c.Obstacle = notJoining(o)
		}
	}
	begun, into := changesUnderWay(o)
	wait := plan.ChangeAfter(o.Settings) - into
	switch {
	case begun == 0 || len(recorded) >= begun:
	case len(recorded) < begun-1 || wait <= 0:
		// One that was missed is made up for, so that the hosts are as the next block expects; the results tell that it was late.
		c.Begin = true
	default:
		after = min(after, wait)
	}
	return c, after
}

// changed tells whether a change has come about.
func changed(o Observation, change v1alpha1.HostChange) bool {
	if change == v1alpha1.HostAdded {
		return o.Joining.Ready() == 1
	}
	return len(o.Joining.Pods) == 0
}

// notJoining tells what keeps the host from being ready; empty while it is only starting.
func notJoining(o Observation) string {
	w := Workload{Deployment: o.Joining.Deployment}
	for _, pod := range o.Joining.Pods {
		if pod.DeletionTimestamp == nil {
			w.Pods = append(w.Pods, pod)
		}
	}
	if block := unready(o, w, 1); block != nil && block.reason != v1alpha1.ReasonPreparing {
		return block.message
	}
	return ""
}

// changesUnderWay is the number of blocks with a change that have begun, and how long ago the last of them did.
func changesUnderWay(o Observation) (begun int, into time.Duration) {
	p := Together(o.Testers)
	if p == nil || p.State != measure.Running {
		return 0, 0
	}
	into = p.Elapsed
	for i, b := range plan.Blocks(o.Settings) {
		if i > p.Current {
			break
		}
		if b.Change != "" {
			begun++
		}
		if i < p.Current {
			into -= b.Duration
		}
	}
	return begun, into
}

// JoiningHosts is how many there are to be, as far as the status has recorded: each change is written down before it is made, so that a
// restarted operator makes it once.
func JoiningHosts(o Observation) int32 {
	n := len(o.Run.Status.Rebalances)
	if n == 0 || o.Run.Status.Rebalances[n-1].Change == v1alpha1.HostRemoved {
		return 0
	}
	return 1
}

// rebalancing adds to a measurement that goes on what has to be done about its actor hosts.
func rebalancing(o Observation, going Decision) Decision {
	if !o.Settings.Rebalances() {
		return going
	}
	if o.Joining.Deployment == nil {
		d := failed(v1alpha1.ReasonMeasurementFailed, "the Deployment of the actor host that is to join is gone: something other than perfrun has taken it away")
		d.Action = Stop
		return d
	}
	changes, after := NextChanges(o)
	current := o.Joining.Deployment.Spec.Replicas
	switch {
	case current == nil || *current != JoiningHosts(o):
		going.Action, going.After = Scale, pollChange
	case changes.any(o.Run.Status.Rebalances):
		going.Action, going.After = Change, soon
	default:
		going.After = min(going.After, after)
	}
	going.Message = fmt.Sprintf("%s, %d change(s) of the actor hosts made", going.Message, len(o.Run.Status.Rebalances))
	return going
}
