package target

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"perfrun.dev/perfrun/internal/measure"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"

func TestParseTraceparent(t *testing.T) {
	tests := map[string]struct {
		s               string
		traced, sampled bool
	}{
		"sampled":               {parent + "01", true, true},
		"not sampled":           {parent + "00", true, false},
		"random, not sampled":   {parent + "02", true, false},
		"random and sampled":    {parent + "03", true, true},
		"digit b is odd":        {parent + "0b", true, true},
		"digit a is even":       {parent + "0a", true, false},
		"a later version":       {"01" + parent[2:] + "01", true, true},
		"later and longer":      {"01" + parent[2:] + "01-more", true, true},
		"later, no dash":        {"01" + parent[2:] + "01more", false, false},
		"version 00 and longer": {parent + "01-more", false, false},
		"version ff":            {"ff" + parent[2:] + "01", false, false},
		"upper case":            {strings.ToUpper(parent) + "01", false, false},
		"flags not hex":         {parent + "0g", false, false},
		"too short":             {parent + "1", false, false},
		"empty":                 {"", false, false},
		"no trace":              {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", false, false},
		"no parent":             {"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false, false},
		"dashes elsewhere":      {strings.ReplaceAll(parent, "-", "0") + "01", false, false},
	}
	for name, tc := range tests {
		traced, sampled := parseTraceparent(tc.s)
		if traced != tc.traced || sampled != tc.sampled {
			t.Errorf("%s: got %v, %v", name, traced, sampled)
		}
	}
}

func FuzzParseTraceparent(f *testing.F) {
	f.Add(parent + "01")
	f.Fuzz(func(t *testing.T, s string) {
		if traced, sampled := parseTraceparent(s); sampled && !traced {
			t.Errorf("%q is sampled and no trace", s)
		}
	})
}

func TestEcho(t *testing.T) {
	srv := httptest.NewServer(New().Handler())
	defer srv.Close()
	large := strings.Repeat("x", maxBodyBytes)
	tests := map[string]struct {
		method, path, body, kind string
		status                   int
		answer, answerKind       string
	}{
		"post":          {"POST", "/echo", "hello", "text/plain", 200, "hello", "text/plain"},
		"any path":      {"POST", "/a/b/c", "{}", "application/json", 200, "{}", "application/json"},
		"get":           {"GET", "/", "", "", 200, "", "application/octet-stream"},
		"largest":       {"POST", "/echo", large, "text/plain", 200, large, "text/plain"},
		"too large":     {"POST", "/echo", large + "x", "text/plain", 413, "the body is longer than 2 MiB\n", "text/plain; charset=utf-8"},
		"configuration": {"GET", "/dapr/config", "", "", 404, "", ""},
		"subscriptions": {"GET", "/dapr/subscribe", "", "", 404, "", ""},
		"health":        {"GET", "/healthz", "", "", 200, "", ""},
	}
	for name, tc := range tests {
		for _, chunked := range []bool{false, true} {
			var body io.Reader = strings.NewReader(tc.body)
			if chunked {
				body = io.MultiReader(body)
			}
			req, err := http.NewRequestWithContext(context.Background(), tc.method, srv.URL+tc.path, body)
			if err != nil {
				t.Fatal(err)
			}
			if tc.kind != "" {
				req.Header.Set("Content-Type", tc.kind)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			answer, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if res.StatusCode != tc.status || string(answer) != tc.answer || res.Header.Get("Content-Type") != tc.answerKind {
				t.Errorf("%s: status %d, type %q, %d bytes", name, res.StatusCode, res.Header.Get("Content-Type"), len(answer))
			}
		}
	}
}

func TestTraces(t *testing.T) {
	target := New()
	app, traces := httptest.NewServer(target.Handler()), httptest.NewServer(target.TracesHandler())
	defer app.Close()
	defer traces.Close()
	for _, flags := range []string{"00", "01", "01", "xx"} {
		req, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, app.URL+"/echo", http.NoBody)
		req.Header.Set("traceparent", parent+flags)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
	res, err := http.Get(traces.URL + measure.TargetTracesPath) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var got measure.Traces
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if want := (measure.Traces{Traced: 3, Sampled: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func TestServeStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	opts := Options{Addr: freeAddr(t), GRPCAddr: freeAddr(t), TracesAddr: freeAddr(t)}
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, opts) }()
	for _, addr := range []string{opts.Addr, opts.TracesAddr} {
		waitHealthy(t, "http://"+addr+measure.PathHealth)
	}
	// A sidecar keeps its connection until the application has gone.
	conn := clientOf(t, opts.GRPCAddr)
	if answer, err := echo(ctx, conn, "hello"); err != nil || answer != "hello" {
		t.Errorf("over gRPC: %q, %v", answer, err)
	}
	if err := Serve(ctx, opts); err == nil {
		t.Error("ports in use: no error")
	}
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Serve: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("Serve did not stop")
	}
}

func waitHealthy(t *testing.T, url string) {
	t.Helper()
	for range 200 {
		if res, err := http.Get(url); err == nil { //nolint:noctx,gosec // a test
			_ = res.Body.Close()
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s does not answer", url)
}
