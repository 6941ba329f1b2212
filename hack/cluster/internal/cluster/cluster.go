// Package cluster boots, inspects and removes a cluster.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

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
	// DaprHA: Dapr's control plane has three replicas of each part.
	DaprHA bool `json:"daprHA,omitempty"`
	// APIPort is the loopback port of the machine at which the relay listens.
	APIPort int `json:"apiPort"`
}

// dapr names what is installed, for a person.
func (s State) dapr() string {
	if s.DaprHA {
		return "Dapr " + s.Dapr + " with HA"
	}
	return "Dapr " + s.Dapr
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
