package loadtester

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/meter"
	"perfrun.dev/perfrun/internal/target"
)

// wholePlan has both arms, a warm-up of each and two pairs, over a target that serves its usage too.
func wholePlan(t *testing.T) *measure.Plan {
	t.Helper()
	app := target.New()
	usageURL := strings.TrimSuffix(serverOf(t, meter.Handler(procBeside(t))), "/echo") + measure.TargetUsagePath
	tracesURL := strings.TrimSuffix(serverOf(t, app.TracesHandler()), "/echo") + measure.TargetTracesPath
	metrics := serverOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "process_cpu_seconds_total 1.5\nprocess_resident_memory_bytes 1000\n")
	}))
	url := serverOf(t, app.Handler())
	traced := serverOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
		app.Handler().ServeHTTP(w, r)
	}))
	plan := planFor(url, 100, 4, 500*ms)
	plan.Endpoints[measure.Dapr] = measure.Endpoint{URL: traced, Method: "POST"}
	plan.TracesURLs = map[string]string{"target": tracesURL}
	block := plan.Blocks[0]
	with := func(arm measure.Arm, pair int, d time.Duration) measure.Block {
		b := block
		b.Arm, b.Pair, b.Duration, b.Warmup = arm, pair, d, pair < 0
		return b
	}
	plan.Blocks = []measure.Block{
		with(measure.Baseline, -1, 0), with(measure.Dapr, -1, 300*ms),
		with(measure.Baseline, 0, 1200*ms), with(measure.Dapr, 0, 500*ms), with(measure.Dapr, 1, 500*ms), with(measure.Baseline, 1, 500*ms),
	}
	plan.Counters = []measure.Counter{
		{Component: "loadTester", Sidecar: "callerSidecar", Pod: "lt", Source: measure.SourceLocalProc},
		{Component: "app", Pod: "target", Source: measure.SourceRemoteProc, URL: usageURL},
		{Component: "sentry", Pod: "sentry-0", Source: measure.SourcePrometheus, URL: metrics},
		{Component: "operator", Pod: "operator-0", Source: measure.SourcePrometheus, URL: "http://127.0.0.1:1/metrics"},
	}
	return plan
}

