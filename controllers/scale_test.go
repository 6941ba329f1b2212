package controllers

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// counted passes requests on and counts them, but for events, which go their own way, and for the caches' watches.
type counted struct {
	http.RoundTripper
	n *atomic.Int64
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.URL.Path, "/events") && !r.URL.Query().Has("watch") {
		c.n.Add(1)
	}
	return c.RoundTripper.RoundTrip(r)
}

// newCountedManager is a manager whose calls of the API server are counted.
func newCountedManager(ctx context.Context) (fresh func() *PerfRunReconciler, calls *atomic.Int64) {
	calls = &atomic.Int64{}
	plain := config
	DeferCleanup(func() { config = plain })
	config = rest.CopyConfig(plain)
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return counted{rt, calls} })
	fresh = newManager(ctx, nil, false)
	config = plain
	return fresh, calls
}

// finish gives a run the status of one that was measured.
func finish(ctx context.Context, run *v1alpha1.PerfRun) {
	GinkgoHelper()
	run.Status = v1alpha1.PerfRunStatus{
		Phase: v1alpha1.PhaseSucceeded,
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonMeasured,
			Message: "measured", ObservedGeneration: run.Generation, LastTransitionTime: metav1.Now()}},
		Environment: &v1alpha1.Environment{Kubernetes: "v1.36.3", MTLS: ptr.To(true)},
		Results:     []v1alpha1.PointResult{{Connections: 16, Dapr: &v1alpha1.ArmResult{Requests: 1000, AchievedRPS: "1000.0"}}},
		Usage:       []v1alpha1.Usage{{Component: v1alpha1.ComponentApp, Arm: v1alpha1.ArmDapr, Pod: "target"}},
	}
	Expect(admin.Status().Update(ctx, run)).To(Succeed())
}

var _ = Describe("Many finished runs", func() {
	It("make no reconcile ask the API server for more, and are not looked at", func(ctx SpecContext) {
		done := newRun(ctx)
		finish(ctx, done)
		preparing := newRun(ctx)
		fresh, calls := newCountedManager(ctx)
		Eventually(func() string {
			step(ctx, fresh, preparing)
			return verdict(reload(ctx, preparing)).Message
		}).WithContext(ctx).WithTimeout(30 * time.Second).Should(Equal("waiting for the pods to be created"))
		// Only now: of two runs of one second, the first in the queue is the one with the lesser name.
		waiting := newRun(ctx)
		// asked is what one reconcile of each stage asks for, once there is nothing new to be said.
		asked := func() (out [3]int64) {
			for i, run := range []*v1alpha1.PerfRun{done, waiting, preparing} {
				Eventually(func() int64 {
					before := calls.Load()
					step(ctx, fresh, run)
					former := out[i]
					out[i] = calls.Load() - before
					return out[i] - former
				}).WithContext(ctx).Should(BeZero())
			}
			return out
		}
		few := asked()
		Expect(few[0]).To(BeZero(), "a finished run")
		Expect(few[1]).To(BeZero(), "a queued run")
		Expect(few[2]).To(BeNumerically(">", 0), "a preparing run, or nothing is counted here")

		const many = 200
		for i := range many {
			run := &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Namespace: done.Namespace, Name: fmt.Sprintf("done-%d", i)}, Spec: done.Spec}
			Expect(admin.Create(ctx, run)).To(Succeed())
			finish(ctx, run)
		}
		Eventually(func() (int, error) {
			var all v1alpha1.PerfRunList
			err := fresh().List(ctx, &all, client.InNamespace(done.Namespace))
			finished := 0
			for i := range all.Items {
				if all.Items[i].Status.Phase.Finished() {
					finished++
				}
			}
			return finished, err
		}).WithContext(ctx).Should(Equal(many + 1))
		Expect(asked()).To(Equal(few))
		Expect(fresh().activeRuns(ctx)).To(HaveLen(2), "what each decision on the queue goes through")
	}, SpecTimeout(time.Minute))

	It("are whole in the cluster, though the operator remembers little of them, and their verdict holds for what may still change", func(ctx SpecContext) {
		run := newRun(ctx)
		finish(ctx, run)
		fresh := newManager(ctx, nil, false)
		remembered := &v1alpha1.PerfRun{}
		Expect(fresh().Get(ctx, client.ObjectKeyFromObject(run), remembered)).To(Succeed())
		Expect(remembered.Status.Results).To(BeEmpty())
		Expect(remembered.Status.Usage).To(BeEmpty())

		run.Spec.Cleanup = ptr.To(v1alpha1.CleanupNever)
		Expect(admin.Update(ctx, run)).To(Succeed())
		Eventually(func() int64 {
			step(ctx, fresh, run)
			return verdict(reload(ctx, run)).ObservedGeneration
		}).WithContext(ctx).Should(BeEquivalentTo(2))
		latest := reload(ctx, run)
		Expect(latest.Status.Results).To(Equal(run.Status.Results))
		Expect(latest.Status.Usage).To(Equal(run.Status.Usage))
	}, SpecTimeout(time.Minute))
})
