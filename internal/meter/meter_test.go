package meter

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"perfrun.dev/perfrun/internal/measure"
)

// procOf is a view of /proc with this process as the reader and these others.
func procOf(t *testing.T, others ...int) string {
	t.Helper()
	root, self := t.TempDir(), os.Getpid()
	for _, pid := range append(others, self) {
		name := strconv.Itoa(pid)
		if err := os.Symlink(filepath.Join("/proc", name), filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(strconv.Itoa(self), filepath.Join(root, "self")); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestHandler(t *testing.T) {
	if _, err := os.Stat("/proc/self/cgroup"); err != nil {
		t.Skip("no /proc here")
	}
	application := exec.CommandContext(t.Context(), "sleep", "60")
	if err := application.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = application.Process.Kill(); _ = application.Wait() }()
	for name, tc := range map[string]struct {
		procRoot, path string
		status         int
	}{
		"health":            {procOf(t), measure.PathHealth, http.StatusOK},
		"an application":    {procOf(t, application.Process.Pid), measure.TargetUsagePath, http.StatusOK},
		"the meter alone":   {procOf(t), measure.TargetUsagePath, http.StatusInternalServerError},
		"an unreadable one": {t.TempDir(), measure.TargetUsagePath, http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			answer := httptest.NewRecorder()
			Handler(tc.procRoot).ServeHTTP(answer, httptest.NewRequestWithContext(context.Background(), http.MethodGet, tc.path, http.NoBody))
			if answer.Code != tc.status {
				t.Fatalf("status %d, want %d: %s", answer.Code, tc.status, answer.Body)
			}
			if name != "an application" {
				return
			}
			var pod measure.PodUsage
			if err := json.Unmarshal(answer.Body.Bytes(), &pod); err != nil {
				t.Fatal(err)
			}
			// sleep takes far less memory than this test.
			if pod.App.Resident <= 0 || pod.App.Resident > 8<<20 || pod.Sidecar != nil {
				t.Errorf("%+v", pod)
			}
		})
	}
}

func TestServeStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	serving := make(chan string, 1)
	done := make(chan error, 1)
	log := slog.New(slog.NewTextHandler(addressIn(serving), nil))
	go func() { done <- Serve(ctx, Options{Addr: "127.0.0.1:0", Log: log}) }()
	res, err := http.Get("http://" + <-serving + measure.PathHealth) //nolint:noctx,gosec // a test
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if err := Serve(context.Background(), Options{Addr: "127.0.0.1:none"}); err == nil {
		t.Error("no such port: no error")
	}
}

// addressIn takes the address from a line of the log.
type addressIn chan string

func (to addressIn) Write(line []byte) (int, error) {
	if _, addr, found := strings.Cut(strings.TrimSpace(string(line)), "addr="); found {
		to <- addr
	}
	return len(line), nil
}
