package controllers

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/plan"
	"perfrun.dev/perfrun/internal/rawdata"
)

// faultyCluster is one controller with its caches, as in production; each run has operator processes of its own, whose calls go wrong as
// its fault says, and takes itself for alone.
type faultyCluster struct {
	config *rest.Config
	mgr    ctrl.Manager
	api    *http.Client
	mu     sync.Mutex
	// of a namespace.
	operators map[string]*faultyOperator
}

func newFaultyCluster(ctx context.Context) *faultyCluster {
	GinkgoHelper()
	config := asOperator(config)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Cache: CacheOptions("default", nil), Metrics: metricsserver.Options{BindAddress: "0"}, GracefulShutdownTimeout: ptr.To(5 * time.Second),
		Controller: ctrlconfig.Controller{MaxConcurrentReconciles: 2 * concurrentFaults, SkipNameValidation: ptr.To(true)},
	})
	Expect(err).NotTo(HaveOccurred())
	api, err := rest.HTTPClientFor(config)
	Expect(err).NotTo(HaveOccurred())
	c := &faultyCluster{config: config, mgr: mgr, api: api, operators: map[string]*faultyOperator{}}
	Expect(mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.PerfRun{}, indexActive, active)).To(Succeed())
	Expect((&PerfRunReconciler{Client: mgr.GetClient()}).watches(mgr).Complete(c)).To(Succeed())
	start(ctx, mgr)
	return c
}

// Reconcile is a step of the run's own operator.
func (c *faultyCluster) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c.mu.Lock()
	o := c.operators[req.Namespace]
	c.mu.Unlock()
	if o == nil {
		return reconcile.Result{}, nil
	}
	run := &v1alpha1.PerfRun{}
	if err := c.mgr.GetCache().Get(ctx, req.NamespacedName, run); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	o.begin(run.Status.Phase)
	return o.reconciler.Reconcile(ctx, req)
}

// operator of the runs in a namespace.
func (c *faultyCluster) operator(namespace string, f fault, k *kubelet) (*faultyOperator, error) {
	o := &faultyOperator{fault: f, made: map[string]int{}}
	toAPI := &http.Client{Transport: through{o, c.api.Transport}}
	cached, err := client.New(c.config, client.Options{Scheme: scheme, HTTPClient: toAPI, Mapper: c.mgr.GetRESTMapper(),
		Cache: &client.CacheOptions{Reader: c.mgr.GetCache()}})
	if err != nil {
		return nil, err
	}
	live, err := client.New(c.config, client.Options{Scheme: scheme, HTTPClient: toAPI, Mapper: c.mgr.GetRESTMapper()})
	if err != nil {
		return nil, err
	}
	versions, err := discovery.NewDiscoveryClientForConfigAndClient(c.config, toAPI)
	if err != nil {
		return nil, err
	}
	metrics, err := metricsclient.NewForConfigAndClient(c.config, toAPI)
	o.reconciler = &PerfRunReconciler{
		Client: alone{cached, namespace}, Live: live, Metrics: metrics, Discovery: versions, Recorder: events.NewFakeRecorder(1000),
		Image: "perfrun:test", Key: signingKey, CallsFrom: operatorNamespace, HTTP: &http.Client{Timeout: 5 * time.Second, Transport: through{o, k}},
		PrepareTimeout: time.Minute, Now: time.Now,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.operators[namespace] = o
	return o, err
}

// alone sees only the PerfRuns of its namespace, so that runs of several faults do not wait for each other.
type alone struct {
	client.Client
	namespace string
}

func (a alone) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, runs := list.(*v1alpha1.PerfRunList); runs {
		opts = append(opts, client.InNamespace(a.namespace))
	}
	return a.Client.List(ctx, list, opts...)
}

// concurrentFaults is how many runs are under way at once: they mostly wait for their load.
const concurrentFaults = 60

