package stage

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// Fleet is a Deployment that is scaled in the course of a run, and its pods, those on their way out too.
type Fleet struct {
	Deployment *appsv1.Deployment
	Pods       []*corev1.Pod
}

// Ready is the number of its pods that are.
func (f Fleet) Ready() int32 {
	var n int32
	for _, pod := range f.Pods {
		if isReady(pod) {
			n++
		}
	}
	return n
}

// ReadyPod is the first of its pods that is ready; nil if none is.
func (f Fleet) ReadyPod() *corev1.Pod {
	if i := slices.IndexFunc(f.Pods, isReady); i >= 0 {
		return f.Pods[i]
	}
	return nil
}

// isReady is not said of a pod on its way out.
func isReady(pod *corev1.Pod) bool {
	c := podCondition(pod, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
}

// perPod is how long a pod may take to come up or to go, on a node that does one after the other.
const perPod = 5 * time.Second

// stepping goes through the steps of scenario ControlPlane: each begins with a reading of the counters, which is also the end of the one
// before, and with the fleet scaled to what the step is about.
//
//	Idle -- spec.duration --> Up -- all ready --> Steady -- spec.duration --> Down -- all gone --> verdict
func stepping(o Observation) Decision {
	readings := o.Run.Status.ControlPlaneReadings
	if len(readings) == 0 || o.Fleet.Deployment == nil {
		return failed(v1alpha1.ReasonMeasurementFailed, "the run's Deployment or what was read so far is gone: something other than perfrun has taken it away")
	}
	if len(readings) > len(v1alpha1.ControlPlaneSteps) {
		return Decision{Action: Collect, Phase: v1alpha1.PhaseCollecting, Reason: v1alpha1.ReasonCollecting, Message: "turning the readings into results", After: soon}
	}
	step := v1alpha1.ControlPlaneSteps[len(readings)-1]
	since := o.Now.Sub(readings[len(readings)-1].Time.Time)
	want := FleetSize(o)
	d := Decision{Phase: v1alpha1.PhaseMeasuring, Reason: v1alpha1.ReasonMeasuring, After: pollPreparing,
		Message: fmt.Sprintf("step %s: %d of %d pods ready", step, o.Fleet.Ready(), o.Settings.ControlPlane.Pods)}
	if current := o.Fleet.Deployment.Spec.Replicas; current == nil || *current != want {
		d.Action, d.After = Scale, soon
		return d
	}
	over, left := stepOver(o, step, since)
	switch {
	case over:
		d.Action, d.After = Read, soon
	case left <= 0:
		return overdueStep(o, step, since)
	default:
		d.After = min(pollPreparing, left)
	}
	return d
}

// FleetSize is the number of pods that the step under way is about.
func FleetSize(o Observation) int32 {
	switch len(o.Run.Status.ControlPlaneReadings) {
	case 2, 3: // Up, Steady
		return o.Settings.ControlPlane.Pods
	default:
		return 0
	}
}

// fleetPatience is how long all pods may take to come up or to go.
func fleetPatience(o Observation) time.Duration {
	return o.PrepareTimeout + time.Duration(o.Settings.ControlPlane.Pods)*perPod
}

// stepOver tells whether a step has come to its end, and if not, how long it may still take.
func stepOver(o Observation, step v1alpha1.ControlPlaneStep, since time.Duration) (over bool, left time.Duration) {
	patience := fleetPatience(o)
	switch step {
	case v1alpha1.StepUp:
		return o.Fleet.Ready() == o.Settings.ControlPlane.Pods, patience - since
	case v1alpha1.StepDown:
		return len(o.Fleet.Pods) == 0, patience - since
	default:
		left := o.Settings.Duration.Duration - since
		return left <= 0, left
	}
}

// overdueStep names what the first pod that is not as it should be waits for.
func overdueStep(o Observation, step v1alpha1.ControlPlaneStep, since time.Duration) Decision {
	took := since.Round(time.Second)
	if step == v1alpha1.StepDown {
		return failed(v1alpha1.ReasonMeasurementFailed, fmt.Sprintf("%d pods are not gone %s after they were taken down; the first is %s",
			len(o.Fleet.Pods), took, o.Fleet.Pods[0].Name))
	}
	cause := unready(o, Workload{Deployment: o.Fleet.Deployment, Pods: o.Fleet.Pods}, int(o.Settings.ControlPlane.Pods))
	if cause == nil {
		cause = &obstacle{v1alpha1.ReasonPodsNotReady, "there are more pods than asked for"}
	}
	return failed(cause.reason, fmt.Sprintf("%d of %d pods ready after %s: %s", o.Fleet.Ready(), o.Settings.ControlPlane.Pods, took, cause.message))
}
