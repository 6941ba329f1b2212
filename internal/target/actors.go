package target

import (
	"encoding/json"
	"net/http"
	"strings"
)

// idleTimeout after which a sidecar deactivates an actor: Dapr's own default. No run of the published length reaches it, so that an
// activation test has no deactivations in it, and actors that were activated for a measurement stay so.
const idleTimeout = "1h"

// actorsPath is below which a sidecar calls the application's actors: /actors/TYPE/ID/method/METHOD, with timers and reminders as
// .../method/timer/NAME and .../method/remind/NAME, and DELETE /actors/TYPE/ID to deactivate (Dapr's API reference, "Actors API").
const actorsPath = "/actors/"

// actorConfig is the answer to GET /dapr/config, by which a sidecar learns what it is to host.
func actorConfig(actorType string) []byte {
	config := map[string]any{
		"entities": []string{actorType}, "actorIdleTimeout": idleTimeout, "drainOngoingCallTimeout": "30s", "drainRebalancedActors": true,
	}
	body, _ := json.Marshal(config) //nolint:errchkjson // text, a flag and a list of text
	return body
}

// actor answers a sidecar's request to the host of an actor, or anyone's who asks for the same. There is no state to an actor that
// echoes, so that nothing is kept of one: what an activation costs is the sidecar's.
func (t *Target) actor(w http.ResponseWriter, r *http.Request) {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, actorsPath), "/")
	id, call, isCall := strings.Cut(rest, "/")
	method, isMethod := strings.CutPrefix(call, "method/")
	switch {
	case kind != t.actorType || id == "":
		http.NotFound(w, r)
	case r.Method == http.MethodDelete && !isCall:
		w.WriteHeader(http.StatusOK)
	case r.Method != http.MethodPut || !isMethod || method == "":
		http.NotFound(w, r)
	case strings.HasPrefix(method, "timer/"), strings.HasPrefix(method, "remind/"):
		w.WriteHeader(http.StatusOK)
	default:
		t.echo(w, r)
	}
}
