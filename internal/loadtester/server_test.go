package loadtester

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
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

// started is a load tester for run "run", with a client that holds the right key.
type started struct {
	url    string
	client *measure.Client
	info   measure.Info
	key    measure.Signer
}

func startServer(t *testing.T) started {
	t.Helper()
	pub, priv, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	srv := httptest.NewServer(New(ctx, Options{Run: "run", PublicKey: pub, Target: "127.0.0.1"}).Handler())
	t.Cleanup(srv.Close)
	s := started{url: srv.URL, key: measure.Signer{Key: priv}, client: &measure.Client{
		BaseURL: srv.URL, Token: func() (string, error) { return measure.Signer{Key: priv}.Token("run", time.Now()) },
	}}
	if s.info, err = s.client.Info(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

// waitFor polls until the attempt is in one of the states.
func (s started) waitFor(t *testing.T, attempt string, states ...measure.State) measure.Progress {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		p, err := s.client.Progress(context.Background(), attempt)
		if err != nil {
			t.Fatal(err)
		}
		for _, state := range states {
			if p.State == state {
				return p
			}
		}
		time.Sleep(20 * ms)
	}
	t.Fatalf("the attempt did not become %v", states)
	return measure.Progress{}
}

// counting is a target that counts its requests.
func counting(t *testing.T) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = &atomic.Int64{}
	app := target.New().Handler()
	return serverOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		app.ServeHTTP(w, r)
	})), requests
}

