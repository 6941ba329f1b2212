package loadtester

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"perfrun.dev/perfrun/internal/measure"
)

// countingSink answers as a sink does to which something arrives with each of the next questions.
type countingSink struct {
	mu sync.Mutex
	measure.Exported
	arriving int
	broken   bool
}

func (s *countingSink) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		http.Error(w, "broken", http.StatusInternalServerError)
		return
	}
	if s.arriving > 0 {
		s.arriving--
		s.Spans, s.Traces, s.Bytes = s.Spans+2, s.Traces+1, s.Bytes+100
	}
	_ = json.NewEncoder(w).Encode(s.Exported)
}

func (s *countingSink) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func TestTheSinkIsReadOnceAllHasArrived(t *testing.T) {
	served := &countingSink{Exported: measure.Exported{Instance: "a", Spans: 7, Traces: 3, Bytes: 10}}
	server := httptest.NewServer(served)
	defer server.Close()
	s := lookAtSink(t.Context(), server.URL)
	served.change(func() { served.arriving = 5 })
	var seen measure.Observed
	if err := s.conclude(t.Context(), &seen, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if want := (measure.Exported{Instance: "a", Spans: 10, Traces: 5, Bytes: 500}); seen.Exported == nil || *seen.Exported != want {
		t.Errorf("got %+v (%s), want %+v", seen.Exported, seen.ExportError, want)
	}
}

func TestALostSinkIsToldAndHarmsNothing(t *testing.T) {
	for want, spoil := range map[string]struct{ before, after func(*countingSink) }{
		"before the load":        {before: func(s *countingSink) { s.broken = true }},
		"after the load":         {after: func(s *countingSink) { s.broken = true }},
		"the trace sink restart": {after: func(s *countingSink) { s.Instance = "b" }},
	} {
		t.Run(want, func(t *testing.T) {
			served := &countingSink{Exported: measure.Exported{Instance: "a"}}
			if spoil.before != nil {
				spoil.before(served)
			}
			server := httptest.NewServer(served)
			defer server.Close()
			s := lookAtSink(t.Context(), server.URL)
			if spoil.after != nil {
				served.change(func() { spoil.after(served) })
			}
			var seen measure.Observed
			if err := s.conclude(t.Context(), &seen, time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if seen.Exported != nil || !strings.Contains(seen.ExportError, want) {
				t.Errorf("got %+v, %q", seen.Exported, seen.ExportError)
			}
		})
	}
}

// What the sink's traces are a fraction of: every request that goes through Dapr, and no other.
func TestAllRequestsThroughDaprAreCounted(t *testing.T) {
	var arrived atomic.Int64
	count := serverOf(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
	plan := planFor(serverOf(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})), 100, 4, 500*ms)
	plan.Endpoints[measure.Dapr] = measure.Endpoint{URL: count, Method: "POST"}
	server := httptest.NewServer(&countingSink{Exported: measure.Exported{Instance: "a"}})
	defer server.Close()
	plan.SinkURL = server.URL
	baseline := plan.Blocks[0]
	warmup, measured := baseline, baseline
	warmup.Arm, warmup.Pair, warmup.Warmup = measure.Dapr, -1, true
	measured.Arm = measure.Dapr
	plan.Blocks = []measure.Block{warmup, baseline, measured}
	report, err := RunPlan(t.Context(), plan, Environment{ProcRoot: ownProc(t)})
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Observed.Sent; got != arrived.Load() || got < 100 {
		t.Errorf("counted %d, %d have arrived", got, arrived.Load())
	}
	if report.Observed.Exported == nil {
		t.Error(report.Observed.ExportError)
	}
}