// quick is the shortest run there is: one block of 2 s.
func quick(s *v1alpha1.PerfRunSpec) {
	s.RPS, s.Connections = ptr.To[int32](25), []int32{1}
	s.Duration, s.Warmup, s.Baseline = &metav1.Duration{Duration: 2 * time.Second}, &metav1.Duration{}, ptr.To(v1alpha1.BaselineNone)
}

// survive takes one run to its end through a fault, and tells all that is wrong then.
func (c *faultyCluster) survive(ctx context.Context, f fault, changes ...func(*v1alpha1.PerfRunSpec)) (o *faultyOperator, wrong []string) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "fault-"}}
	Expect(admin.Create(ctx, namespace)).To(Succeed())
	k := makeKubelet(namespace.Name, "invoke")
	defer k.close()
	o, err := c.operator(namespace.Name, f, k)
	Expect(err).NotTo(HaveOccurred())
	run := &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "invoke"},
		Spec: v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioInvocation, Pairs: ptr.To[int32](1), Sampling: ptr.To("0")}}
	for _, change := range append([]func(*v1alpha1.PerfRunSpec){quick}, changes...) {
		change(&run.Spec)
	}
	Expect(admin.Create(ctx, run)).To(Succeed())
	defer func() { _ = admin.Delete(context.WithoutCancel(ctx), run) }()

	k.reader = c.mgr.GetCache()
	deadline := time.Now().Add(90 * time.Second)
	for !c.over(ctx, run) {
		if time.Now().After(deadline) {
			return o, []string{"it is stuck: " + describe(ctx, run)}
		}
		k.sync(ctx)
		time.Sleep(50 * time.Millisecond)
	}
	return o, inspect(ctx, reload(ctx, run), k)
}

// over: there is a verdict, and the Deployments, which are deleted last, are gone.
func (c *faultyCluster) over(ctx context.Context, run *v1alpha1.PerfRun) bool {
	latest := &v1alpha1.PerfRun{}
	if err := c.mgr.GetCache().Get(ctx, client.ObjectKeyFromObject(run), latest); err != nil || !latest.Status.Phase.Finished() {
		return false
	}
	var left appsv1.DeploymentList
	Expect(c.mgr.GetCache().List(ctx, &left, client.InNamespace(run.Namespace))).To(Succeed())
	return len(left.Items) == 0
}

// inspect tells in what a run that is over differs from one that nothing has happened to.
func inspect(ctx context.Context, run *v1alpha1.PerfRun, k *kubelet) (wrong []string) {
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	busy := run.Status.Phase == v1alpha1.PhaseInconclusive && !slices.ContainsFunc(run.Status.Reasons, func(r v1alpha1.Reason) bool { return !slices.Contains(busyMachine, r.Reason) })
	expect(run.Status.Phase == v1alpha1.PhaseSucceeded || busy, "the verdict is another: %+v", verdict(run))
	replicas := int64(run.Spec.EffectiveSettings().LoadTesterReplicas)
	expect(k.posted.Load() == replicas, "%d plans were posted", k.posted.Load())
	sent := k.requests.Load()
	expect(sent == expected(run) || busy && sent < expected(run), "%d requests were sent, not %d", sent, expected(run))
	expect(len(run.Status.Results) == 1, "there are %d results", len(run.Status.Results))
	expect(run.Status.Progress != nil && run.Status.Progress.Percent == 100, "the progress is %+v", run.Status.Progress)
	kept := &corev1.ConfigMap{}
	err := admin.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: plan.NamesOf(run).RawData}, kept)
	expect(err == nil && run.Status.Raw != nil && rawdata.Verify(kept.BinaryData[rawdata.Key], run.Status.Raw.Digest) == nil,
		"the raw data are lost: %v, %+v", err, rawCondition(&run.Status))
	configurations := &unstructured.UnstructuredList{}
	configurations.SetGroupVersionKind(dapr.ConfigurationGVK)
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &corev1.ServiceList{}, &networkingv1.NetworkPolicyList{}, configurations} {
		Expect(admin.List(ctx, list, client.InNamespace(run.Namespace))).To(Succeed())
		expect(metaLen(list) == 0, "something is left: %T", list)
	}
	return wrong
}

