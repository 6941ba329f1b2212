package stage

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// within sets a deadline; ready has left the queue 10 s ago.
func within(seconds int32) func(*Observation) {
	return func(o *Observation) { o.Run.Spec.ActiveDeadlineSeconds = &seconds }
}

func TestTheDeadlineOfARun(t *testing.T) {
	const (
		preparing, measuring, collecting = v1alpha1.PhasePreparing, v1alpha1.PhaseMeasuring, v1alpha1.PhaseCollecting
		failed                           = v1alpha1.PhaseError
	)
	noDapr := func(o *Observation) { o.Dapr.CRDs = false }
	silent := func(o *Observation) { o.Testers[0].Err = errors.New("no route") }
	steps := fleet(2, 2*time.Second, 2)
	within(10)(&steps)
	for _, c := range []struct {
		name   string
		in     Observation
		action Action
		phase  v1alpha1.Phase
		says   string
	}{
		{"it is looked at when the time is over", ready(preparing, noDapr, within(11)), None, preparing, "Dapr is not installed"},
		{"the obstacle is in the verdict", ready(preparing, noDapr, within(10)), None, failed,
			"not measured 10s after it left the queue, which is spec.activeDeadlineSeconds; it was Preparing: Dapr is not installed"},
		{"the load is stopped", ready(measuring, within(9), progressIn(measure.Running)), Stop, failed, "it was Measuring: block 3 of 12 measured"},
		{"none begins", ready(measuring, within(9)), Stop, failed, "starting the load"},
		{"a load tester that does not answer is named", ready(measuring, within(9), silent), Stop, failed, "no route"},
		{"the steps of the control plane end too", steps, Stop, failed, "step Up: 0 of 2 pods ready"},
		{"a load that has ended is not lost", ready(measuring, within(9), progressIn(measure.Done)), None, collecting, ""},
		{"nor is its report", ready(collecting, within(9), progressIn(measure.Done)), Collect, collecting, ""},
		{"a report that nobody gives ends nothing before", ready(collecting, within(30), silent), None, collecting, ""},
		{"but then", ready(collecting, within(9), silent), Stop, failed, "it was Collecting"},
		{"a worse end stays", ready(measuring, within(9), progressIn(measure.Failed)), Stop, failed, ""},
		{"in the queue no time passes", ready(v1alpha1.PhaseQueued, within(1), func(o *Observation) { o.Ahead, o.Run.Status.StartTime = 1, nil }), None, v1alpha1.PhaseQueued, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Decide(c.in)
			if d.Action != c.action || d.Phase != c.phase || !strings.Contains(d.Message, c.says) {
				t.Errorf("%+v", d)
			}
			if d.Phase == preparing && d.After > time.Second {
				t.Errorf("looks again after %s, with 1s left", d.After)
			}
		})
	}
	if d := Decide(ready(measuring, within(9))); d.Reason != v1alpha1.ReasonDeadlineExceeded {
		t.Errorf("reason %s", d.Reason)
	}
}

