package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// pollEvery is well below the operator's own intervals, so that no state is missed that lasts a second.
const pollEvery = 250 * time.Millisecond

// await reads the run until it is as wanted. A verdict is final: if it is not what is wanted, waiting ends at once.
func (c *testCluster) await(ctx context.Context, run *v1alpha1.PerfRun, within time.Duration, want string, is func(*v1alpha1.PerfRun) bool) {
	GinkgoHelper()
	Eventually(ctx, func() (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(run), run); err != nil {
			return false, err
		}
		if is(run) {
			return true, nil
		}
		if run.Status.Phase.Finished() {
			return false, StopTrying("the run has ended otherwise")
		}
		return false, nil
	}).WithTimeout(within).WithPolling(pollEvery).Should(BeTrue(), func() string {
		return fmt.Sprintf("awaiting that PerfRun %s is %s\n%s", run.Name, want, c.describe(ctx, run))
	})
}

func (c *testCluster) awaitPhase(ctx context.Context, run *v1alpha1.PerfRun, phase v1alpha1.Phase, within time.Duration) {
	GinkgoHelper()
	c.await(ctx, run, within, string(phase), func(r *v1alpha1.PerfRun) bool { return r.Status.Phase == phase })
}

// busyMachine are the reasons that a machine gives which does too much besides.
var busyMachine = []string{v1alpha1.ReasonCPUStolen, v1alpha1.ReasonLoadTesterBusy, v1alpha1.ReasonLoadTesterLate,
	v1alpha1.ReasonRequestsSkipped, v1alpha1.ReasonStartSkew, v1alpha1.ReasonRateShortfall}

// awaitMeasured waits for a run to be measured, its blocks valid or not: what a spec checks by it must hold also on a machine that
// does so much besides that the rate is missed now and then. That a rate can be held is the sample run's to show.
func (c *testCluster) awaitMeasured(ctx context.Context, run *v1alpha1.PerfRun, within time.Duration) {
	GinkgoHelper()
	c.await(ctx, run, within, "measured", func(r *v1alpha1.PerfRun) bool {
		busy := r.Status.Phase == v1alpha1.PhaseInconclusive && !slices.ContainsFunc(r.Status.Reasons,
			func(reason v1alpha1.Reason) bool { return !slices.Contains(busyMachine, reason.Reason) })
		return r.Status.Phase == v1alpha1.PhaseSucceeded || busy
	})
	if run.Status.Phase != v1alpha1.PhaseSucceeded {
		AddReportEntry(run.Name+" is "+string(run.Status.Phase), conditionOf(run, v1alpha1.ConditionSucceeded).Message)
	}
}

// awaitReason waits for the root condition to name a reason while the run goes on.
func (c *testCluster) awaitReason(ctx context.Context, run *v1alpha1.PerfRun, reason string, within time.Duration) {
	GinkgoHelper()
	c.await(ctx, run, within, "waiting because of "+reason, func(r *v1alpha1.PerfRun) bool {
		return conditionOf(r, v1alpha1.ConditionSucceeded).Reason == reason
	})
}

// awaitLoad waits until so many blocks have been measured and the load goes on.
func (c *testCluster) awaitLoad(ctx context.Context, run *v1alpha1.PerfRun, blocks int32, within time.Duration) {
	GinkgoHelper()
	c.await(ctx, run, within, fmt.Sprintf("Measuring with %d block(s) done", blocks), func(r *v1alpha1.PerfRun) bool {
		return r.Status.Phase == v1alpha1.PhaseMeasuring && r.Status.Progress != nil && r.Status.Progress.Block >= blocks
	})
}

// conditionOf is the run's condition, an empty one if it has none of this type.
func conditionOf(run *v1alpha1.PerfRun, kind string) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(run.Status.Conditions, kind), metav1.Condition{})
}

// describe is what a person would look at first: status, pods and events, and the operator's log. It works when ctx has ended already.
func (c *testCluster) describe(ctx context.Context, run *v1alpha1.PerfRun) string {
	status := run.Status.DeepCopy()
	status.Usage = nil
	text, err := json.MarshalIndent(status, "  ", "  ")
	if err != nil {
		text = []byte(err.Error())
	}
	return fmt.Sprintf("Status (without usage):\n  %s\n%s", text, c.describeNamespace(ctx, run.Namespace))
}

func (c *testCluster) describeNamespace(ctx context.Context, namespace string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	var b strings.Builder
	var pods corev1.PodList
	fmt.Fprintf(&b, "Pods in %s: %s\n", namespace, problem(c.List(ctx, &pods, client.InNamespace(namespace))))
	for i := range pods.Items {
		describePod(&b, &pods.Items[i])
	}
	var events corev1.EventList
	fmt.Fprintf(&b, "Events: %s\n", problem(c.List(ctx, &events, client.InNamespace(namespace))))
	for _, e := range events.Items {
		fmt.Fprintf(&b, "  %s %s %s/%s: %s\n", e.Type, e.Reason, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message)
	}
	fmt.Fprintf(&b, "The operator's log ends with:\n%s", c.operatorLog(ctx))
	return b.String()
}

func describePod(b *strings.Builder, pod *corev1.Pod) {
	fmt.Fprintf(b, "  %s on %q: %s", pod.Name, pod.Spec.NodeName, pod.Status.Phase)
	if pod.DeletionTimestamp != nil {
		fmt.Fprint(b, ", being deleted")
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		state, err := json.Marshal(s.State)
		fmt.Fprintf(b, "; %s ready=%t restarts=%d %s%s", s.Name, s.Ready, s.RestartCount, state, problem(err))
	}
	fmt.Fprintln(b)
}

func (c *testCluster) operatorLog(ctx context.Context) string {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(operatorNamespace)); err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, pod := range pods.Items {
		log, err := c.clientset.CoreV1().Pods(pod.Namespace).
			GetLogs(pod.Name, &corev1.PodLogOptions{TailLines: ptr.To[int64](20)}).DoRaw(ctx)
		fmt.Fprintf(&b, "  %s: %s\n%s\n", pod.Name, problem(err), log)
	}
	return b.String()
}

func problem(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// namesOf lists the objects of a list as Kind/name.
func namesOf(list client.ObjectList) ([]string, error) {
	var out []string
	err := meta.EachListItem(list, func(o runtime.Object) error {
		named, err := meta.Accessor(o)
		if err == nil {
			out = append(out, fmt.Sprintf("%s/%s", strings.TrimSuffix(fmt.Sprintf("%T", list), "List"), named.GetName()))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading a list: %w", err)
	}
	return out, nil
}
