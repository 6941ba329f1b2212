package controllers

import (
	"context"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/plan"
)

// newRun makes a short run in a namespace of its own.
func newRun(ctx context.Context, mutate ...func(*v1alpha1.PerfRunSpec)) *v1alpha1.PerfRun {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	Expect(admin.Create(ctx, namespace)).To(Succeed())
	run := &v1alpha1.PerfRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "invoke"},
		Spec: v1alpha1.PerfRunSpec{
			Scenario: v1alpha1.ScenarioInvocation, RPS: ptr.To[int32](50), Connections: []int32{2}, Pairs: ptr.To[int32](1),
			Duration: &metav1.Duration{Duration: 2 * time.Second}, Warmup: &metav1.Duration{},
			// Nothing here makes a trace context, so nothing arrives sampled.
			Sampling: ptr.To("0"),
		},
	}
	for _, m := range mutate {
		m(&run.Spec)
	}
	Expect(admin.Create(ctx, run)).To(Succeed())
	// Whatever a spec leaves unfinished would hold the queue for the next.
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(admin.Delete(ctx, run))).To(Succeed()) })
	return run
}

// warmedUp adds to a run what most of them here do without.
func warmedUp(s *v1alpha1.PerfRunSpec) { s.Warmup = &metav1.Duration{Duration: time.Second} }

func reload(ctx context.Context, run *v1alpha1.PerfRun) *v1alpha1.PerfRun {
	GinkgoHelper()
	latest := &v1alpha1.PerfRun{}
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(run), latest)).To(Succeed())
	return latest
}

func verdict(run *v1alpha1.PerfRun) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded), metav1.Condition{})
}

// expected is the number of requests that one attempt sends: those of its blocks, and before each block one from each load tester that asks
// and one for each connection.
func expected(run *v1alpha1.PerfRun) int64 {
	settings := run.Spec.EffectiveSettings()
	var n int64
	for _, b := range plan.Blocks(settings) {
		n += int64(settings.LoadTesterReplicas) + int64(b.Connections)
		if b.Duration > 0 {
			n += measure.Requests(float64(settings.RPS), b.Duration)
		}
	}
	return n
}

// haveFigures matches a verdict with figures. Which one depends on how busy the machine is, and is not what is tested here.
func haveFigures() types.GomegaMatcher {
	return BeElementOf(v1alpha1.PhaseSucceeded, v1alpha1.PhaseInconclusive)
}

// step is one reconciliation by an operator that has just been started, and knows nothing but what is in the cluster.
func step(ctx context.Context, fresh func() *PerfRunReconciler, run *v1alpha1.PerfRun) {
	GinkgoHelper()
	_, err := fresh().Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(run)})
	Expect(err).NotTo(HaveOccurred())
}

// loaded takes a run on until so many requests of its load, and more, have been sent.
func loaded(ctx context.Context, fresh func() *PerfRunReconciler, run *v1alpha1.PerfRun, k *kubelet, requests int) {
	GinkgoHelper()
	Eventually(func() int64 {
		step(ctx, fresh, run)
		k.sync(ctx)
		return k.requests.Load()
	}).WithContext(ctx).WithTimeout(time.Minute).Should(BeNumerically(">", requests), func() string { return describe(ctx, run) })
}

