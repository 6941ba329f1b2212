package v1alpha1_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// mutable are the fields that say how a run is handled and not what it measures.
var mutable = []string{"activeDeadlineSeconds", "cleanup", "suspend", "ttlSecondsAfterFinished"}

// rule is one of x-kubernetes-validations.
type rule struct{ Rule, FieldPath, Message string }

// schema is what is read of one.
type schema struct {
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Rules      []rule            `json:"x-kubernetes-validations"`
}

// specSchema is the spec's as the CustomResourceDefinition has it.
func specSchema(t *testing.T) schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "bases", "perfrun.dev_perfruns.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
}

// TestWhatIsMeasuredCannotBeChanged walks the spec as the API server knows it, so that no new field is forgotten: that each rule works is
// tested on an API server.
func TestWhatIsMeasuredCannotBeChanged(t *testing.T) {
	spec := specSchema(t)
	if len(spec.Properties) < 20 {
		t.Fatalf("only %d fields in the spec", len(spec.Properties))
	}
	for field := range spec.Properties {
		has := "has(self.F) ? has(oldSelf.F) && self.F == oldSelf.F : !has(oldSelf.F)"
		if slices.Contains(spec.Required, field) {
			has = "self.F == oldSelf.F"
		}
		found := slices.Contains(spec.Rules, rule{strings.ReplaceAll(has, ".F", "."+field), "." + field, field + " " + mayNotChange})
		if found == slices.Contains(mutable, field) {
			t.Errorf("%s: it has the rule against changes: %t; it must have it unless it is one of %v", field, found, mutable)
		}
	}
	for _, field := range mutable {
		if _, ok := spec.Properties[field]; !ok {
			t.Errorf("there is no field %s", field)
		}
	}
}
