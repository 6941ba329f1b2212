package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// refusals: every rule has its test in api/v1alpha1; these show that the rules are in force on the cluster.
func refusals() {
	DescribeTable("bad input is refused by the API server with a sentence",
		func(ctx SpecContext, spec map[string]any, says ...string) {
			run := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
			run.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("PerfRun"))
			run.SetNamespace(metav1.NamespaceDefault)
			run.SetName("perfrun-e2e-refused")
			// A dry run is checked like any other request, and would leave nothing behind if it were accepted.
			err := cluster.Create(ctx, run, client.DryRunAll)
			Expect(err).To(HaveOccurred(), "the API server accepted it")
			Expect(apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)).To(BeTrue(), "another refusal: %v", err)
			for _, s := range says {
				Expect(err.Error()).To(ContainSubstring(s))
			}
		},
		Entry("a rate of zero", map[string]any{"scenario": "Invocation", "rps": int64(0)},
			"spec.rps", "greater than or equal to 1"),
		Entry("two bodies at once", map[string]any{"scenario": "Invocation", "payload": map[string]any{"size": "1Ki", "body": "{}"}},
			"spec.payload", "exactly one of size and body"),
		Entry("a sampling of more than everything", map[string]any{"scenario": "Invocation", "sampling": "1.5"},
			"spec.sampling", "between 0 and 1"),
		Entry("a field that does not exist", map[string]any{"scenario": "Invocation", "connection": int64(16)},
			`unknown field "spec.connection"`),
	)
}
