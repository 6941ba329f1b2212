package target

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestActorHostAnswersItsSidecar(t *testing.T) {
	host := New()
	host.HostActors("Counter")
	for name, c := range map[string]struct {
		method, path string
		code         int
		echoes       bool
	}{
		"a call":                {"PUT", "/actors/Counter/a-1/method/get", 200, true},
		"a timer":               {"PUT", "/actors/Counter/a-1/method/timer/tick", 200, false},
		"a reminder":            {"PUT", "/actors/Counter/a-1/method/remind/me", 200, false},
		"a deactivation":        {"DELETE", "/actors/Counter/a-1", 200, false},
		"another type":          {"PUT", "/actors/Other/a-1/method/get", 404, false},
		"no id":                 {"PUT", "/actors/Counter//method/get", 404, false},
		"no method":             {"PUT", "/actors/Counter/a-1/method/", 404, false},
		"something else":        {"PUT", "/actors/Counter/a-1/state", 404, false},
		"another HTTP method":   {"GET", "/actors/Counter/a-1/method/get", 404, false},
		"its health":            {"GET", "/healthz", 200, false},
		"any other application": {"POST", "/echo", 200, true},
		"no subscriptions":      {"GET", "/dapr/subscribe", 404, false},
	} {
		answer := httptest.NewRecorder()
		request := httptest.NewRequest(c.method, c.path, strings.NewReader("body"))
		request.Header.Set("Traceparent", parent+"01")
		before := host.sampled.Load()
		host.Handler().ServeHTTP(answer, request)
		if echoes := answer.Body.String() == "body"; answer.Code != c.code || echoes != c.echoes {
			t.Errorf("%s: %d %q", name, answer.Code, answer.Body)
		}
		if counted := host.sampled.Load() > before; counted != c.echoes {
			t.Errorf("%s: counted as sampled: %v", name, counted)
		}
	}
}

func TestActorHostNamesItsType(t *testing.T) {
	host := New()
	ask := func() *http.Response {
		answer := httptest.NewRecorder()
		host.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/dapr/config", http.NoBody))
		return answer.Result()
	}
	if code := ask().StatusCode; code != http.StatusNotFound {
		t.Errorf("without actors: %d", code)
	}
	host.HostActors("Counter")
	body, _ := io.ReadAll(ask().Body)
	var config struct {
		Entities         []string `json:"entities"`
		ActorIdleTimeout string   `json:"actorIdleTimeout"`
	}
	if err := json.Unmarshal(body, &config); err != nil || len(config.Entities) != 1 || config.Entities[0] != "Counter" || config.ActorIdleTimeout != "1h" {
		t.Errorf("%s: %v", body, err)
	}
}
