package loadtester

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"perfrun.dev/perfrun/internal/measure"
)

// placement is a sidecar that knows of so many hosts after a number of calls, and gives the calls to them in turn.
type placement struct {
	calls  atomic.Int64
	learns int64
	counts [2]atomic.Int64
}

func (p *placement) call(w http.ResponseWriter, r *http.Request) {
	n := p.calls.Add(1)
	if !strings.Contains(r.URL.Path, spreadPrefix) {
		http.NotFound(w, r)
		return
	}
	host := int64(0)
	if n > p.learns {
		host = n % 2
	}
	p.counts[host].Add(1)
}

func (p *placement) plan(t *testing.T) *measure.Plan {
	t.Helper()
	serve := func(h http.HandlerFunc) string {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return server.URL
	}
	plan := actorPlan(t, http.NotFoundHandler(), 1)
	plan.Endpoints[measure.Dapr] = measure.Endpoint{Method: "PUT", URL: serve(p.call) + "/v1.0/actors/Counter/" + measure.ActorID + "/method/echo"}
	plan.Actors.Hosts = map[string]string{}
	for i := range p.counts {
		plan.Actors.Hosts[fmt.Sprintf("tg-%d", i)] = serve(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"actorRuntime":{"hostReady":true,"activeActors":[{"type":"Other","count":9},{"type":"Counter","count":%d}]}}`, p.counts[i].Load())
		})
	}
	return plan
}

func TestAwaitSpread(t *testing.T) {
	t.Parallel()
	late := &placement{learns: 40}
	if err := awaitSpread(context.Background(), late.plan(t), hostPatience); err != nil || late.calls.Load() != 64 {
		t.Errorf("%d calls, want two rounds of 32: %v", late.calls.Load(), err)
	}
	never := &placement{learns: 1 << 40}
	err := awaitSpread(context.Background(), never.plan(t), 0)
	var failure *Failure
	if !errors.As(err, &failure) || failure.Cause != measure.CauseActorHost || !strings.Contains(failure.Message, "none of 32 calls has reached tg-1") {
		t.Errorf("%v", err)
	}
	alone := &placement{}
	plan := alone.plan(t)
	delete(plan.Actors.Hosts, "tg-1")
	if err := awaitSpread(context.Background(), plan, 0); err != nil || alone.calls.Load() != 0 {
		t.Errorf("one host: %d calls, %v", alone.calls.Load(), err)
	}
}

func TestCallsAreCountedByHost(t *testing.T) {
	r := &run{plan: &measure.Plan{TracesURLs: map[string]string{"a": "x", "b": "y"}}, report: &measure.Report{}}
	r.count(map[string]measure.Traces{"a": {Traced: 10, Sampled: 1}, "b": {Traced: 90}},
		map[string]measure.Traces{"a": {Traced: 40, Sampled: 5}, "b": {Traced: 3}, "c": {Traced: 7}})
	if o := r.report.Observed; o.Traced != 30 || o.Sampled != 4 || len(o.TracedBy) != 1 || o.TracedBy["a"] != 30 {
		t.Errorf("a counts on, b was restarted, c was not seen before: %+v", o)
	}
}
