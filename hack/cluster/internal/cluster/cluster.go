// Package cluster boots, inspects and removes a cluster.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"perfrun.dev/perfrun/hack/cluster/internal/cgroup"
	"perfrun.dev/perfrun/hack/cluster/internal/files"
	"perfrun.dev/perfrun/hack/cluster/internal/isolate"
	"perfrun.dev/perfrun/hack/cluster/internal/layout"
	"perfrun.dev/perfrun/hack/cluster/internal/pki"
	"perfrun.dev/perfrun/hack/cluster/internal/plan"
	"perfrun.dev/perfrun/hack/cluster/internal/progress"
)

// Cluster is one cluster, running or not.
type Cluster struct {
	layout.Layout
	Report *progress.Reporter

	iso   isolate.Isolation
	host  cgroup.Host
	pki   pki.Store
	state State
	nodes []plan.Node
	// changed is when this command last started a node's process, or zero:
	// what the API server remembers from before says nothing.
	changed time.Time
}

// State is what cannot be derived again.
type State struct {
	Nodes int    `json:"nodes"`
	Dapr  string `json:"dapr"`
	// APIPort is the loopback port of the machine at which the relay listens.
	APIPort int `json:"apiPort"`
}

// ErrNone is returned where a cluster is needed and there is none.
var ErrNone = errors.New("there is no cluster here; make one with `localcluster up`")

// New prepares for work on the cluster in l, whether it exists or not. What is
// known of it is read by Load.
func New(l layout.Layout, r *progress.Reporter) (*Cluster, error) {
	host, err := cgroup.Detect()
	if err != nil {
		return nil, err
	}
	return &Cluster{
		Layout: l, Report: r, host: host,
		iso: isolate.Isolation{Layout: l, Overlay: snapshotter(l.Dir) == overlayfs},
		pki: pki.Store{Dir: l.PKI(), Now: time.Now},
	}, nil
}

// Load reads the state, if there is one.
func (c *Cluster) Load() error {
	var s State
	err := files.ReadJSON(c.State(), &s)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the cluster's state: %w; `localcluster down` clears it", err)
	}
	return c.adopt(s)
}

func (c *Cluster) adopt(s State) error {
	nodes, err := plan.Nodes(s.Nodes)
	if err != nil {
		return err
	}
	c.state, c.nodes = s, nodes
	return nil
}

// Exists tells whether `up` has got as far as deciding what to make.
func (c *Cluster) Exists() bool { return c.state.Nodes > 0 }

// Lock waits until no other command changes this cluster. The kernel lifts the
// lock when the process ends, however it ends.
func (c *Cluster) Lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("making %s: %w", c.Dir, err)
	}
	f, err := os.OpenFile(c.Layout.Lock(), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening lock: %w", err)
	}
	for said := false; ; {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("locking: %w", err), f.Close())
		}
		if !said {
			c.Report.Say("another localcluster is at work in %s; waiting for it to finish", c.Dir)
			said = true
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return func() { _ = f.Close() }, nil // closing is what unlocks
}

// first is the node that runs the control plane.
func (c *Cluster) first() plan.Node { return c.nodes[0] }

// poll calls try every interval until it is done or fails, or until time is
// up, when the error says what try was still missing.
func poll(ctx context.Context, limit, every time.Duration, try func() (missing string, err error)) error {
	deadline := time.Now().Add(limit)
	for {
		missing, err := try()
		if err != nil || missing == "" {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("giving up after %s: %s", progress.Duration(limit), missing)
		}
		if err := sleep(ctx, every); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return errors.New("interrupted; the same command goes on from here")
	case <-time.After(d):
		return nil
	}
}
