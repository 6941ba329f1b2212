// Trend shows on the local cluster that a schedule's series stays calm while nothing changes, and says what changed when something does: it
// collects results, makes the network between the nodes slower, and looks at what the schedule reports.
//
//	make trend
//
// docs/regressions.md has what it found.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"perfrun.dev/perfrun/test/document"
	"perfrun.dev/perfrun/test/machine"
)

type options struct {
	localcluster, markdown, save string
	calm, within                 int
	delay                        time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.localcluster, "localcluster", ".local/bin/localcluster", "the local cluster's program, which delays")
	flag.StringVar(&o.markdown, "markdown", "", "file whose results are replaced, between its two marks; empty: only print them")
	flag.StringVar(&o.save, "save", "", "folder for the schedule and its series as they are in the end; empty: they are not kept")
	flag.IntVar(&o.calm, "calm", 12, "results before anything changes")
	flag.IntVar(&o.within, "within", 5, "results within which a change is to be reported")
	flag.DurationVar(&o.delay, "delay", time.Millisecond, "what the way from node to node is delayed by")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "trend:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) error {
	description := machine.Describe(time.Now(), "")
	s, err := newStory(ctx, o)
	if err != nil {
		return err
	}
	// Whatever happens, the cluster is left as fast as it was.
	defer s.restore(context.WithoutCancel(ctx))
	for _, c := range chapters(o) {
		if err := s.tell(ctx, c); err != nil {
			return err
		}
	}
	text := description + "\n\n" + s.table()
	fmt.Print("\n", text)
	if o.save != "" {
		if err := s.save(ctx, o.save); err != nil {
			return err
		}
	}
	if o.markdown != "" {
		if err := document.Replace(o.markdown, "make trend", text); err != nil {
			return err
		}
	}
	return verdict(s.found)
}
