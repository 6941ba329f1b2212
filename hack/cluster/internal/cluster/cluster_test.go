package cluster

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"perfrun.dev/perfrun/hack/cluster/internal/plan"
)

func objects(t *testing.T, text string) []object {
	t.Helper()
	var all []object
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestUnready(t *testing.T) {
	tests := []struct {
		name, list, want string
		least            int
	}{
		{"nothing yet", `[]`, "0 of 1 are known", 1},
		{"a node", `[{"kind":"Node","metadata":{"name":"n1"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}]`, "", 1},
		{"a node that is not", `[{"kind":"Node","metadata":{"name":"n1"},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}]`, "0 of 1 ready, not n1", 1},
		{"an API service", `[{"kind":"APIService","metadata":{"name":"m"},"status":{"conditions":[{"type":"Available","status":"True"}]}}]`, "", 1},
		{"a workload", `[{"kind":"StatefulSet","metadata":{"name":"s","generation":2},"spec":{"replicas":3},
			"status":{"observedGeneration":2,"readyReplicas":3,"updatedReplicas":3}}]`, "", 1},
		{"a change not seen yet", `[{"kind":"Deployment","metadata":{"name":"d","generation":2},"spec":{"replicas":1},
			"status":{"observedGeneration":1,"readyReplicas":1,"updatedReplicas":1}}]`, "0 of 1 ready, not d", 1},
		{"old pods only", `[{"kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":1},"status":{"readyReplicas":1}}]`, "0 of 1 ready, not d", 1},
		{"scaled to nothing", `[{"kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":0}}]`, "", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := unready(objects(t, tt.list), tt.least); got != tt.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestSilent(t *testing.T) {
	node := objects(t, `[{"kind":"Node","metadata":{"name":"n1"},"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-02T03:04:05Z"}]}}]`)
	at := time.Date(2026, 1, 2, 3, 4, 5, 900e6, time.UTC)
	if got := silent(node, at); got != "" {
		t.Errorf("a heartbeat of the same second: %q", got)
	}
	if got := silent(node, at.Add(time.Second)); got == "" {
		t.Error("an old heartbeat counts")
	}
	if got := silent(node, time.Time{}); got != "" {
		t.Errorf("nothing was started: %q", got)
	}
}

func TestImages(t *testing.T) {
	images := parseImages(`REF TYPE DIGEST SIZE PLATFORMS LABELS
docker.io/library/perfrun:dev application/x sha256:new 1 MiB linux/amd64 -
sha256:id-new application/x sha256:new 1 MiB linux/amd64 -
sha256:id-old application/x sha256:old 1 MiB linux/amd64 -
`)
	if len(images) != 3 || images["docker.io/library/perfrun:dev"] != "sha256:new" {
		t.Errorf("got %v", images)
	}
	if got := nameless(images); !slices.Equal(got, []string{"sha256:id-old"}) {
		t.Errorf("without a name: %v", got)
	}
}

func TestEffective(t *testing.T) {
	if got := effective("CapPrm:\t0000000000000001\nCapEff:\t000001fffeffffff\n"); got != 0x1fffeffffff {
		t.Errorf("got %x", got)
	}
}

func TestDecide(t *testing.T) {
	existing := State{Nodes: 2, Dapr: plan.DefaultDapr, APIPort: 7}
	highly := existing
	highly.DaprHA = true
	yes, no := true, false
	tests := []struct {
		name    string
		is      State
		o       Options
		want    State
		wantErr bool
	}{
		{"the default", State{}, Options{}, State{Nodes: 3, Dapr: plan.DefaultDapr}, false},
		{"a choice", State{}, Options{Nodes: 1}, State{Nodes: 1, Dapr: plan.DefaultDapr}, false},
		{"too many", State{}, Options{Nodes: 99}, State{}, true},
		{"as it is", existing, Options{}, existing, false},
		{"the same again", existing, Options{Nodes: 2}, existing, false},
		{"another size", existing, Options{Nodes: 3}, State{}, true},
		{"HA", State{}, Options{DaprHA: &yes}, State{Nodes: 3, Dapr: plan.DefaultDapr, DaprHA: true}, false},
		{"to HA", existing, Options{DaprHA: &yes}, highly, false},
		{"HA as it is", highly, Options{}, highly, false},
		{"back from HA", highly, Options{DaprHA: &no}, existing, false},
		{"an unknown Dapr", State{}, Options{Dapr: "0.1"}, State{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &Cluster{state: tt.is}
			got, err := c.decide(tt.o)
			if (err != nil) != tt.wantErr || (err == nil && got != tt.want) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
