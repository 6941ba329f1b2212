package controllers

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
)

func callActors(settings *v1alpha1.ActorsSettings) func(*v1alpha1.PerfRunSpec) {
	return func(s *v1alpha1.PerfRunSpec) { s.Scenario, s.Actors = v1alpha1.ScenarioActors, settings }
}

func componentsIn(ctx context.Context, namespace string) []unstructured.Unstructured {
	GinkgoHelper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(dapr.ComponentGVK)
	Expect(admin.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	return list.Items
}

var _ = Describe("A PerfRun of actors", func() {
	It("calls actors that its target hosts, with a state store of its own", func(ctx SpecContext) {
		run := newRun(ctx, callActors(nil))
		k := newKubelet(run.Namespace, run.Name)
		fresh := newManager(ctx, k, false)
		made := false
		Eventually(func() v1alpha1.Phase {
			step(ctx, fresh, run)
			for _, c := range componentsIn(ctx, run.Namespace) {
				Expect(c.GetName()).To(Equal("invoke-actors"))
				Expect(metav1.IsControlledBy(&c, run)).To(BeTrue())
				made = true
			}
			k.sync(ctx)
			return reload(ctx, run).Status.Phase
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Satisfy(v1alpha1.Phase.Finished), func() string { return describe(ctx, run) })
		done := reload(ctx, run)
		Expect(done.Status.Phase).To(haveFigures(), describe(ctx, run))
		Expect(made).To(BeTrue(), "a state store")
		Expect(done.Status.Settings.Actors.Fresh()).To(BeTrue())
		Expect(k.requests.Load()).To(Equal(expected(run)), "every request of the plan, once")
		Expect(done.Status.Results[0].Dapr.Errors).To(BeZero())
		Eventually(func() []unstructured.Unstructured {
			step(ctx, fresh, run)
			return componentsIn(ctx, run.Namespace)
		}).WithContext(ctx).Should(BeEmpty(), "the state store goes with the rest")
	}, SpecTimeout(2*time.Minute))

	It("waits for the state store that it names, and makes none", func(ctx SpecContext) {
		run := newRun(ctx, callActors(&v1alpha1.ActorsSettings{StateStore: ptr.To("shared")}))
		fresh := newManager(ctx, nil, false)
		waitsFor := func(reason, says string) {
			GinkgoHelper()
			Eventually(func() metav1.Condition {
				step(ctx, fresh, run)
				return verdict(reload(ctx, run))
			}).WithContext(ctx).Should(And(HaveField("Reason", reason), HaveField("Message", ContainSubstring(says))))
		}
		waitsFor(v1alpha1.ReasonStateStoreMissing, "no Component shared")
		shared := dapr.NewActorStateStore(run.Namespace, "shared", "another-app")
		Expect(admin.Create(ctx, shared)).To(Succeed())
		waitsFor(v1alpha1.ReasonStateStoreUnusable, "add invoke-target to its scopes")
		Expect(unstructured.SetNestedStringSlice(shared.Object, []string{"another-app", "invoke-target"}, "scopes")).To(Succeed())
		Expect(admin.Update(ctx, shared)).To(Succeed())
		Eventually(func() error {
			step(ctx, fresh, run)
			return admin.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: "invoke-target"}, &appsv1.Deployment{})
		}).WithContext(ctx).Should(Succeed())
		Expect(componentsIn(ctx, run.Namespace)).To(HaveLen(1))
	}, SpecTimeout(time.Minute))
})
