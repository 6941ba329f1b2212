package progress

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// buffer is safe for the reporter's two goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func run(t *testing.T, tty bool, f func(*Reporter)) string {
	t.Helper()
	var out buffer
	synctest.Test(t, func(*testing.T) {
		f(&Reporter{w: &out, tty: tty, start: time.Now(), now: time.Now, tick: time.Second})
	})
	return out.b.String()
}

func step(d time.Duration, done string, err error) func(*Reporter) {
	return func(r *Reporter) {
		_ = r.Step("building", func(s *Step) (string, error) {
			s.Detail("7 packages")
			time.Sleep(d)
			return done, err
		})
	}
}

func TestLog(t *testing.T) {
	tests := []struct {
		name string
		f    func(*Reporter)
		want string
	}{
		{"a quick step is one line", step(500*time.Millisecond, "built", nil), "[   0.5s] built\n"},
		{"a long one is never silent for long", step(45500*time.Millisecond, "", nil),
			"[   1.0s] building ...\n" +
				"[  21.0s]   still building after 21.0 s: 7 packages\n" +
				"[  41.0s]   still building after 41.0 s: 7 packages\n" +
				"[  45.5s] building: done in 45.5 s\n"},
		{"a failure is said", step(100*time.Millisecond, "built", errors.New("no")), "[   0.1s] failed: building\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := run(t, false, tt.f); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestTerminalRefreshesOneLine(t *testing.T) {
	got := run(t, true, step(2500*time.Millisecond, "built", nil))
	want := "[   1.0s] building: 7 packages" +
		"\r\x1b[K[   2.0s] building: 7 packages" +
		"\r\x1b[K[   2.5s] built\n"
	if got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	long := run(t, true, func(r *Reporter) {
		_ = r.Step(strings.Repeat("x", 200), func(*Step) (string, error) {
			time.Sleep(1500 * time.Millisecond)
			return "y", nil
		})
	})
	if line, _, _ := strings.Cut(long, "\r"); len(line) > 100 {
		t.Errorf("a line of %d would wrap", len(line))
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1234 * time.Millisecond: "1.2 s",
		59 * time.Second:        "59.0 s",
		367 * time.Second:       "6 min 7 s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%v: %q", d, got)
		}
	}
}

func TestCount(t *testing.T) {
	if got := Count(1, "node") + ", " + Count(3, "node"); got != "1 node, 3 nodes" {
		t.Errorf("got %q", got)
	}
}