var _ = Describe("A PerfRun", func() {
	It("comes to the same verdict, and is sent once, with another operator at every step", func(ctx SpecContext) {
		run := newRun(ctx, warmedUp)
		k := newKubelet(run.Namespace, run.Name)
		fresh := newManager(ctx, k, false)
		var phases []v1alpha1.Phase
		Eventually(func() v1alpha1.Phase {
			step(ctx, fresh, run)
			k.sync(ctx)
			phase := reload(ctx, run).Status.Phase
			if len(phases) == 0 || phases[len(phases)-1] != phase {
				phases = append(phases, phase)
			}
			return phase
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Satisfy(v1alpha1.Phase.Finished), func() string { return describe(ctx, run) })

		done := reload(ctx, run)
		Expect(done.Status.Phase).To(haveFigures(), describe(ctx, run))
		Expect(phases).To(Equal([]v1alpha1.Phase{v1alpha1.PhasePreparing, v1alpha1.PhaseMeasuring, v1alpha1.PhaseCollecting, done.Status.Phase}))
		Expect(k.requests.Load()).To(Equal(expected(run)), "every request of the plan, once")
		Expect(done.Status.Results).To(HaveLen(1))
		Expect(done.Status.Results[0].Dapr.Requests).To(BeEquivalentTo(100))
		Expect(done.Status.Results[0].Added.P50).NotTo(BeNil())
		Expect(done.Status.Environment.MTLS).To(HaveValue(BeTrue()))
		missing := meta.FindStatusCondition(done.Status.Conditions, v1alpha1.ConditionMetricsServer)
		Expect(missing).NotTo(BeNil())
		Expect(missing.Message).To(ContainSubstring("install metrics-server"), "this API server has none")
		expectRawData(ctx, done)

		By("deleting what it created, and nothing else")
		Eventually(func() []appsv1.Deployment {
			step(ctx, fresh, run)
			var left appsv1.DeploymentList
			Expect(admin.List(ctx, &left, client.InNamespace(run.Namespace))).To(Succeed())
			return left.Items
		}).WithContext(ctx).Should(BeEmpty())
		Expect(reload(ctx, run).Status.Phase).To(Equal(done.Status.Phase))
		expectRawData(ctx, reload(ctx, run))
	}, SpecTimeout(2*time.Minute))

	It("is an Error when the load tester restarts, and its load is not sent again", func(ctx SpecContext) {
		run := newRun(ctx)
		k := newKubelet(run.Namespace, run.Name)
		fresh := newManager(ctx, k, false)
		loaded(ctx, fresh, run, k, 10)

		deployment := &appsv1.Deployment{}
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: "invoke-loadtester"}, deployment)).To(Succeed())
		k.kill(k.testerIP)
		Eventually(func() error { _, err := http.Get("http://" + k.testerIP + ":8080/healthz"); return err }).Should(HaveOccurred())
		k.start(plan.RoleLoadTester, k.testerIP, deployment.Spec.Template.Spec.Containers[0].Args)
		sent := k.requests.Load()

		Eventually(func() v1alpha1.Phase {
			step(ctx, fresh, run)
			return reload(ctx, run).Status.Phase
		}).WithContext(ctx).WithTimeout(30 * time.Second).Should(Equal(v1alpha1.PhaseError))
		Expect(verdict(reload(ctx, run)).Reason).To(Equal(v1alpha1.ReasonLoadTesterLost))
		Expect(k.requests.Load()).To(Equal(sent))
		Expect(k.posted.Load()).To(BeEquivalentTo(1))
	}, SpecTimeout(2*time.Minute))

	It("leaves an object alone whose name it would need", func(ctx SpecContext) {
		run := newRun(ctx)
		foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: "invoke-target"},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1234}}}}
		Expect(admin.Create(ctx, foreign)).To(Succeed())
		fresh := newManager(ctx, nil, false)
		Eventually(func() metav1.Condition {
			step(ctx, fresh, run)
			return verdict(reload(ctx, run))
		}).WithContext(ctx).Should(And(HaveField("Reason", v1alpha1.ReasonNameTaken), HaveField("Message", ContainSubstring("Service invoke-target"))))

		By("giving up at the deadline, with the obstacle as the verdict")
		late := fresh()
		late.PrepareTimeout = time.Nanosecond
		Eventually(func() v1alpha1.Phase {
			step(ctx, func() *PerfRunReconciler { return late }, run)
			return reload(ctx, run).Status.Phase
		}).WithContext(ctx).Should(Equal(v1alpha1.PhaseError))
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(foreign), foreign)).To(Succeed())
		Expect(foreign.Spec.Ports[0].Port).To(BeEquivalentTo(1234))
	}, SpecTimeout(time.Minute))

	It("says what to do on a cluster without Dapr, and ends at the deadline", func(ctx SpecContext) {
		bare := &envtest.Environment{CRDDirectoryPaths: []string{"../config/crd/bases"}, ErrorIfCRDPathMissing: true}
		withDapr, withDaprAdmin := config, admin
		var err error
		config, err = bare.Start()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() {
			config, admin = withDapr, withDaprAdmin
			Expect(bare.Stop()).To(Succeed())
		})
		admin, err = client.New(config, client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		installRights(ctx)

		run := newRun(ctx)
		fresh := newManager(ctx, nil, false)
		Eventually(func() metav1.Condition {
			step(ctx, fresh, run)
			return verdict(reload(ctx, run))
		}).WithContext(ctx).Should(And(HaveField("Reason", v1alpha1.ReasonDaprNotInstalled), HaveField("Message", ContainSubstring("install Dapr"))))
		late := fresh()
		late.PrepareTimeout = time.Nanosecond
		Eventually(func() metav1.Condition {
			step(ctx, func() *PerfRunReconciler { return late }, run)
			return verdict(reload(ctx, run))
		}).WithContext(ctx).Should(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonDaprNotInstalled)))
	}, SpecTimeout(2*time.Minute))

	It("waits with a reason where Dapr's injector is missing, and goes on when it comes", func(ctx SpecContext) {
		Expect(admin.Delete(ctx, webhook())).To(Succeed())
		run := newRun(ctx)
		fresh := newManager(ctx, nil, false)
		Eventually(func() metav1.Condition {
			step(ctx, fresh, run)
			return verdict(reload(ctx, run))
		}).WithContext(ctx).Should(And(HaveField("Reason", v1alpha1.ReasonInjectorMissing), HaveField("Status", metav1.ConditionUnknown)))
		Expect(admin.Create(ctx, webhook())).To(Succeed())
		Eventually(func() error {
			step(ctx, fresh, run)
			return admin.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: "invoke-loadtester"}, &appsv1.Deployment{})
		}).WithContext(ctx).Should(Succeed())
	}, SpecTimeout(time.Minute))
})

