package cluster

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"perfrun.dev/perfrun/hack/cluster/internal/build"
	"perfrun.dev/perfrun/hack/cluster/internal/files"
	"perfrun.dev/perfrun/hack/cluster/internal/plan"
	"perfrun.dev/perfrun/hack/cluster/internal/preflight"
	"perfrun.dev/perfrun/hack/cluster/internal/proc"
	"perfrun.dev/perfrun/hack/cluster/internal/progress"
	"perfrun.dev/perfrun/hack/cluster/internal/relay"
)

// Options of `up`. Zero values mean: as the cluster is, or the default.
type Options struct {
	Nodes int
	Dapr  string
	// DaprHA: nil means as it is, or without.
	DaprHA          *bool
	IgnoreResources bool
}

const defaultNodes = 3

// Up makes whatever is missing of the cluster, from the programs to Dapr. Each
// stage looks at what is there and does the rest, so that it does not matter
// where an earlier attempt stopped or what has died since.
func (c *Cluster) Up(ctx context.Context, o Options) error {
	want, err := c.decide(o)
	if err != nil {
		return err
	}
	if err := c.prepare(ctx, o, want); err != nil {
		return err
	}
	if err := c.settle(ctx, want); err != nil {
		return err
	}
	stages := []func(context.Context) error{
		c.isolateNodes, c.startControlPlane, c.startRuntimes, c.loadImages,
		c.awaitControlPlane, c.startNodes, c.awaitNodes,
		c.installAddons, c.installDapr, c.awaitAddons,
	}
	for _, stage := range stages {
		if err := stage(ctx); err != nil {
			return err
		}
	}
	c.Report.Say("the cluster is up: Kubernetes %s, %s, %s", plan.Kubernetes, progress.Count(len(c.nodes), "node"), c.state.dapr())
	return nil
}

// decide settles what the cluster is to be; one that exists keeps its shape.
func (c *Cluster) decide(o Options) (State, error) {
	want := c.state
	if !c.Exists() {
		want = State{Nodes: defaultNodes, Dapr: plan.DefaultDapr}
		if o.Nodes != 0 {
			want.Nodes = o.Nodes
		}
	} else if o.Nodes != 0 && o.Nodes != want.Nodes {
		return want, fmt.Errorf("the cluster has %s and cannot change to %d; run `localcluster down` first", progress.Count(want.Nodes, "node"), o.Nodes)
	}
	if o.Dapr != "" {
		if c.Exists() && o.Dapr != want.Dapr {
			// Charts of different versions disagree in what cannot be changed once it is there.
			return want, fmt.Errorf("the cluster has Dapr %s and cannot change to %s; run `localcluster down` first", want.Dapr, o.Dapr)
		}
		want.Dapr = o.Dapr
	}
	if o.DaprHA != nil {
		want.DaprHA = *o.DaprHA
	}
	if _, ok := plan.DaprReleases[want.Dapr]; !ok {
		return want, fmt.Errorf("there is no version %q of Dapr to install; choose with --dapr one of: %s", want.Dapr, strings.Join(plan.DaprVersions(), ", "))
	}
	_, err := plan.Nodes(want.Nodes)
	return want, err
}

// prepare makes sure of the machine and the programs.
func (c *Cluster) prepare(ctx context.Context, o Options, want State) error {
	b := build.Builder{Layout: c.Layout, Report: c.Report}
	groups := build.Cluster(want.Dapr)
	if !o.IgnoreResources {
		if err := preflight.Resources(c.Dir, !b.Built(groups)); err != nil {
			return err
		}
	}
	if err := preflight.Tools(ctx, c.Report, c.Logs("apt.log")); err != nil {
		return err
	}
	return b.Run(ctx, groups)
}

// settle writes down what was decided and all files that follow from it.
func (c *Cluster) settle(ctx context.Context, want State) error {
	if !proc.Load(c.record("relay")).Alive() {
		port, err := relay.FreePort(ctx, want.APIPort)
		if err != nil {
			return err
		}
		want.APIPort = port
	}
	if err := files.WriteJSON(c.State(), want, 0o644); err != nil {
		return err
	}
	if err := c.adopt(want); err != nil {
		return err
	}
	return c.writeFiles()
}

