// Package progress tells a person what the program is doing and for how long,
// on a terminal by refreshing one line, elsewhere by adding a line now and
// then, so that a log never looks dead.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// quiet is how long a log may stay silent while a step runs.
const quiet = 20 * time.Second

// Reporter writes the progress of one command.
type Reporter struct {
	w     io.Writer
	tty   bool
	start time.Time
	now   func() time.Time
	tick  time.Duration

	mu   sync.Mutex
	line bool // an unfinished line is on the terminal
}

// New reports on out from now on.
func New(out *os.File) *Reporter {
	info, err := out.Stat()
	tty := err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	return &Reporter{w: out, tty: tty, start: time.Now(), now: time.Now, tick: time.Second}
}

// Elapsed is the time since the command began.
func (r *Reporter) Elapsed() time.Duration { return r.now().Sub(r.start) }

// Say writes one line.
func (r *Reporter) Say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write(fmt.Sprintf(format, args...), true)
}

// Step runs f, announcing doing when it takes longer than a moment, and ends
// with the line that f returns, or with doing and how long it took.
func (r *Reporter) Step(doing string, f func(*Step) (string, error)) error {
	s := &Step{}
	begun := r.now()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		r.watch(s, doing, begun, stop)
	}()
	done, err := f(s)
	close(stop)
	<-stopped
	if err != nil {
		r.Say("failed: %s", doing)
		return err
	}
	if done == "" {
		done = fmt.Sprintf("%s: done in %s", doing, Duration(r.now().Sub(begun)))
	}
	r.Say("%s", done)
	return nil
}

func (r *Reporter) watch(s *Step, doing string, begun time.Time, stop <-chan struct{}) {
	t := time.NewTicker(r.tick)
	defer t.Stop()
	var last time.Time // when a log last had a line of this step
	for {
		select {
		case <-stop:
			return
		case <-t.C:
		}
		r.mu.Lock()
		switch now := r.now(); {
		case r.tty:
			r.write(doing+suffix(s.detail()), false)
		case last.IsZero():
			last = now
			r.write(doing+" ...", true)
		case now.Sub(last) >= quiet:
			last = now
			r.write(fmt.Sprintf("  still %s after %s%s", doing, Duration(now.Sub(begun)), suffix(s.detail())), true)
		}
		r.mu.Unlock()
	}
}

// write needs the lock.
func (r *Reporter) write(text string, end bool) {
	if r.line {
		_, _ = io.WriteString(r.w, "\r\x1b[K") // back to the start, clear the line
	}
	line := Stamp(r.Elapsed()) + " " + text
	if end {
		line += "\n"
	} else if len(line) > 100 {
		line = line[:100] // a wrapped line could not be cleared
	}
	_, _ = io.WriteString(r.w, line)
	r.line = !end
}

func suffix(detail string) string {
	if detail == "" {
		return " ..."
	}
	return ": " + detail
}

// Step is a running step; its detail may change as it goes on.
type Step struct {
	mu   sync.Mutex
	text string
}

// Detail sets what the next line says about how far the step is.
func (s *Step) Detail(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = fmt.Sprintf(format, args...)
}

func (s *Step) detail() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text
}

// Stamp is the elapsed time in front of every line.
func Stamp(d time.Duration) string { return fmt.Sprintf("[%6.1fs]", d.Seconds()) }

// Duration is a time in words short enough for a sentence.
func Duration(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}

// Count is a number of things in words.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
