package usage

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"perfrun.dev/perfrun/internal/measure"
)

const page = `# HELP dapr_http_server_request_count Number of HTTP requests started in server.
# TYPE dapr_http_server_request_count counter
dapr_http_server_request_count{app_id="target",method="POST"} 12
# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 12.34
# HELP process_resident_memory_bytes Resident memory size in bytes.
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 1.01724160e+08
process_cpu_seconds_total_of_something_else 99
`

func TestParsePrometheus(t *testing.T) {
	tests := map[string]struct {
		page string
		want measure.Usage
		says string
	}{
		"a page":          {page, measure.Usage{CPUSeconds: 12.34, Resident: 101724160}, ""},
		"without types":   {"process_cpu_seconds_total 1\nprocess_resident_memory_bytes 2\n", measure.Usage{CPUSeconds: 1, Resident: 2}, ""},
		"with labels":     {"process_cpu_seconds_total{a=\"b\"} 1 1700000000000\nprocess_resident_memory_bytes 2\n", measure.Usage{CPUSeconds: 1, Resident: 2}, ""},
		"empty":           {"", measure.Usage{}, "finding process_cpu_seconds_total"},
		"no memory":       {"process_cpu_seconds_total 1\n", measure.Usage{}, "finding process_resident_memory_bytes"},
		"two processes":   {page + "process_cpu_seconds_total{a=\"b\"} 1\n", measure.Usage{}, "there are 2"},
		"not a number":    {"process_cpu_seconds_total NaN\nprocess_resident_memory_bytes 2\n", measure.Usage{}, "no amount"},
		"negative":        {"process_cpu_seconds_total 1\nprocess_resident_memory_bytes -2\n", measure.Usage{}, "no amount"},
		"infinite":        {"process_cpu_seconds_total 1\nprocess_resident_memory_bytes +Inf\n", measure.Usage{}, "no amount"},
		"rubbish":         {"process_cpu_seconds_total x\n", measure.Usage{}, "parsing metrics"},
		"an endless line": {strings.Repeat("x", maxLineBytes+1), measure.Usage{}, "too long"},
		"a histogram":     {"# TYPE process_cpu_seconds_total histogram\nprocess_cpu_seconds_total 1\n", measure.Usage{}, "process_cpu_seconds_total"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePrometheus(strings.NewReader(tc.page))
			if (err == nil) != (tc.says == "") || (err != nil && !strings.Contains(err.Error(), tc.says)) {
				t.Fatalf("error %v, want %q", err, tc.says)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	endless := io.MultiReader(strings.NewReader(page), &repeating{line: "x 1\n"})
	if _, err := ParsePrometheus(endless); !errors.Is(err, ErrTooLong) {
		t.Errorf("endless page: %v", err)
	}
}

// repeating yields its line for ever.
type repeating struct {
	line string
	at   int
}

func (r *repeating) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.line[r.at%len(r.line)]
		r.at++
	}
	return len(p), nil
}

func FuzzParsePrometheus(f *testing.F) {
	f.Add(page)
	f.Add("process_cpu_seconds_total{ 1\nprocess_resident_memory_bytes 1e400\n")
	f.Fuzz(func(t *testing.T, page string) {
		u, err := ParsePrometheus(strings.NewReader(page))
		if err == nil && (!(u.CPUSeconds >= 0) || u.Resident < 0) {
			t.Errorf("%q: %+v", page, u)
		}
	})
}

func FuzzDecodePod(f *testing.F) {
	f.Add(`{"app":{"cpuSeconds":1,"resident":2},"sidecar":{}}`)
	f.Fuzz(func(t *testing.T, body string) {
		if _, err := decode[measure.PodUsage](strings.NewReader(body)); err == nil && len(body) > maxPodBytes {
			t.Errorf("accepted %d bytes", len(body))
		}
	})
}

func TestFetcher(t *testing.T) {
	answer := func(status int, body string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	ctx := context.Background()
	got, err := Fetcher{}.Prometheus(ctx, answer(200, page))
	if err != nil || got.CPUSeconds != 12.34 {
		t.Errorf("%+v, %v", got, err)
	}
	pod, err := Fetcher{}.Pod(ctx, answer(200, `{"app":{"cpuSeconds":1.5}}`))
	if err != nil || pod.App.CPUSeconds != 1.5 || pod.Sidecar != nil {
		t.Errorf("%+v, %v", pod, err)
	}
	traces, err := Fetcher{}.Traces(ctx, answer(200, `{"traced":3,"sampled":2}`))
	if err != nil || traces != (measure.Traces{Traced: 3, Sampled: 2}) {
		t.Errorf("%+v, %v", traces, err)
	}
	if _, err := (Fetcher{}).Prometheus(ctx, answer(503, page)); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("status 503: %v", err)
	}
	if _, err := (Fetcher{}).Pod(ctx, answer(200, "<html>")); err == nil {
		t.Error("not JSON: no error")
	}
	if _, err := (Fetcher{}).Pod(ctx, answer(200, strings.Repeat(" ", maxPodBytes+1))); !errors.Is(err, ErrTooLong) {
		t.Errorf("too long: %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	if _, err := (Fetcher{}).Pod(short, silent.URL); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silent: %v", err)
	}
}
