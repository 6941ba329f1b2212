package dapr

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestComponentsAreReadAsDaprReadsThem(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Component
	}{
		"a state store": {`{metadata: {name: a}, spec: {type: state.redis, metadata: [{name: redisHost, value: r}]}}`,
			Component{Name: "a", Type: "state.redis"}},
		"one of actors": {`{metadata: {name: a}, spec: {type: state.redis, metadata: [{name: redisHost, value: r}, {name: actorStateStore, value: "true"}]}}`,
			Component{Name: "a", Type: "state.redis", HoldsActors: true}},
		"without quotes": {`{metadata: {name: a}, spec: {type: state.redis, metadata: [{name: actorstatestore, value: true}]}, scopes: [one, two]}`,
			Component{Name: "a", Type: "state.redis", HoldsActors: true, Scopes: []string{"one", "two"}}},
		"switched off": {`{metadata: {name: a}, spec: {type: state.redis, metadata: [{name: actorStateStore, value: "false"}]}}`,
			Component{Name: "a", Type: "state.redis"}},
		"no state store": {`{metadata: {name: a}, spec: {type: bindings.cron, metadata: [{name: actorStateStore, value: "true"}]}}`,
			Component{Name: "a", Type: "bindings.cron"}},
		"nothing in it": {`{metadata: {name: a}}`, Component{Name: "a"}},
	} {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(c.text), &u.Object); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, ComponentOf(u)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	own := ComponentOf(NewActorStateStore("bench", "a", "target"))
	if !own.HoldsActors || !own.LoadedBy("target") || own.LoadedBy("loadtester") {
		t.Errorf("%+v", own)
	}
}
