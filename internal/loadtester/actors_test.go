package loadtester

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/target"
)

// actorHost is the target as an actor host, which counts the calls of each actor.
type actorHost struct {
	http.Handler
	mu    sync.Mutex
	calls map[string]int
}

func newActorHost() *actorHost {
	app := target.New()
	app.HostActors("Counter")
	h := &actorHost{calls: map[string]int{}}
	h.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.calls[strings.Split(r.URL.Path, "/")[3]]++
		h.mu.Unlock()
		app.Handler().ServeHTTP(w, r)
	})
	return h
}

// called is a copy: the race detector knows nothing of what a client learns from an answer.
func (h *actorHost) called() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.calls)
}

// actorPlan has a warm-up and a block of 50 requests over 4 connections, each of one arm.
func actorPlan(t *testing.T, host http.Handler, warm int) *measure.Plan {
	t.Helper()
	base := strings.TrimSuffix(serverOf(t, host), "/echo")
	plan := planFor(base, 100, 4, 500*ms)
	endpoint := measure.Endpoint{Method: "PUT", URL: base + "/actors/Counter/" + measure.ActorID + "/method/echo"}
	plan.Endpoints = map[measure.Arm]measure.Endpoint{measure.Baseline: endpoint, measure.Dapr: endpoint}
	plan.Blocks[0].Arm = measure.Dapr
	warmUp := plan.Blocks[0]
	warmUp.Pair, warmUp.Duration, warmUp.Warmup = -1, 0, true
	plan.Blocks = []measure.Block{warmUp, plan.Blocks[0]}
	plan.Actors = &measure.Actors{Type: "Counter", Warm: warm}
	if err := plan.Validate(); err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestEachRequestActivatesAnActorOfItsOwn(t *testing.T) {
	t.Parallel()
	host := newActorHost()
	report, err := RunPlan(context.Background(), actorPlan(t, host, 0), Environment{ProcRoot: ownProc(t)})
	if err != nil {
		t.Fatal(err)
	}
	if b := report.Blocks[0]; b.Succeeded != b.Planned || b.Planned < 48 {
		t.Errorf("%d of %d requests succeeded: %v", b.Succeeded, b.Planned, b.Errors)
	}
	// Before each of the two blocks one request asks, and one goes over each connection.
	if want := int(report.Blocks[0].Planned) + 2*(1+4); len(host.called()) != want {
		t.Errorf("%d actors were called, want %d", len(host.called()), want)
	}
	for id, n := range host.called() {
		if n != 1 || len(id) != len("instance-")+idDigits || !strings.HasPrefix(id, "instance-") {
			t.Errorf("actor %s was called %d times", id, n)
		}
	}
}

func TestWarmActorsAreAllCalledBeforeTheLoadAndThenEvenly(t *testing.T) {
	t.Parallel()
	host := newActorHost()
	plan := actorPlan(t, host, 30)
	var before int
	report, err := RunPlan(context.Background(), plan, Environment{ProcRoot: ownProc(t), Loading: func(i int) {
		if i == 1 {
			before = len(host.called())
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if before != 30 || len(host.called()) != 30 {
		t.Errorf("%d actors before the load, %d after it, want 30", before, len(host.called()))
	}
	// 10 requests of priming, 32 of activation, and the block's.
	each := (42 + int(report.Blocks[0].Planned)) / 30
	for id, n := range host.called() {
		if n < each || n > each+1 {
			t.Errorf("actor %s was called %d times, want %d or one more", id, n, each)
		}
	}
}

func TestIDsAreWrittenInPlaceWithoutAllocation(t *testing.T) {
	ids := newActorIDs(&measure.Plan{Instance: strings.Repeat("I", 26), Actors: &measure.Actors{Type: "Counter"}})
	got := ids.in(measure.Endpoint{URL: "http://a/" + measure.ActorID + "/b"}, ids.next()).URL
	if want := "http://a/" + strings.Repeat("I", 23) + "-000000000000/b"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	digits := make([]byte, idDigits)
	if n := testing.AllocsPerRun(100, func() { ids.put(digits) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
	if string(digits) != "000000000101" {
		t.Errorf("%s", digits)
	}
}

func TestAwaitHosts(t *testing.T) {
	t.Parallel()
	metadata := func(body string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		t.Cleanup(server.Close)
		return server.URL
	}
	for name, c := range map[string]struct {
		url  string
		says []string
	}{
		"ready":          {metadata(`{"actorRuntime":{"runtimeStatus":"RUNNING","hostReady":true,"activeActors":[{"type":"Other"},{"type":"Counter","count":3}]}}`), nil},
		"another type":   {metadata(`{"actorRuntime":{"runtimeStatus":"RUNNING","hostReady":true,"activeActors":[{"type":"Other"}]}}`), []string{"hosts Other instead"}},
		"no type":        {metadata(`{"actorRuntime":{"runtimeStatus":"RUNNING","hostReady":true,"placement":"placement: connected"}}`), []string{"hosts no actor type", "placement: connected", "/dapr/config"}},
		"no placement":   {metadata(`{"actorRuntime":{"runtimeStatus":"RUNNING","placement":"placement: disconnected","activeActors":[{"type":"Counter"}]}}`), []string{"not ready", "placement: disconnected"}},
		"no such server": {"http://127.0.0.1:1", []string{"does not tell what it hosts"}},
		"no metadata":    {metadata("<html>"), []string{"does not tell what it hosts"}},
	} {
		err := awaitHosts(context.Background(), &measure.Actors{Type: "Counter", Hosts: map[string]string{"tg": c.url}}, 0)
		var failure *Failure
		switch {
		case len(c.says) == 0 && err != nil:
			t.Errorf("%s: %v", name, err)
		case len(c.says) > 0 && (!errors.As(err, &failure) || failure.Cause != measure.CauseActorHost):
			t.Errorf("%s: %v", name, err)
		}
		for _, s := range c.says {
			if err == nil || !strings.Contains(err.Error(), s) || !strings.Contains(err.Error(), "nobody hosts actor type Counter") || !strings.Contains(err.Error(), "pod tg") {
				t.Errorf("%s: %v does not say %q", name, err, s)
			}
		}
	}
}

func TestHostsAreWaitedFor(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) > 2 {
			_, _ = io.WriteString(w, `{"actorRuntime":{"hostReady":true,"activeActors":[{"type":"Counter"}]}}`)
			return
		}
		_, _ = io.WriteString(w, `{"actorRuntime":{"runtimeStatus":"INITIALIZING"}}`)
	}))
	t.Cleanup(server.Close)
	actors := &measure.Actors{Type: "Counter", Hosts: map[string]string{"tg": server.URL}}
	if err := awaitHosts(context.Background(), actors, 10*time.Second); err != nil || asked.Load() != 3 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
	asked.Store(-1000)
	ctx, cancel := context.WithTimeout(context.Background(), 50*ms)
	defer cancel()
	if err := awaitHosts(ctx, actors, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stopped: %v", err)
	}
}