func TestAttemptFromPostToReport(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := startServer(t)
	url, requests := counting(t)
	plan := planFor(url, 100, 4, time.Second)
	plan.Instance = s.info.Instance
	// The same attempt is posted by many at once, and once more at the end.
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if p, err := s.client.Start(ctx, plan); err != nil || p.State != measure.Running || p.Measured != 1 || p.LoadTime != time.Second {
				t.Errorf("Start: %+v, %v", p, err)
			}
		})
	}
	wg.Wait()
	if _, err := s.client.Report(ctx, plan.Attempt); !errors.Is(err, measure.ErrConflict) {
		t.Errorf("report before the end: %v", err)
	}
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	windows := []measure.Window{{Component: "app", Pod: "a", End: noon, CPU: 0.5}, {Component: "app", Pod: "b", End: noon, CPU: 0.7}}
	for range 2 {
		if err := s.client.PostWindows(ctx, plan.Attempt, windows); err != nil {
			t.Fatal(err)
		}
	}
	p := s.waitFor(t, plan.Attempt, measure.Done, measure.Failed)
	if p.State != measure.Done || p.Current != 1 || p.MeasuredDone != 1 || p.Elapsed != time.Second {
		t.Errorf("at the end: %+v", p)
	}
	// Ten requests are beyond the median of 100, and not beyond p99.
	if len(p.Latest) != 1 || p.Latest[0].Connections != 4 || p.Latest[0].P50 == nil || *p.Latest[0].P50 <= 0 || p.Latest[0].P99 != nil {
		t.Errorf("the latest block: %+v", p.Latest)
	}
	if p, err := s.client.Start(ctx, plan); err != nil || p.State != measure.Done {
		t.Errorf("posted again: %+v, %v", p, err)
	}
	report, err := s.client.Report(ctx, plan.Attempt)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Blocks) != 1 || report.Blocks[0].Succeeded != 100 || len(report.Windows) != 2 || report.RPS != 100 || report.Run != "run" {
		t.Errorf("report: %+v", report)
	}
	if n := requests.Load(); n != 105 {
		t.Errorf("%d requests were sent, want 100, 4 for priming and the first", n)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := startServer(t)
	url, requests := counting(t)
	good := planFor(url, 100, 2, 10*time.Second)
	good.Instance = s.info.Instance
	changed := func(change func(*measure.Plan)) *measure.Plan {
		p := *good
		change(&p)
		return &p
	}
	post := func(p *measure.Plan, want error, says string) {
		t.Helper()
		if _, err := s.client.Start(ctx, p); !errors.Is(err, want) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %v saying %q", err, want, says)
		}
	}
	post(changed(func(p *measure.Plan) { p.RPS = 0 }), measure.ErrInvalidPlan, "rps 0")
	post(changed(func(p *measure.Plan) { p.Run = "other" }), measure.ErrInvalidPlan, "other")
	post(changed(func(p *measure.Plan) {
		p.Endpoints = map[measure.Arm]measure.Endpoint{measure.Baseline: {URL: "http://example.org/echo", Method: "POST"}, measure.Dapr: p.Endpoints[measure.Dapr]}
	}), measure.ErrInvalidPlan, "not to example.org")
	post(changed(func(p *measure.Plan) { p.Instance = "before" }), measure.ErrConflict, "restarted")
	post(changed(func(p *measure.Plan) { p.RPS, p.Blocks[0].Duration = 100, 10*time.Second; p.Version = 7 }), measure.ErrInvalidPlan, "version 7")
	if _, err := s.client.Progress(ctx, "attempt-1"); !errors.Is(err, measure.ErrUnknownAttempt) {
		t.Errorf("progress of nothing: %v", err)
	}
	if err := s.client.Stop(ctx, "attempt-1"); !errors.Is(err, measure.ErrUnknownAttempt) {
		t.Errorf("stop of nothing: %v", err)
	}
	if requests.Load() != 0 {
		t.Errorf("%d requests were sent for refused plans", requests.Load())
	}
	if _, err := s.client.Start(ctx, good); err != nil {
		t.Fatal(err)
	}
	post(changed(func(p *measure.Plan) { p.Attempt = "attempt-2" }), measure.ErrConflict, "attempt-1")
	post(changed(func(p *measure.Plan) { p.Instance = "before" }), measure.ErrConflict, "restarted")
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	token, err := s.client.Token()
	if err != nil {
		t.Fatal(err)
	}
	another, err := s.key.Token("another-run", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	expired, err := s.key.Token("run", time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		method, path, token, body string
		status                    int
	}{
		"health needs no token": {"GET", "/healthz", "", "", 200},
		"no token":              {"GET", "/v1/info", "", "", 401},
		"bad token":             {"GET", "/v1/info", "x.y.z", "", 401},
		"endless token":         {"GET", "/v1/info", strings.Repeat("x", maxTokenBytes+1), "", 401},
		"post without token":    {"POST", "/v1/runs", "", "{}", 401},
		"another run's token":   {"POST", "/v1/runs", another, "{}", 401},
		"expired token":         {"POST", "/v1/runs", expired, "{}", 401},
		"stop without token":    {"DELETE", "/v1/runs/attempt-1", "", "", 401},
		"report without token":  {"GET", "/v1/runs/attempt-1/report", "", "", 401},
		"unknown path":          {"GET", "/v2/info", token, "", 404},
		"wrong method":          {"PUT", "/v1/runs", token, "", 405},
		"not JSON":              {"POST", "/v1/runs", token, "{", 400},
		"too long":              {"POST", "/v1/runs", token, `{"run":"` + strings.Repeat("x", measure.MaxPlanBytes) + `"}`, 413},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(context.Background(), tc.method, s.url+tc.path, bytes.NewBufferString(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			if tc.token != "" {
				req.Header.Set("Authorization", "Bearer "+tc.token)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			body, _ := io.ReadAll(res.Body)
			var said map[string]string
			if res.StatusCode != tc.status || (tc.status >= 400 && tc.status != 404 && tc.status != 405 && (json.Unmarshal(body, &said) != nil || said["error"] == "")) {
				t.Errorf("status %d, %s", res.StatusCode, body)
			}
		})
	}
}

func TestStopEndsTheLoad(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := startServer(t)
	url, requests := counting(t)
	plan := planFor(url, 200, 4, time.Minute)
	plan.Instance = s.info.Instance
	if _, err := s.client.Start(ctx, plan); err != nil {
		t.Fatal(err)
	}
	for requests.Load() < 20 {
		time.Sleep(10 * ms)
	}
	if p := s.waitFor(t, plan.Attempt, measure.Running); p.Elapsed <= 0 || p.Elapsed > 30*time.Second {
		t.Errorf("under way: %+v", p)
	}
	if err := s.client.Stop(ctx, plan.Attempt); err != nil {
		t.Fatal(err)
	}
	s.waitFor(t, plan.Attempt, measure.Stopped)
	time.Sleep(500 * ms)
	before := requests.Load()
	time.Sleep(500 * ms)
	if after := requests.Load(); after != before {
		t.Errorf("%d requests came after the stop", after-before)
	}
	if _, err := s.client.Report(ctx, plan.Attempt); !errors.Is(err, measure.ErrConflict) {
		t.Errorf("report of what was stopped: %v", err)
	}
}

func TestFailedAttemptTellsWhy(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	plan := planFor("http://127.0.0.1:1/echo", 100, 2, time.Second)
	plan.Instance = s.info.Instance
	if _, err := s.client.Start(context.Background(), plan); err != nil {
		t.Fatal(err)
	}
	p := s.waitFor(t, plan.Attempt, measure.Failed)
	if p.Cause != measure.CausePath || !strings.Contains(p.Message, "127.0.0.1:1") {
		t.Errorf("%+v", p)
	}
}

func TestWindowsAreBounded(t *testing.T) {
	a := &attempt{known: map[windowKey]bool{}}
	windows := make([]measure.Window, maxWindows+1)
	for i := range windows {
		windows[i].End = time.Unix(int64(i), 0)
	}
	if !a.addWindows(windows[:maxWindows]) || a.addWindows(windows) || len(a.windows) != maxWindows {
		t.Errorf("%d windows are kept", len(a.windows))
	}
}

func TestServeStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, Options{Addr: "127.0.0.1:0", Run: "run"}) }()
	time.Sleep(50 * ms)
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Serve: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("Serve did not stop")
	}
	if err := Serve(context.Background(), Options{Addr: "127.0.0.1:-1"}); err == nil {
		t.Error("an impossible address: no error")
	}
}