// procBeside is a view of /proc with this process as the meter, and another as the application beside it.
func procBeside(t *testing.T) string {
	t.Helper()
	application := exec.CommandContext(t.Context(), "sleep", "60")
	if err := application.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = application.Process.Kill(); _ = application.Wait() })
	root, pid := ownProc(t), strconv.Itoa(application.Process.Pid)
	for _, name := range []string{pid, "stat"} {
		if err := os.Symlink(filepath.Join("/proc", name), filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// ownProc is a view of /proc with this process alone, as in a pod without sidecar: on this machine a real one may be running.
func ownProc(t *testing.T) string {
	t.Helper()
	root, self := t.TempDir(), strconv.Itoa(os.Getpid())
	for link, to := range map[string]string{self: filepath.Join("/proc", self), "self": self} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestRunPlan(t *testing.T) {
	t.Parallel()
	plan := wholePlan(t)
	if err := plan.Validate(); err != nil {
		t.Fatal(err)
	}
	var loads []int
	report, err := RunPlan(context.Background(), plan, Environment{ProcRoot: ownProc(t), Loading: func(i int) { loads = append(loads, i) }})
	if err != nil {
		t.Fatal(err)
	}
	if report.Observed.CPUs < 1 {
		t.Errorf("%d CPUs", report.Observed.CPUs)
	}
	if len(loads) != 7 || loads[6] != 6 {
		t.Errorf("loads: %v", loads)
	}
	checkBlocks(t, plan, report)
	series := map[string]measure.Series{}
	for _, s := range report.Usage {
		series[s.Component] = s
	}
	for name, want := range map[string]struct {
		readings int
		failing  bool
	}{"loadTester": {9, false}, "callerSidecar": {0, true}, "app": {9, false}, "sentry": {8, false}, "operator": {0, true}} {
		s := series[name]
		// The first block is over a second long, so that the proc sources have a reading within it.
		if len(s.Readings) < min(want.readings, 8) || len(s.Readings) > want.readings+2 || (s.Error != "") != want.failing {
			t.Errorf("%s: %d readings, want %d, error %q", name, len(s.Readings), want.readings, s.Error)
		}
		for i := 1; i < len(s.Readings); i++ {
			if before, r := s.Readings[i-1], s.Readings[i]; r.Time.Before(before.Time) || r.Block < before.Block {
				t.Errorf("%s: reading %d is before the one before it", name, i)
			}
		}
	}
	if want := report.Blocks[1].Planned + report.Blocks[2].Planned; report.Observed.Traced != want || report.Observed.Sampled != want {
		t.Errorf("traced %d, sampled %d, want the %d requests of the measured Dapr blocks", report.Observed.Traced, report.Observed.Sampled, want)
	}
}

func checkBlocks(t *testing.T, plan *measure.Plan, report *measure.Report) {
	t.Helper()
	if len(report.Blocks) != 4 {
		t.Fatalf("%d blocks", len(report.Blocks))
	}
	for i, b := range report.Blocks {
		if b.Block != plan.Blocks[i+2] {
			t.Errorf("block %d is %+v", i, b.Block)
		}
		if b.Succeeded != b.Planned || b.Planned == 0 || len(b.Errors) != 0 || b.Skipped != 0 {
			t.Errorf("block %d: planned %d, succeeded %d, errors %v", i, b.Planned, b.Succeeded, b.Errors)
		}
		if decoded(t, b.Response).Count() != b.Planned || decoded(t, b.Service).Count() != b.Planned {
			t.Errorf("block %d: the histograms hold another number of requests", i)
		}
		if share, read := b.Steal["target"]; !read || share < 0 || share > 1 {
			t.Errorf("block %d: steal %v", i, b.Steal)
		}
		if i > 0 && b.Start.Before(report.Blocks[i-1].End) {
			t.Errorf("block %d begins before the one before has ended", i)
		}
		for _, s := range report.Usage {
			var first, last time.Time
			for _, r := range s.Readings {
				if r.Block == i && first.IsZero() {
					first = r.Time
				}
				if r.Block == i {
					last = r.Time
				}
			}
			if len(s.Readings) > 0 && (first.After(b.Start) || last.Before(b.End)) {
				t.Errorf("block %d: %s is not read at its ends", i, s.Component)
			}
		}
	}
}

func TestSteal(t *testing.T) {
	before := map[string]measure.NodeCPU{"a": {Total: 100, Steal: 1}, "b": {Total: 100, Steal: 1}, "restarted": {Total: 100, Steal: 1}, "lost": {Total: 1}}
	after := map[string]measure.NodeCPU{"a": {Total: 120, Steal: 1.5}, "b": {Total: 140, Steal: 1}, "restarted": {Total: 5}, "new": {Total: 9}}
	if diff := cmp.Diff(map[string]float64{"a": 0.025, "b": 0}, steal(before, after)); diff != "" {
		t.Error(diff)
	}
}

func TestPathFailures(t *testing.T) {
	t.Parallel()
	refusing := serverOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "failed to resolve app id target", http.StatusInternalServerError)
	}))
	var n atomic.Int64
	dying := serverOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) > 5 {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	endless := serverOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}))
	tests := map[string]struct {
		url    string
		warmup time.Duration
		says   []string
	}{
		"refusing":           {refusing, 0, []string{refusing, "500", "failed to resolve app id"}},
		"closed":             {"http://127.0.0.1:1/echo", 0, []string{"127.0.0.1:1", "refused"}},
		"fails in a warm-up": {dying, 300 * ms, []string{dying, "502"}},
		"never ends":         {endless, 0, []string{endless, "deadline exceeded"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			plan := planFor(tc.url, 100, 4, time.Second)
			plan.RequestTimeout = 500 * ms
			warmup := plan.Blocks[0]
			warmup.Warmup, warmup.Duration = true, tc.warmup
			plan.Blocks = append([]measure.Block{warmup}, plan.Blocks...)
			_, err := RunPlan(context.Background(), plan, Environment{})
			var f *Failure
			if !errors.As(err, &f) || f.Cause != measure.CausePath {
				t.Fatalf("got %v", err)
			}
			for _, s := range tc.says {
				if !strings.Contains(f.Message, s) {
					t.Errorf("%q does not say %q", f.Message, s)
				}
			}
		})
	}
}

