package main

import (
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const former = `
metadata: {name: things.example.com}
spec:
  names: {kind: Thing, plural: things, shortNames: [th]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            properties:
              rate: {type: integer, minimum: 1, maximum: 100}
              name: {type: string, pattern: ^a, maxLength: 10}
              kind: {type: string, enum: [A, B]}
              free: {type: string}
              codes: {type: object, additionalProperties: {type: integer}}
              list: {type: array, maxItems: 4, x-kubernetes-list-type: atomic, items: {type: object, properties: {a: {type: string}}}}
`

func TestCompare(t *testing.T) {
	cases := map[string]struct {
		was, is string
		// fault is a part of the only one; empty: none.
		fault string
	}{
		"nothing":                  {},
		"a new optional field":     {was: "free: {type: string}", is: "free: {type: string}\n              more: {type: string, maxLength: 3}"},
		"a higher maximum":         {was: "maximum: 100", is: "maximum: 200"},
		"no minimum":               {was: "minimum: 1, ", is: ""},
		"one more value":           {was: "[A, B]", is: "[A, B, C]"},
		"a new version":            {was: "  - name: v1\n", is: "  - {name: v2, served: true, schema: {openAPIV3Schema: {type: object}}}\n  - name: v1\n"},
		"a field that is gone":     {was: "              free: {type: string}\n", is: "", fault: "v1.spec.free: the field is gone"},
		"another type":             {was: "free: {type: string}", is: "free: {type: integer}", fault: "v1.spec.free: the type"},
		"another type in a list":   {was: "{a: {type: string}}", is: "{a: {type: integer}}", fault: "v1.spec.list[].a: the type"},
		"another type in a map":    {was: "additionalProperties: {type: integer}", is: "additionalProperties: {type: string}", fault: "v1.spec.codes{}: the type"},
		"a value that is gone":     {was: "[A, B]", is: "[A]", fault: `v1.spec.kind: the value "B" is gone`},
		"only some values":         {was: "free: {type: string}", is: "free: {type: string, enum: [A]}", fault: "now only some"},
		"a field that is required": {was: "            properties:\n              rate", is: "            required: [rate]\n            properties:\n              rate", fault: "v1.spec.rate: it is required"},
		"a lower maximum":          {was: "maximum: 100", is: "maximum: 99", fault: "v1.spec.rate: maximum is lower"},
		"a new minimum":            {was: "free: {type: string}", is: "free: {type: string, minLength: 1}", fault: "v1.spec.free: minLength is higher"},
		"a shorter list":           {was: "maxItems: 4", is: "maxItems: 3", fault: "v1.spec.list: maxItems"},
		"another pattern":          {was: "^a", is: "^b", fault: "v1.spec.name: the pattern"},
		"a default":                {was: "free: {type: string}", is: "free: {type: string, default: x}", fault: "v1.spec.free: the default"},
		"another type of list":     {was: "list-type: atomic", is: "list-type: set", fault: "v1.spec.list: the list's type"},
		"no version":               {was: "name: v1\n", is: "name: v2\n", fault: "v1: the version is gone"},
		"not served":               {was: "served: true", is: "served: false", fault: "no longer served"},
		"no status":                {was: "    subresources: {status: {}}\n", is: "", fault: "the subresource status"},
		"another scope":            {was: "Namespaced", is: "Cluster", fault: "scope"},
		"no short name":            {was: "[th]", is: "[]", fault: "short name th"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(former, c.was) {
				t.Fatalf("there is no %q", c.was)
			}
			got := compare(parse(t, former), parse(t, strings.Replace(former, c.was, c.is, 1)))
			switch {
			case c.fault == "" && len(got) > 0:
				t.Errorf("refused: %q", got)
			case c.fault != "" && (len(got) != 1 || !strings.Contains(got[0], c.fault)):
				t.Errorf("%q, not %q", got, c.fault)
			}
		})
	}
}

func parse(t *testing.T, text string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensions.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), crd); err != nil {
		t.Fatal(err)
	}
	return crd
}