var _ = Describe("The controller", func() {
	It("lets runs measure one at a time, in the order of their creation", func(ctx SpecContext) {
		first := newRun(ctx)
		k := newKubelet(first.Namespace, first.Name)
		newManager(ctx, k, true)
		Eventually(func() v1alpha1.Phase { return reload(ctx, first).Status.Phase }).WithContext(ctx).Should(Equal(v1alpha1.PhasePreparing))
		second := newRun(ctx)
		Eventually(func() metav1.Condition { return verdict(reload(ctx, second)) }).WithContext(ctx).Should(HaveField("Reason", v1alpha1.ReasonQueued))

		Eventually(func() v1alpha1.Phase {
			k.sync(ctx)
			waiting := reload(ctx, second).Status.Phase
			phase := reload(ctx, first).Status.Phase
			if !phase.Finished() {
				Expect(waiting).To(Equal(v1alpha1.PhaseQueued))
			}
			return phase
		}).WithContext(ctx).WithTimeout(time.Minute).Should(haveFigures(), func() string { return describe(ctx, first) })
		Eventually(func() v1alpha1.Phase { return reload(ctx, second).Status.Phase }).WithContext(ctx).WithTimeout(10*time.Second).
			Should(Equal(v1alpha1.PhasePreparing), "nobody but the end of the first run wakes the second")
	}, SpecTimeout(2*time.Minute))
})

func describe(ctx context.Context, run *v1alpha1.PerfRun) string {
	latest := reload(ctx, run)
	return fmt.Sprintf("phase %s, conditions %+v, attempt %+v, progress %+v, reasons %+v",
		latest.Status.Phase, latest.Status.Conditions, latest.Status.Attempt, latest.Status.Progress, latest.Status.Reasons)
}