// A path that works a moment after the pods are ready, or after a container was restarted, is waited for.
func TestLatePath(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		patience time.Duration
		warmup   bool
		works    bool
	}{
		"with patience":     {time.Minute, true, true},
		"without patience":  {0, true, false},
		"without a warm-up": {time.Minute, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The four connections' requests and the one that asks why they failed, twice.
			const refused = 10
			var n atomic.Int64
			url := serverOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if n.Add(1) <= refused {
					w.WriteHeader(http.StatusBadGateway)
				}
			}))
			plan := planFor(url, 100, 4, 100*ms)
			if tc.warmup {
				warmup := plan.Blocks[0]
				warmup.Warmup, warmup.Duration = true, 0
				plan.Blocks = append([]measure.Block{warmup}, plan.Blocks...)
			}
			report, err := RunPlan(context.Background(), plan, Environment{PathPatience: tc.patience})
			if tc.works != (err == nil) {
				t.Fatalf("got %v", err)
			}
			if err == nil && report.Blocks[0].Succeeded != report.Blocks[0].Planned {
				t.Errorf("%d of %d succeeded", report.Blocks[0].Succeeded, report.Blocks[0].Planned)
			}
		})
	}
}

func TestMTLS(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	url := serverOf(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12}
	old.StartTLS()
	defer old.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	tests := map[string]struct {
		probe    string
		required bool
		cause    string
	}{
		"on, required":            {secure.Listener.Addr().String(), true, ""},
		"on, required, TLS 1.2":   {old.Listener.Addr().String(), true, ""},
		"on, not wanted":          {secure.Listener.Addr().String(), false, measure.CauseMTLS},
		"off, required":           {plain.Listener.Addr().String(), true, measure.CauseMTLS},
		"off, as wanted":          {plain.Listener.Addr().String(), false, ""},
		"off, a server of frames": {speaksFirst(t), false, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			plan := planFor(url, 100, 1, 100*ms)
			plan.MTLSProbe, plan.RequireMTLS = tc.probe, tc.required
			requests.Store(0)
			report, err := RunPlan(context.Background(), plan, Environment{})
			var f *Failure
			switch {
			case tc.cause == "" && (err != nil || report.Observed.MTLS != tc.required):
				t.Errorf("got %+v, %v", report, err)
			case tc.cause != "" && (!errors.As(err, &f) || f.Cause != tc.cause || requests.Load() != 0):
				t.Errorf("got %v after %d requests", err, requests.Load())
			}
		})
	}
}

// speaksFirst is a server that greets like gRPC without TLS: with a SETTINGS frame, before it has read anything.
func speaksFirst(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0})
			_, _ = io.ReadFull(conn, make([]byte, 24))
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

func TestProbeRetries(t *testing.T) {
	t.Parallel()
	if _, err := probeTLS(context.Background(), "127.0.0.1:1", 600*ms); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("nobody listens: %v", err)
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			// Reading the hello first makes it a clean end rather than a reset.
			_, _ = conn.Read(make([]byte, 4096))
			_ = conn.Close()
		}
	}()
	if _, err := probeTLS(context.Background(), l.Addr().String(), 600*ms); err == nil {
		t.Error("a server that says nothing was taken for one that does not speak TLS")
	}
}

func TestDaprVersion(t *testing.T) {
	for body, want := range map[string]string{
		`{"id":"a","runtimeVersion":"1.18.0"}`:               "1.18.0",
		`{"id":"a","extended":{"daprRuntimeVersion":"1.9"}}`: "1.9",
		`{}`:     "",
		`<html>`: "",
	} {
		url := serverOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		if got := daprVersion(context.Background(), url); got != want {
			t.Errorf("%s: got %q", body, got)
		}
	}
	if got := daprVersion(context.Background(), "http://127.0.0.1:1/v1.0/metadata"); got != "" {
		t.Errorf("unreachable: got %q", got)
	}
}

func TestCheckMemory(t *testing.T) {
	plan := planFor("http://t/echo", 1000, 16, time.Hour)
	if err := CheckMemory(plan); err != nil {
		t.Error(err)
	}
	plan.RPS = 100000
	if err := CheckMemory(plan); err == nil || !strings.Contains(err.Error(), "MiB") {
		t.Errorf("got %v", err)
	}
}

func TestCancelledRunEndsSoon(t *testing.T) {
	t.Parallel()
	plan := planFor(echoServer(t), 200, 4, time.Minute)
	ctx, cancel := context.WithTimeout(context.Background(), 300*ms)
	defer cancel()
	began := time.Now()
	if _, err := RunPlan(ctx, plan, Environment{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s to stop", took)
	}
}
