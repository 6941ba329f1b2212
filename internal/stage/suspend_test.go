package stage

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

func suspend(o *Observation) { o.Run.Spec.Suspend = ptr.To(true) }

func remains(o *Observation) { o.Left = []string{"Deployment x"} }

func deleted(o *Observation) {
	o.Run.DeletionTimestamp, o.Run.Finalizers = &metav1.Time{Time: now}, []string{"example.com/keep"}
}

func TestSuspending(t *testing.T) {
	const (
		queued, preparing, measuring = v1alpha1.PhaseQueued, v1alpha1.PhasePreparing, v1alpha1.PhaseMeasuring
		collecting, held             = v1alpha1.PhaseCollecting, v1alpha1.PhaseSuspended
	)
	for _, c := range []struct {
		name   string
		in     Observation
		action Action
		phase  v1alpha1.Phase
		reason string
		says   string
	}{
		{"a new run is held", ready("", suspend), Stop, held, v1alpha1.ReasonSuspended, "spec.suspend holds the run"},
		{"so is a queued one", ready(queued, suspend), Stop, held, v1alpha1.ReasonSuspended, "holds"},
		{"one that prepares is stopped, whatever is in its way", ready(preparing, suspend, func(o *Observation) { o.Dapr.CRDs = false }), Stop, held, v1alpha1.ReasonSuspended, "holds"},
		{"one that measures is stopped", ready(measuring, suspend), Stop, held, v1alpha1.ReasonSuspended, "has stopped attempt 1, of which nothing counts"},
		{"and for the second time", ready(measuring, suspend, func(o *Observation) { o.Run.Status.VoidAttempts = 1 }), Stop, held, v1alpha1.ReasonSuspended, "has stopped attempt 2"},
		{"the control plane's too", func() Observation { o := fleet(2, 0, 2); suspend(&o); return o }(), Stop, held, v1alpha1.ReasonSuspended, "has stopped attempt 1"},
		{"one whose load has ended comes to its verdict", ready(collecting, suspend, progressIn(measure.Done)), Collect, collecting, v1alpha1.ReasonCollecting, ""},
		{"a verdict stays", ready(v1alpha1.PhaseSucceeded, suspend, func(o *Observation) { o.LoadTester, o.Target = Workload{}, Workload{} }), None, v1alpha1.PhaseSucceeded, "", ""},
		{"what there is, is deleted", ready(held, suspend, remains), Cleanup, held, v1alpha1.ReasonSuspended, "holds"},
		{"even when it is resumed meanwhile", ready(held, remains), Cleanup, held, v1alpha1.ReasonSuspended, ""},
		{"then it waits", ready(held, suspend, func(o *Observation) { o.Run.Status.VoidAttempts = 2 }), None, held, v1alpha1.ReasonSuspended, "has stopped attempt 2"},
		{"resumed, it is in the queue", ready(held), None, queued, v1alpha1.ReasonQueued, "resumed"},
		{"it makes nothing before its former pods are gone", ready(preparing, func(o *Observation) { o.Missing, o.Former = []string{"Service x"}, []string{"lt"} }),
			None, preparing, v1alpha1.ReasonPodsNotGone, "not gone yet: lt"},

		{"a run that is deleted is stopped first", ready(measuring, deleted, remains), Remove, measuring, v1alpha1.ReasonDeleting, "example.com/keep"},
		{"suspended or not", ready(measuring, deleted, remains, suspend), Remove, measuring, v1alpha1.ReasonDeleting, ""},
		{"in the queue too", ready(queued, deleted), None, queued, v1alpha1.ReasonDeleting, ""},
		{"finished too", ready(v1alpha1.PhaseFailed, deleted, remains), Remove, v1alpha1.PhaseFailed, v1alpha1.ReasonDeleting, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Decide(c.in)
			if d.Action != c.action || d.Phase != c.phase || d.Reason != c.reason || !strings.Contains(d.Message, c.says) {
				t.Errorf("%+v", d)
			}
			if d.Action != None && d.After == 0 && d.Phase != v1alpha1.PhaseSucceeded {
				t.Error("what is being done must be looked at again")
			}
		})
	}
}
