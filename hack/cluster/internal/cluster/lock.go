package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"perfrun.dev/perfrun/hack/cluster/internal/layout"
	"perfrun.dev/perfrun/hack/cluster/internal/progress"
)

// Lock waits until no other command changes what is in l. The kernel lifts the
// lock when the process ends, however it ends.
func Lock(ctx context.Context, l layout.Layout, r *progress.Reporter) (unlock func(), err error) {
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("making %s: %w", l.Dir, err)
	}
	f, err := os.OpenFile(l.Lock(), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening lock: %w", err)
	}
	for said := false; ; {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // closing is what unlocks
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("locking: %w", err), f.Close())
		}
		if !said {
			r.Say("another localcluster is at work in %s; waiting for it to finish", l.Dir)
			said = true
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
}
