package dapr

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// PublicPort serves a sidecar's health and metadata to everyone, unlike HTTPPort.
const PublicPort = 3501

// InMemoryStore is the type of the state store that keeps everything in the sidecar's own memory.
const InMemoryStore = "state.in-memory"

// actorStateStore is the metadata of a state store that makes it the one of the actors; Dapr reads its name in any case.
const actorStateStore = "actorStateStore"

// ComponentGVK is Dapr's Component, such as a state store.
var ComponentGVK = schema.GroupVersionKind{Group: "dapr.io", Version: "v1alpha1", Kind: "Component"}

// NewActorStateStore is a state store in the memory of the sidecar of one application, which hosts actors.
func NewActorStateStore(namespace, name, appID string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"type":     InMemoryStore,
			"version":  "v1",
			"metadata": []any{map[string]any{"name": actorStateStore, "value": "true"}},
		},
		"scopes": []any{appID},
	}}
	u.SetGroupVersionKind(ComponentGVK)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// Component is what is to be known of one for hosting actors.
type Component struct {
	Name, Type string
	// HoldsActors: where it is a state store, it is the actors' one.
	HoldsActors bool
	// Scopes are the app ids that load it; all if empty.
	Scopes []string
}

// ComponentOf reads a Component.
func ComponentOf(u *unstructured.Unstructured) Component {
	kind, _, _ := unstructured.NestedString(u.Object, "spec", "type")
	scopes, _, _ := unstructured.NestedStringSlice(u.Object, "scopes")
	out := Component{Name: u.GetName(), Type: kind, Scopes: scopes}
	out.HoldsActors = out.IsStateStore() && holdsActors(u.Object)
	return out
}

// IsStateStore tells whether it keeps state.
func (c Component) IsStateStore() bool { return strings.HasPrefix(c.Type, "state.") }

// LoadedBy tells whether an application's sidecar loads it.
func (c Component) LoadedBy(appID string) bool {
	return len(c.Scopes) == 0 || slices.Contains(c.Scopes, appID)
}

// holdsActors reads the flag as Dapr does (github.com/dapr/kit/strings, IsTruthy).
func holdsActors(component map[string]any) bool {
	metadata, _, _ := unstructured.NestedSlice(component, "spec", "metadata")
	return slices.ContainsFunc(metadata, func(item any) bool {
		m, _ := item.(map[string]any)
		name, _ := m["name"].(string)
		value := strings.ToLower(strings.TrimSpace(fmt.Sprint(m["value"])))
		return strings.EqualFold(name, actorStateStore) && slices.Contains([]string{"y", "yes", "true", "t", "on", "1"}, value)
	})
}

// ActorURL is a method of an actor, through the sidecar of the pod that calls.
func ActorURL(actorType, id, method string) string {
	return fmt.Sprintf("http://127.0.0.1:%d/v1.0/actors/%s/%s/method/%s", HTTPPort, actorType, id, method)
}

// ActorHostPath is the same method as the sidecar of its host asks the application for it, with PUT.
func ActorHostPath(actorType, id, method string) string {
	return fmt.Sprintf("/actors/%s/%s/method/%s", actorType, id, method)
}

// PublicMetadataURL is the metadata of the sidecar in the pod with this address.
func PublicMetadataURL(host string) string {
	return "http://" + net.JoinHostPort(host, strconv.Itoa(PublicPort)) + "/v1.0/metadata"
}
