// Scale measures what the operator takes when there are many PerfRuns: the real binary, as a process, against a real API server with nothing
// else on it. The API server's audit log counts the calls, and the kernel the memory and the CPU.
//
//	make bench-scale
//
// docs/scale.md explains it and has its results.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"perfrun.dev/perfrun/test/document"
	"perfrun.dev/perfrun/test/machine"
)

// bench is what is to be measured.
type bench struct {
	perfrun, markdown string
	runs              int
	window            time.Duration
}

func main() {
	var b bench
	flag.StringVar(&b.perfrun, "perfrun", ".local/bin/perfrun", "the operator's binary")
	flag.StringVar(&b.markdown, "markdown", "", "file whose results are replaced, between its two marks; empty: only print them")
	flag.IntVar(&b.runs, "runs", 1000, "number of PerfRuns")
	flag.DurationVar(&b.window, "window", 30*time.Second, "how long each steady state is watched; CPU is counted in steps of 10 ms")
	namespaces := flag.String("namespaces", "1,50", "numbers of namespaces to spread the PerfRuns over, one measurement each")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := b.run(ctx, *namespaces)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context, namespaces string) error {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return errors.New("KUBEBUILDER_ASSETS names no folder with kube-apiserver and etcd; `make bench-scale` finds or builds one")
	}
	text := machine.Describe(time.Now(), "") + "\n"
	for _, word := range strings.Split(namespaces, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			return fmt.Errorf("reading -namespaces: %w", err)
		}
		rows, err := b.measure(ctx, n)
		if err != nil {
			return err
		}
		text += "\n" + table(fmt.Sprintf("%d PerfRuns in %d namespace(s)", b.runs, n), rows)
	}
	fmt.Print("\n", text)
	if b.markdown == "" {
		return nil
	}
	return document.Replace(b.markdown, "make bench-scale", text)
}

// measure takes one operator through the life of many runs.
func (b *bench) measure(ctx context.Context, namespaces int) ([]row, error) {
	s, err := startServer(ctx, namespaces)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	m, err := b.startManager(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() { m.stop() }()
	w := &watched{server: s, window: b.window}

	steps := []func() error{
		func() error { return w.steady(ctx, m, "fresh, nothing to do") },
		func() error { return w.oneRun(ctx, m, "before") },
		func() error {
			return w.during(m, fmt.Sprintf("%d created at once, until all are queued", b.runs), func() error { return s.create(ctx, b.runs) })
		},
		func() error { return w.steady(ctx, m, fmt.Sprintf("%d queued, the first one preparing", b.runs)) },
		func() error {
			return w.during(m, fmt.Sprintf("%d finish, the last one first", b.runs), func() error { return s.finish(ctx, b.runs) })
		},
		func() error { return w.steady(ctx, m, fmt.Sprintf("%d finished, nothing to do", b.runs)) },
		func() error {
			m.stop()
			m, err = b.startManager(ctx, s)
			return err
		},
		func() error { return w.steady(ctx, m, fmt.Sprintf("%d finished, operator restarted", b.runs)) },
		func() error { return w.oneRun(ctx, m, "after") },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fmt.Errorf("%w\nThe operator's last words:\n%s", err, m.lastWords())
		}
	}
	return w.rows, nil
}
