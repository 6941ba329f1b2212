package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// settle is how long the operator is left alone before a steady state is watched.
const settle = 5 * time.Second

// row is what the operator took in one step.
type row struct {
	step           string
	took           time.Duration
	resident, most uint64
	cpu            time.Duration
	// calls to the API server by verb and resource.
	calls map[string]int
}

// watched collects the rows.
type watched struct {
	server *server
	window time.Duration
	// read is how far the audit log has been read.
	read int64
	rows []row
}

// steady watches the operator for the window, after it has settled.
func (w *watched) steady(ctx context.Context, m *manager, step string) error {
	if err := pause(ctx, settle); err != nil {
		return err
	}
	return w.during(m, step, func() error { return pause(ctx, w.window) })
}

// oneRun watches one run that waits for its pods. It is a reconcile every 2 s, and whatever that asks the API server for.
func (w *watched) oneRun(ctx context.Context, m *manager, name string) error {
	run, err := w.server.prepare(ctx, name)
	if err != nil {
		return err
	}
	if err := w.steady(ctx, m, "... and one run preparing"); err != nil {
		return err
	}
	if err := w.server.admin.Delete(ctx, run); err != nil {
		return fmt.Errorf("deleting PerfRun %s: %w", name, err)
	}
	return nil
}

// during notes what the operator takes while something is done.
func (w *watched) during(m *manager, step string, do func() error) error {
	fmt.Fprintln(os.Stderr, step)
	if _, err := w.calls(); err != nil {
		return err
	}
	if err := m.forgetMost(); err != nil {
		return err
	}
	before, err := m.taken()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := do(); err != nil {
		return err
	}
	took := time.Since(began)
	after, err := m.taken()
	if err != nil {
		return err
	}
	calls, err := w.calls()
	if err != nil {
		return err
	}
	w.rows = append(w.rows, row{step: step, took: took, resident: after.resident, most: after.most, cpu: after.cpu - before.cpu, calls: calls})
	return nil
}

// auditEvent is what is read of a line of the audit log.
type auditEvent struct {
	Stage, Verb string
	User        struct{ Username string }
	ObjectRef   *struct{ Resource, Subresource string }
}

// calls counts the operator's calls since it was last asked. A watch counts when it begins.
func (w *watched) calls() (map[string]int, error) {
	file, err := os.Open(w.server.auditLog())
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(w.read, 0); err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	counts := map[string]int{}
	reader := bufio.NewReader(file)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			// The rest of a line that is being written comes next time.
			return counts, nil
		}
		w.read += int64(len(line))
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		began := e.Stage == "ResponseStarted"
		if e.User.Username != managerUser || began != (e.Verb == "watch") {
			continue
		}
		counts[e.kind()]++
	}
}

func (e auditEvent) kind() string {
	switch {
	case e.ObjectRef == nil:
		return e.Verb + " discovery"
	case e.ObjectRef.Subresource != "":
		return e.Verb + " " + e.ObjectRef.Resource + "/" + e.ObjectRef.Subresource
	default:
		return e.Verb + " " + e.ObjectRef.Resource
	}
}

// told lists the calls, the most frequent kind first.
func told(calls map[string]int) string {
	kinds := slices.SortedFunc(maps.Keys(calls), func(a, b string) int { return cmp.Or(cmp.Compare(calls[b], calls[a]), strings.Compare(a, b)) })
	words := make([]string, len(kinds))
	for i, kind := range kinds {
		words[i] = fmt.Sprintf("%d %s", calls[kind], kind)
	}
	return strings.Join(words, ", ")
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
