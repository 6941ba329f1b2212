// Package argocd_test runs the health script as Argo CD does: in the same interpreter, over its own layout of tests.
package argocd_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	lua "github.com/yuin/gopher-lua"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
)

const (
	scripts = "../../config/argocd/perfrun.dev/PerfRun"
	crdFile = "../../config/crd/bases/perfrun.dev_perfruns.yaml"
)

type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

// table is health_test.yaml as Argo CD's resource_customizations have it.
type table struct {
	Tests []struct {
		HealthStatus health `json:"healthStatus"`
		InputPath    string `json:"inputPath"`
	} `json:"tests"`
}

func TestHealth(t *testing.T) {
	script := read(t, filepath.Join(scripts, "health.lua"))
	var tests table
	parse(t, filepath.Join(scripts, "health_test.yaml"), &tests)
	covered := map[v1alpha1.Phase]bool{}
	for _, test := range tests.Tests {
		t.Run(test.InputPath, func(t *testing.T) {
			path := filepath.Join(scripts, test.InputPath)
			var run v1alpha1.PerfRun
			parse(t, path, &run)
			covered[run.Status.Phase] = true
			object := map[string]any{}
			if err := yaml.Unmarshal(read(t, path), &object); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.HealthStatus, evaluate(t, string(script), object)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, phase := range phases(t) {
		if !covered[phase] {
			t.Errorf("no object in phase %s is tested", phase)
		}
	}
}

// phases are all that the API knows.
func phases(t *testing.T) []v1alpha1.Phase {
	var crd apiextensions.CustomResourceDefinition
	parse(t, crdFile, &crd)
	values := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties["phase"].Enum
	var out []v1alpha1.Phase
	for _, value := range values {
		var phase v1alpha1.Phase
		if err := yaml.Unmarshal(value.Raw, &phase); err != nil {
			t.Fatal(err)
		}
		out = append(out, phase)
	}
	if !slices.Contains(out, v1alpha1.PhaseQueued) {
		t.Fatalf("these are not the phases: %v", out)
	}
	return out
}

// evaluate gives the script what Argo CD gives it: base, package and table of the standard library, one second, and the object as obj.
func evaluate(t *testing.T, script string, object map[string]any) health {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	state.SetContext(ctx)
	state.SetGlobal("obj", value(state, object))
	if err := state.DoString(script); err != nil {
		t.Fatal(err)
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returns %s, not a table", state.Get(-1).Type())
	}
	return health{Status: lua.LVAsString(result.RawGetString("status")), Message: lua.LVAsString(result.RawGetString("message"))}
}

// value is what Argo CD makes of an object's field.
func value(state *lua.LState, field any) lua.LValue {
	switch v := field.(type) {
	case bool:
		return lua.LBool(v)
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case []any:
		list := state.CreateTable(len(v), 0)
		for _, item := range v {
			list.Append(value(state, item))
		}
		return list
	case map[string]any:
		fields := state.CreateTable(0, len(v))
		for name, item := range v {
			fields.RawSetString(name, value(state, item))
		}
		return fields
	default:
		return lua.LNil
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// parse refuses what the types do not know.
func parse(t *testing.T, path string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(read(t, path), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