func TestWhatCannotBeDoneIsTheVerdictAtTheDeadline(t *testing.T) {
	quota := fmt.Errorf("creating Service x: %w", errors.New("exceeded quota"))
	metrics := &StepError{Reason: v1alpha1.ReasonMetricsMissing, Err: errors.New("no counters")}
	late := func(o *Observation) { o.Run.Status.StartTime = &metav1.Time{Time: now.Add(-2 * time.Minute)} }
	longAgo := fleet(1, time.Hour, 0)
	for _, c := range []struct {
		name   string
		in     Observation
		err    error
		phase  v1alpha1.Phase
		reason string
	}{
		{"it is tried again", ready(v1alpha1.PhasePreparing), quota, v1alpha1.PhasePreparing, "Preparing"},
		{"what is missing has a name", ready(v1alpha1.PhasePreparing), fmt.Errorf("reading: %w", metrics), v1alpha1.PhasePreparing, v1alpha1.ReasonMetricsMissing},
		{"until the deadline", ready(v1alpha1.PhasePreparing, late), quota, v1alpha1.PhaseError, v1alpha1.ReasonStepFailed},
		{"by its name", ready(v1alpha1.PhasePreparing, late), metrics, v1alpha1.PhaseError, v1alpha1.ReasonMetricsMissing},
		{"or until the run's own", ready(v1alpha1.PhasePreparing, within(9)), quota, v1alpha1.PhaseError, v1alpha1.ReasonDeadlineExceeded},
		{"a step goes on", fleet(1, 2*time.Minute, 0), metrics, v1alpha1.PhaseMeasuring, v1alpha1.ReasonMetricsMissing},
		{"and ends", longAgo, metrics, v1alpha1.PhaseError, v1alpha1.ReasonMetricsMissing},
		{"a measurement has a deadline of its own", ready(v1alpha1.PhaseMeasuring, late), quota, v1alpha1.PhaseMeasuring, "Measuring"},
	} {
		d := Obstructed(c.in, c.err)
		if d.Phase != c.phase || d.Reason != c.reason || !strings.Contains(d.Message, c.err.Error()) {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
	// What is to be created is tried to the last, so that the verdict has the API server's reason.
	if d := Decide(ready(v1alpha1.PhasePreparing, late, func(o *Observation) { o.Missing = []string{"Service x"} })); d.Action != Create {
		t.Errorf("%+v", d)
	}
}

func TestWhatIsKeptGoesAfterItsTime(t *testing.T) {
	kept := func(cleanup v1alpha1.Cleanup, ttl *int32) Observation {
		return ready(v1alpha1.PhaseFailed, func(o *Observation) {
			o.Run.Spec.Cleanup, o.Run.Spec.TTLSecondsAfterFinished = &cleanup, ttl
			o.Run.Status.CompletionTime = &metav1.Time{Time: now.Add(-10 * time.Second)}
		})
	}
	for _, c := range []struct {
		name   string
		in     Observation
		action Action
		after  time.Duration
	}{
		{"not without one", kept(v1alpha1.CleanupNever, nil), None, 0},
		{"later", kept(v1alpha1.CleanupNever, ptr.To[int32](15)), None, 5 * time.Second},
		{"now", kept(v1alpha1.CleanupNever, ptr.To[int32](10)), Cleanup, 0},
		{"long since", kept(v1alpha1.CleanupOnSuccess, ptr.To[int32](0)), Cleanup, 0},
		{"at once where nothing is kept", kept(v1alpha1.CleanupAlways, ptr.To[int32](3600)), Cleanup, 0},
	} {
		if d := Decide(c.in); d.Action != c.action || d.After != c.after || d.Phase != v1alpha1.PhaseFailed {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
	half := kept(v1alpha1.CleanupAlways, nil)
	half.LoadTester, half.Target, half.Left = Workload{}, Workload{}, []string{"Service x"}
	if d := Decide(half); d.Action != Cleanup {
		t.Errorf("a Service is left: %+v", d)
	}
	gone := kept(v1alpha1.CleanupNever, ptr.To[int32](0))
	gone.LoadTester, gone.Target = Workload{}, Workload{}
	if d := Decide(gone); d.Action != None || d.After != 0 {
		t.Errorf("nothing is left: %+v", d)
	}
}

func TestLastWords(t *testing.T) {
	crashed := func(running bool, log string) Observation {
		return ready(v1alpha1.PhasePreparing, func(o *Observation) {
			s := waiting("CrashLoopBackOff", "back-off")
			if running {
				s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
			}
			s.RestartCount, s.LastTerminationState.Terminated = 2, &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1, Message: log}
			o.Target.Pod().Status = corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{s}}
		})
	}
	for name, c := range map[string]struct {
		in   Observation
		want string
	}{
		"in a crash loop":           {crashed(false, "opening port\nopening port: in use\n"), "exit code 1: opening port | opening port: in use)"},
		"between two crashes":       {crashed(true, "no"), "container main of pod tg has been restarted 2 time(s) (last ended with Error, exit code 1: no)"},
		"of a sidecar":              {crashed(false, ""), "exit code 1);"},
		"cut at a line's beginning": {crashed(false, strings.Repeat("x", 500)+"\n"+strings.Repeat("y", 399)), "exit code 1: " + strings.Repeat("y", 399) + ")"},
	} {
		if d := Decide(c.in); d.Reason != v1alpha1.ReasonContainerFailing || !strings.Contains(d.Message, c.want) {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestEveryObstacleIsTheVerdictAtTheDeadline takes what stage_test.go finds in a run's way.
func TestEveryObstacleIsTheVerdictAtTheDeadline(t *testing.T) {
	unschedulable := func(o *Observation) {
		o.LoadTester.Pod().Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes are available"}}
	}
	status := func(s corev1.ContainerStatus) func(*Observation) {
		return func(o *Observation) {
			o.Target.Pod().Status = corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{s}}
		}
	}
	for reason, inTheWay := range map[string]func(*Observation){
		v1alpha1.ReasonDaprNotInstalled:      func(o *Observation) { o.Dapr.CRDs = false },
		v1alpha1.ReasonInjectorMissing:       func(o *Observation) { o.Dapr.ControlPlane = nil },
		v1alpha1.ReasonNameTaken:             func(o *Observation) { o.Taken = []string{"Service x"} },
		v1alpha1.ReasonPodsNotGone:           func(o *Observation) { o.Former, o.Missing = []string{"lt"}, []string{"Service x"} },
		v1alpha1.ReasonUnschedulable:         unschedulable,
		v1alpha1.ReasonSidecarNotInjected:    func(o *Observation) { o.Target.Pod().Spec.Containers = o.Target.Pod().Spec.Containers[:1] },
		v1alpha1.ReasonImagePull:             status(waiting("ErrImagePull", "not found")),
		v1alpha1.ReasonContainerFailing:      status(waiting("CrashLoopBackOff", "back-off")),
		v1alpha1.ReasonPodsNotReady:          status(corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}),
		v1alpha1.ReasonLoadTesterUnreachable: func(o *Observation) { o.Testers = []Tester{{Err: errors.New("no route")}} },
		v1alpha1.ReasonPreparing:             func(o *Observation) { o.Target.Pods = nil },
	} {
		o := ready(v1alpha1.PhasePreparing, inTheWay)
		before := Decide(o)
		if before.Phase != v1alpha1.PhasePreparing || before.Reason != reason || before.After == 0 {
			t.Errorf("%s: %+v", reason, before)
		}
		o.Run.Status.StartTime = &metav1.Time{Time: now.Add(-2 * time.Minute)}
		if d := Decide(o); d.Phase != v1alpha1.PhaseError || d.Reason != reason || d.Message != "not ready after 1m0s: "+before.Message {
			t.Errorf("%s at the deadline: %+v", reason, d)
		}
	}
}
