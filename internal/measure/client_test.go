package measure

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func token() (string, error) { return "the-token", nil }

// answering makes a client of a server that gives every call the same answer, and keeps the last request.
func answering(t *testing.T, status int, body string) (*Client, *http.Request) {
	t.Helper()
	last := &http.Request{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		*last = *r.Clone(context.Background())
		last.Body = io.NopCloser(strings.NewReader(string(content)))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	return &Client{BaseURL: srv.URL, Token: token}, last
}

func TestClientRequests(t *testing.T) {
	ctx := context.Background()
	tests := map[string]struct {
		call         func(*Client) error
		method, path string
		body         string
	}{
		"info":     {func(c *Client) error { _, err := c.Info(ctx); return err }, "GET", "/v1/info", ""},
		"progress": {func(c *Client) error { _, err := c.Progress(ctx, "a 1"); return err }, "GET", "/v1/runs/a%201", ""},
		"report":   {func(c *Client) error { _, err := c.Report(ctx, "a"); return err }, "GET", "/v1/runs/a/report", ""},
		"stop":     {func(c *Client) error { return c.Stop(ctx, "a") }, "DELETE", "/v1/runs/a", ""},
		"windows": {func(c *Client) error { return c.PostWindows(ctx, "a", []Window{{Component: "app"}}) }, "POST", "/v1/runs/a/windows",
			`[{"component":"app","pod":"","end":"0001-01-01T00:00:00Z","length":0,"cpu":0,"workingSet":0}]`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, last := answering(t, 200, "{}")
			if err := tc.call(c); err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(last.Body)
			got := []string{last.Method, last.URL.EscapedPath(), last.Header.Get("Authorization"), string(body)}
			if d := cmp.Diff([]string{tc.method, tc.path, "Bearer the-token", tc.body}, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestClientStartSendsThePlan(t *testing.T) {
	c, last := answering(t, 201, `{"attempt":"a","state":"Running"}`)
	plan := validPlan()
	p, err := c.Start(context.Background(), &plan)
	if err != nil || p.State != Running {
		t.Fatalf("%+v, %v", p, err)
	}
	var sent Plan
	if err := json.NewDecoder(last.Body).Decode(&sent); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(plan, sent); d != "" {
		t.Error(d)
	}
}

func TestClientErrors(t *testing.T) {
	tests := map[string]struct {
		status int
		body   string
		want   error
		says   string
	}{
		"unknown":      {404, `{"error":"no such attempt"}`, ErrUnknownAttempt, "no such attempt"},
		"conflict":     {409, `{"error":"another attempt"}`, ErrConflict, "another attempt"},
		"invalid":      {400, `{"error":"rps 0"}`, ErrInvalidPlan, "rps 0"},
		"unauthorized": {401, `{"error":"token"}`, ErrUnauthorized, "by its clock it is "},
		"broken":       {500, `<html>`, ErrUnreachable, "500"},
		"redirect":     {302, ``, ErrUnreachable, "302"},
		"not JSON":     {200, `hello`, ErrUnreachable, "contract"},
		"too long":     {200, `{"attempt":"` + strings.Repeat("x", maxAnswerBytes) + `"}`, ErrUnreachable, "longer than"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, _ := answering(t, tc.status, tc.body)
			_, err := c.Progress(context.Background(), "a")
			if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %v saying %q", err, tc.want, tc.says)
			}
		})
	}
}

func TestClientWithoutServer(t *testing.T) {
	c := &Client{BaseURL: "http://127.0.0.1:1", Token: token}
	if err := c.Stop(context.Background(), "a"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v", err)
	}
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := (&Client{BaseURL: silent.URL, Token: token}).Report(ctx, "a")
	if !errors.Is(err, ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	failing := &Client{BaseURL: silent.URL, Token: func() (string, error) { return "", errors.New("no key") }}
	if _, err := failing.Info(context.Background()); err == nil || !strings.Contains(err.Error(), "no key") {
		t.Errorf("got %v", err)
	}
}