// trial is a run and its fault.
type trial struct {
	fault   fault
	changes []func(*v1alpha1.PerfRunSpec)
}

// trials are one for each call that a whole run makes and each kind of fault that can strike it; the one that takes longest comes first. Two
// runs are asked: where the cache is late, a run looks again at what it has done.
func (c *faultyCluster) trials(ctx context.Context, kinds []faultKind, changes ...func(*v1alpha1.PerfRunSpec)) (out []trial) {
	GinkgoHelper()
	var runs [2]*faultyOperator
	var pilots sync.WaitGroup
	for i := range runs {
		pilots.Go(func() {
			defer GinkgoRecover()
			var wrong []string
			runs[i], wrong = c.survive(ctx, fault{}, changes...)
			Expect(wrong).To(BeEmpty(), "though nothing had gone wrong")
		})
	}
	pilots.Wait()
	whole := runs[0]
	whole.calls = slices.DeleteFunc(whole.calls, func(call string) bool { return runs[1].made[call] == 0 })
	Expect(whole.made["Measuring: PUT perfruns/invoke/status Measuring"]).To(BeNumerically("<", 30), "its own writes wake the operator, which then writes again")
	out = []trial{{fault{kind: slow}, changes}}
	for _, kind := range kinds {
		for _, f := range whole.faults(kind) {
			out = append(out, trial{f, changes})
		}
	}
	AddReportEntry("faults", fmt.Sprintf("%d, at these calls: %q", len(out), whole.calls))
	return out
}

// try all, many at the same time.
func (c *faultyCluster) try(ctx context.Context, trials []trial) {
	GinkgoHelper()
	var mu sync.Mutex
	var failures []string
	next := make(chan trial)
	var workers sync.WaitGroup
	for range concurrentFaults {
		workers.Go(func() {
			defer GinkgoRecover()
			for t := range next {
				o, wrong := c.survive(ctx, t.fault, t.changes...)
				if t.fault.nth == 1 && !o.struck {
					wrong = append(wrong, "there was no such call")
				}
				mu.Lock()
				for _, w := range wrong {
					failures = append(failures, fmt.Sprintf("%s: %s", t.fault, w))
				}
				mu.Unlock()
			}
		})
	}
	for _, t := range trials {
		select {
		case next <- t:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	slices.Sort(failures)
	Expect(failures).To(BeEmpty(), strings.Join(failures, "\n"))
}

// busyMachine are the reasons that a machine gives which does too much besides.
var busyMachine = []string{v1alpha1.ReasonCPUStolen, v1alpha1.ReasonLoadTesterBusy, v1alpha1.ReasonLoadTesterLate,
	v1alpha1.ReasonRequestsSkipped, v1alpha1.ReasonStartSkew, v1alpha1.ReasonRateShortfall}

var _ = Describe("Whatever call of the operator goes wrong", func() {
	It("a PerfRun comes to the same verdict, its load is sent once, and nothing is left", func(ctx SpecContext) {
		cluster := newFaultyCluster(ctx)
		// Several load testers are started together; all else is as with one, only slower: these come first.
		starting := func(call string) bool {
			return strings.Contains(call, ": PUT ") || strings.Contains(call, ": POST /v1/")
		}
		several := cluster.trials(ctx, []faultKind{failing.of(starting), unanswered.of(starting), killed.of(starting)}, twoLoadTesters,
			func(s *v1alpha1.PerfRunSpec) { s.Connections = []int32{2} })
		one := cluster.trials(ctx, []faultKind{failing, unanswered, conflicting, killed})
		cluster.try(ctx, append(several, one...))
	}, SpecTimeout(5*time.Minute))
})
