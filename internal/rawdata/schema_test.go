package rawdata

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"perfrun.dev/perfrun/internal/measure"
)

type schemaNode struct {
	Ref        string                `json:"$ref"`
	Defs       map[string]schemaNode `json:"$defs"`
	Properties map[string]schemaNode `json:"properties"`
	Required   []string              `json:"required"`
	Items      *schemaNode           `json:"items"`
}

// The schema describes exactly the fields that there are. A new field of measure.Report needs its line there.
func TestSchemaIsWhole(t *testing.T) {
	text, err := os.ReadFile("../../docs/rawdata.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var root schemaNode
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	compare(t, "document", reflect.TypeFor[Document](), root, root.Defs)
}

var leaves = []reflect.Type{reflect.TypeFor[time.Time](), reflect.TypeFor[measure.EncodedHistogram]()}

func compare(t *testing.T, path string, is reflect.Type, node schemaNode, defs map[string]schemaNode) {
	t.Helper()
	if name, ok := strings.CutPrefix(node.Ref, "#/$defs/"); ok {
		node = defs[name]
	}
	switch {
	case slices.Contains(leaves, is):
	case is.Kind() == reflect.Pointer:
		compare(t, path, is.Elem(), node, defs)
	case is.Kind() == reflect.Slice:
		if node.Items == nil {
			t.Errorf("%s: the schema does not say that it is a list", path)
			return
		}
		compare(t, path+"[]", is.Elem(), *node.Items, defs)
	case is.Kind() == reflect.Struct:
		var names []string
		for name, field := range jsonFields(is) {
			names = append(names, name)
			compare(t, path+"."+name, field, node.Properties[name], defs)
		}
		var described []string
		for name := range node.Properties {
			described = append(described, name)
		}
		slices.Sort(names)
		slices.Sort(described)
		if diff := cmp.Diff(names, described); diff != "" {
			t.Errorf("%s: docs/rawdata.schema.json and the type differ (-type +schema): %s", path, diff)
		}
		for _, name := range node.Required {
			if !slices.Contains(names, name) {
				t.Errorf("%s: %s is required, but does not exist", path, name)
			}
		}
	}
}

func jsonFields(is reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for field := range is.Fields() {
		if field.Anonymous {
			for name, inner := range jsonFields(field.Type) {
				out[name] = inner
			}
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		out[name] = field.Type
	}
	return out
}
