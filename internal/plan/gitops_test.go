package plan

import (
	"bytes"
	"testing"

	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// Argo CD and Flux tell their own objects by labels and annotations: whoever copies those to a child has it adopted, or pruned.
func TestChildrenCarryNothingOfTheirParentsMetadata(t *testing.T) {
	for _, scenario := range []v1alpha1.Scenario{v1alpha1.ScenarioInvocation, v1alpha1.ScenarioActors, v1alpha1.ScenarioControlPlane} {
		r := &v1alpha1.PerfRun{}
		r.Namespace, r.Name, r.UID = "bench", "invoke", "1234"
		r.Labels = map[string]string{"app.kubernetes.io/instance": "the-application", "app.kubernetes.io/managed-by": "the-application"}
		r.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "the-application:perfrun.dev/PerfRun:bench/invoke"}
		r.Spec.Scenario = scenario
		text, err := yaml.Marshal(ObjectsOf(r, r.Spec.EffectiveSettings(), Operator{Image: "perfrun"}))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := yaml.Marshal(RawData(r, "key", nil))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte("perfrun.dev/run")) {
			t.Fatalf("%s: these are no objects of a run:\n%s", scenario, text)
		}
		for _, word := range []string{"the-application", "argocd"} {
			if bytes.Contains(append(text, raw...), []byte(word)) {
				t.Errorf("%s: the children carry %q", scenario, word)
			}
		}
	}
}