// isolateNodes makes the nodes, and the control groups their processes join.
func (c *Cluster) isolateNodes(ctx context.Context) error {
	for _, g := range c.groups() {
		if err := c.host.Create(g); err != nil {
			return err
		}
	}
	made := 0
	if err := c.iso.Bridge(ctx); err != nil {
		return err
	}
	for _, n := range c.nodes {
		if c.iso.Ready(n.Name) {
			continue
		}
		// What still runs in an earlier incarnation of the node would hold its
		// addresses and pods' files.
		if err := c.killGroup(ctx, c.nodeCgroup(n.Name)); err != nil {
			return err
		}
		if err := c.iso.Node(ctx, n); err != nil {
			return err
		}
		made++
	}
	if made > 0 {
		c.Report.Say("made %s, each with a network of its own", progress.Count(made, "node"))
	}
	return nil
}

func (c *Cluster) groups() []string {
	groups := []string{c.controlCgroup()}
	for _, n := range c.nodes {
		groups = append(groups, c.systemCgroup(n.Name))
	}
	return groups
}

// startControlPlane starts it without waiting for it: meanwhile the nodes'
// runtimes can start too.
func (c *Cluster) startControlPlane(ctx context.Context) error {
	started, err := proc.Ensure(c.etcd())
	if err != nil {
		return err
	}
	if started {
		// An API server that finds no etcd ends after a while.
		err := poll(ctx, 30*time.Second, 100*time.Millisecond, func() (string, error) {
			if err := c.running("etcd"); err != nil {
				return "", fmt.Errorf("%w\nafter a power cut its data may be damaged; then `localcluster down` and `up` make a new cluster", err)
			}
			return proc.Load(c.record("etcd")).Listens(2379)
		})
		if err != nil {
			return fmt.Errorf("waiting for etcd: %w", err)
		}
	}
	_, err = proc.Ensure(c.apiserver())
	return err
}

// running returns an error with the end of its log if a daemon has died.
func (c *Cluster) running(daemons ...string) error {
	for _, d := range daemons {
		if !proc.Load(c.record(d)).Alive() {
			return fmt.Errorf("%s has ended; its last words:\n%s", d, proc.Tail(c.log(d), 8))
		}
	}
	return nil
}

func (c *Cluster) startRuntimes(ctx context.Context) error {
	for _, n := range c.nodes {
		if _, err := proc.Ensure(c.containerd(n)); err != nil {
			return err
		}
	}
	for _, n := range c.nodes {
		if err := c.awaitRuntime(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) awaitRuntime(ctx context.Context, n plan.Node) error {
	err := poll(ctx, time.Minute, 100*time.Millisecond, func() (string, error) {
		if err := c.running("containerd-" + n.Name); err != nil {
			return "", err
		}
		if _, err := c.ctr(ctx, n.Name, "version"); err != nil {
			return err.Error(), nil
		}
		return "", nil
	})
	if err != nil {
		return fmt.Errorf("waiting for containerd on %s: %w", n.Name, err)
	}
	return nil
}

// awaitControlPlane waits for the API server and starts what needs it.
func (c *Cluster) awaitControlPlane(ctx context.Context) error {
	r, err := c.relay()
	if err != nil {
		return err
	}
	if _, err := proc.Ensure(r); err != nil {
		return err
	}
	err = c.awaitAPI(ctx)
	if err != nil {
		return fmt.Errorf("waiting for the API server: %w", err)
	}
	for _, s := range []proc.Spec{c.controllerManager(), c.scheduler()} {
		if _, err := proc.Ensure(s); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) awaitAPI(ctx context.Context) error {
	return c.Report.Step("waiting for the API server", func(*progress.Step) (string, error) {
		return "API server is ready", poll(ctx, 2*time.Minute, 200*time.Millisecond, func() (string, error) {
			if err := c.running("etcd", "kube-apiserver", "relay"); err != nil {
				return "", err
			}
			d := net.Dialer{Timeout: time.Second}
			conn, err := d.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", c.state.APIPort))
			if err != nil {
				return "the relay does not listen yet", nil
			}
			if err := conn.Close(); err != nil {
				return "", err
			}
			if out, err := c.kubectl(ctx, nil, "get", "--raw", "/readyz"); err != nil || out != "ok" {
				return "its log is " + c.log("kube-apiserver"), nil
			}
			return "", nil
		})
	})
}

func (c *Cluster) startNodes(ctx context.Context) error {
	// Kubelets may be reached by the API server from their first moment.
	if err := c.apply(ctx, "cluster.yaml"); err != nil {
		return err
	}
	for _, n := range c.nodes {
		for _, s := range []proc.Spec{c.kubelet(n), c.kubeProxy(n)} {
			started, err := proc.Ensure(s)
			if err != nil {
				return err
			}
			if started {
				c.changed = time.Now()
			}
		}
	}
	return nil
}
