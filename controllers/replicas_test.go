package controllers

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
)

func twoLoadTesters(s *v1alpha1.PerfRunSpec) {
	s.LoadTester = &v1alpha1.LoadTesterSettings{Replicas: ptr.To[int32](2)}
}

var _ = Describe("A PerfRun with two load testers", func() {
	It("shares the load between them, sends it once and merges what they report, with another operator at every step", func(ctx SpecContext) {
		run := newRun(ctx, twoLoadTesters)
		k := newKubelet(run.Namespace, run.Name)
		fresh := newManager(ctx, k, false)

		By("creating the load testers when the target has a node, which they could otherwise leave it none of")
		Eventually(func() error {
			step(ctx, fresh, run)
			return admin.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: "invoke-target"}, &appsv1.Deployment{})
		}).WithContext(ctx).Should(Succeed())
		var deployments appsv1.DeploymentList
		step(ctx, fresh, run)
		Expect(admin.List(ctx, &deployments, client.InNamespace(run.Namespace))).To(Succeed())
		Expect(deployments.Items).To(HaveLen(1))

		Eventually(func() v1alpha1.Phase {
			step(ctx, fresh, run)
			k.sync(ctx)
			return reload(ctx, run).Status.Phase
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Satisfy(v1alpha1.Phase.Finished), func() string { return describe(ctx, run) })

		done := reload(ctx, run)
		Expect(done.Status.Phase).To(haveFigures(), describe(ctx, run))
		Expect(k.posted.Load()).To(BeEquivalentTo(2), "each has its plan, once")
		Expect(k.requests.Load()).To(Equal(expected(run)), "every request of both plans, once")
		Expect(done.Status.Attempt.LoadTesters).To(HaveExactElements(
			And(HaveField("Pod", "invoke-loadtester-pod0"), HaveField("ClockOffset", Not(BeNil()))),
			And(HaveField("Pod", "invoke-loadtester-pod1"), HaveField("ClockOffset", Not(BeNil())))))
		Expect(done.Status.Attempt.LoadStartTime).NotTo(BeNil())
		Expect(done.Status.Environment.Nodes.LoadTesters).To(HaveLen(2))
		Expect(done.Status.Progress).To(HaveField("Percent", int32(100)))
		Expect(done.Status.Results).To(HaveLen(1))
		Expect(done.Status.Results[0].Connections).To(BeEquivalentTo(2))
		Expect(done.Status.Results[0].Dapr.Requests).To(BeEquivalentTo(100))
		Expect(done.Status.Results[0].StartSkewMax).To(HaveValue(HaveField("Duration", And(BeNumerically(">", 0), BeNumerically("<", 5*time.Second)))))
		pods := map[string]int{}
		for _, u := range done.Status.Usage {
			if u.Component == v1alpha1.ComponentLoadTester && u.CPU != nil {
				pods[u.Pod]++
			}
		}
		Expect(pods).To(Equal(map[string]int{"invoke-loadtester-pod0": 2, "invoke-loadtester-pod1": 2}), "the usage of both, in both arms")
		document := rawDocument(ctx, done)
		Expect(document.Report.Replicas).To(HaveLen(2))
		Expect(document.Report.RPS).To(BeEquivalentTo(50))
		for _, b := range document.Report.Blocks {
			Expect(b.Replicas).To(HaveExactElements(HaveField("Succeeded", int64(50)), HaveField("Succeeded", int64(50))))
		}
		expectRawData(ctx, done)
	}, SpecTimeout(2*time.Minute))

	It("is an Error when one of them is lost, and the other's load ends too", func(ctx SpecContext) {
		run := newRun(ctx, twoLoadTesters, func(s *v1alpha1.PerfRunSpec) { s.Cleanup = ptr.To(v1alpha1.CleanupNever) })
		k := newKubelet(run.Namespace, run.Name)
		fresh := newManager(ctx, k, false)
		loaded(ctx, fresh, run, k, 20)

		lost := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: "invoke-loadtester-pod1"}}
		Expect(admin.Delete(ctx, lost, client.GracePeriodSeconds(0))).To(Succeed())
		k.kill(k.testerIP + "1")
		k.deaf.Store(1)
		Eventually(func() v1alpha1.Phase {
			// The first of these fails to end the load, and says so.
			_, _ = fresh().Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(run)})
			return reload(ctx, run).Status.Phase
		}).WithContext(ctx).WithTimeout(30 * time.Second).Should(Equal(v1alpha1.PhaseError))
		Expect(verdict(reload(ctx, run))).To(And(HaveField("Reason", v1alpha1.ReasonLoadTesterLost), HaveField("Message", ContainSubstring("invoke-loadtester-pod1"))))
		// What is on its way arrives.
		time.Sleep(100 * time.Millisecond)
		sent := k.requests.Load()
		Expect(sent).To(BeNumerically("<", expected(run)))
		Consistently(k.requests.Load).WithContext(ctx).WithTimeout(2 * time.Second).Should(Equal(sent))
	}, SpecTimeout(2*time.Minute))
})
