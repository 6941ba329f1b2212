package controllers

import (
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
)

var _ = Describe("A PerfRun that is kept in Git", func() {
	It("is applied again without any difference, whatever the operator has done meanwhile", func(ctx SpecContext) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
		Expect(admin.Create(ctx, namespace)).To(Succeed())
		fresh := newManager(ctx, nil, false)
		samples, err := filepath.Glob("../config/samples/perfrun_*.yaml")
		Expect(err).NotTo(HaveOccurred())
		Expect(samples).NotTo(BeEmpty())
		for _, path := range samples {
			text, err := os.ReadFile(path)
			Expect(err).NotTo(HaveOccurred())
			written := &unstructured.Unstructured{}
			Expect(yaml.Unmarshal(text, written)).To(Succeed())
			written.SetNamespace(namespace.Name)
			apply := func(options ...client.ApplyOption) *unstructured.Unstructured {
				out := written.DeepCopy()
				Expect(admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(out), append(options, client.FieldOwner("argocd-controller"))...)).To(Succeed(), path)
				return out
			}
			run := &v1alpha1.PerfRun{}
			run.Namespace, run.Name = namespace.Name, apply().GetName()
			Eventually(func() v1alpha1.Phase {
				step(ctx, fresh, run)
				return reload(ctx, run).Status.Phase
			}).WithContext(ctx).ShouldNot(BeEmpty())

			live := written.DeepCopy()
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(run), live)).To(Succeed())
			Expect(live.Object["spec"]).To(Equal(written.Object["spec"]), "%s: nothing is written into the spec", path)
			// What `kubectl diff --server-side` and Argo CD's comparison do.
			Expect(apply(client.DryRunAll).Object).To(Equal(live.Object), path)
			Expect(apply().GetResourceVersion()).To(Equal(live.GetResourceVersion()), path)
			Expect(admin.Delete(ctx, run)).To(Succeed())
		}
	}, SpecTimeout(time.Minute))
})
