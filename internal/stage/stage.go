// Package stage decides what a run needs next from what was observed of it. It calls nothing and has no clock.
//
//	          objects and pods     load tester           load tester
//	          are all ready        says Done             gave its report
//	Queued -> Preparing ---------> Measuring ----------> Collecting -----> Succeeded | Failed | Inconclusive
//	   |          |                    |                     |
//	   +----------+--------------------+---------------------+-----------> Error
//	   |          |                    |
//	   +----------+--------------------+-> Suspended -> Queued
//
// The attempt is recorded in the status on the way from Preparing to Measuring, before any load; verdicts are final.
package stage

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/measure"
)

// Observation is all that a decision rests on. What a stage does not need is not observed, and zero.
type Observation struct {
	Now      time.Time
	Run      *v1alpha1.PerfRun
	Settings v1alpha1.Settings
	// Ahead is the number of exclusive runs that this one waits for.
	Ahead int
	// Beside names the runs that prepare or measure at this moment, but for this one, as namespace/name.
	Beside []string
	// PrepareTimeout is how long a run may prepare before the obstacle at hand becomes its verdict.
	PrepareTimeout time.Duration
	// Dapr as found in the cluster.
	Dapr dapr.Installation
	// Missing names the run's objects that do not exist, Taken those whose name belongs to someone else.
	Missing, Taken []string
	// Left names the run's objects that exist, where it is to have none.
	Left []string
	// Former names pods of an attempt that was stopped, which are there before this one's.
	Former []string
	// Components of Dapr in the run's namespace, in scenario Actors.
	Components []dapr.Component
	// JavaHost: the operator knows an image of the Java actor host.
	JavaHost bool
	// LoadTester and Target as found.
	LoadTester, Target Workload
	// Sink as found; empty unless the sidecars export their traces.
	Sink Workload
	// Testers are the words of the load testers in LoadTester.Pods, in their order.
	Testers []Tester
	// Fleet is the pods of scenario ControlPlane.
	Fleet Fleet
	// Joining is the actor host that joins and leaves.
	Joining Fleet
}

// Workload is one of the run's Deployments and its pods.
type Workload struct {
	// Deployment as found; nil where there is none.
	Deployment *appsv1.Deployment
	// Pods of it, the newest where there are more than it asks for, in the order of their names.
	Pods []*corev1.Pod
}

// Pod is the first of Pods, and the only one of a Deployment that asks for one; nil where there is none.
func (w Workload) Pod() *corev1.Pod {
	if len(w.Pods) == 0 {
		return nil
	}
	return w.Pods[0]
}

// Tester is what the load tester answered.
type Tester struct {
	// Info of the process; nil if it was not asked or did not answer.
	Info *measure.Info
	// Progress of the run's attempt; nil if unknown to the load tester, not asked, or not answered.
	Progress *measure.Progress
	// Err is why the load tester did not answer.
	Err error
}

// Action is what is to be done in the cluster before the status is written.
type Action string

// The actions.
const (
	// None: only the status changes.
	None Action = ""
	// Create the objects that are missing.
	Create Action = "Create"
	// Record the attempt in the status.
	Record Action = "Record"
	// Schedule the load: record the moment from which several load testers count.
	Schedule Action = "Schedule"
	// Start the recorded attempt: post the plan.
	Start Action = "Start"
	// Follow the attempt: add metrics-server's windows to its report.
	Follow Action = "Follow"
	// Change records that the actor hosts are to change, or that they have.
	Change Action = "Change"
	// Scale the fleet to the size of the step under way, or the actor host that joins and leaves.
	Scale Action = "Scale"
	// Read the control plane's counters: one step ends, and the next one begins.
	Read Action = "Read"
	// Collect the report and turn it into results and a verdict.
	Collect Action = "Collect"
	// Stop whatever load there may be.
	Stop Action = "Stop"
	// Cleanup deletes what the run created.
	Cleanup Action = "Cleanup"
	// Remove does both: Stop and Cleanup.
	Remove Action = "Remove"
)

// Decision is what follows from an observation.
type Decision struct {
	Action Action
	// Phase to be in; with Collect the results may name another.
	Phase v1alpha1.Phase
	// Place in the queue, from 1; 0: not in the queue.
	Place int
	// Reason and Message of the condition Succeeded.
	Reason, Message string
	// After is when to look again even if nothing changes; 0: only when something does.
	After time.Duration
}

// Intervals at which a run is looked at when no event tells.
const (
	pollPreparing = 2 * time.Second
	pollMeasuring = 5 * time.Second
	soon          = time.Millisecond
)

// Decide names the next step of a run.
func Decide(o Observation) Decision {
	switch phase := o.Run.Status.Phase; {
	case o.Run.DeletionTimestamp != nil:
		return deleting(o)
	case phase.Finished():
		return finished(o)
	case phase == v1alpha1.PhaseSuspended:
		return suspended(o)
	case Stops(o.Run):
		return stopping(o)
	case phase == "" || phase == v1alpha1.PhaseQueued:
		return queued(o)
	default:
		return bounded(o, proceed(o))
	}
}

// proceed names the next step of a run that has the cluster.
func proceed(o Observation) Decision {
	switch phase := o.Run.Status.Phase; {
	case phase == v1alpha1.PhasePreparing:
		return preparing(o)
	case o.Settings.ControlPlane != nil:
		return stepping(o)
	case phase == v1alpha1.PhaseMeasuring:
		return measuring(o)
	default:
		return collecting(o)
	}
}

func failed(reason, message string) Decision {
	return Decision{Phase: v1alpha1.PhaseError, Reason: reason, Message: message}
}
