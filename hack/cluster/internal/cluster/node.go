package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"perfrun.dev/perfrun/hack/cluster/internal/plan"
	"perfrun.dev/perfrun/hack/cluster/internal/proc"
	"perfrun.dev/perfrun/hack/cluster/internal/progress"
)

// StopNode ends the node's kubelet and containerd. Its pods run on, as they do
// on any node whose kubelet has stopped, since each container has a parent of
// its own.
func (c *Cluster) StopNode(ctx context.Context, name string) error {
	n, err := c.runningNode(name)
	if err != nil {
		return err
	}
	return c.Report.Step("stopping "+name, func(*progress.Step) (string, error) {
		return name + " is stopped; its pods run on", c.halt(ctx, n)
	})
}

// StartNode starts them again and waits until the node is ready.
func (c *Cluster) StartNode(ctx context.Context, name string) error {
	n, err := c.runningNode(name)
	if err != nil {
		return err
	}
	return c.Report.Step("starting "+name, func(*progress.Step) (string, error) {
		return name + " is ready", c.revive(ctx, n)
	})
}

// RestartNode does both.
func (c *Cluster) RestartNode(ctx context.Context, name string) error {
	n, err := c.runningNode(name)
	if err != nil {
		return err
	}
	return c.Report.Step("restarting "+name, func(*progress.Step) (string, error) {
		if err := c.halt(ctx, n); err != nil {
			return "", err
		}
		return name + " was restarted and is ready", c.revive(ctx, n)
	})
}

// runningNode finds a node of a cluster whose control plane runs.
func (c *Cluster) runningNode(name string) (plan.Node, error) {
	if err := c.NeedRunning(); err != nil {
		return plan.Node{}, err
	}
	n, err := plan.Find(c.nodes, name)
	if err != nil {
		return n, err
	}
	if !c.iso.Ready(name) {
		return n, fmt.Errorf("%s has lost its namespaces; `localcluster up` makes them again", name)
	}
	return n, nil
}

// PauseAPI stops the API server's process where it is, or lets it go on.
func (c *Cluster) PauseAPI(pause bool) error {
	if err := c.NeedRunning(); err != nil {
		return err
	}
	return proc.Pause(c.record("kube-apiserver"), pause)
}

// NeedRunning returns an error unless the control plane runs.
func (c *Cluster) NeedRunning() error {
	if !c.Exists() {
		return ErrNone
	}
	if err := c.running("etcd", "kube-apiserver", "relay"); err != nil {
		return errors.Join(errors.New("the cluster does not run; `localcluster up` starts it again"), err)
	}
	return nil
}

func (c *Cluster) halt(ctx context.Context, n plan.Node) error {
	for _, d := range []string{"kubelet-" + n.Name, "containerd-" + n.Name} {
		if err := proc.Stop(c.record(d), patience); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (c *Cluster) revive(ctx context.Context, n plan.Node) error {
	begun := time.Now()
	if _, err := proc.Ensure(c.containerd(n)); err != nil {
		return err
	}
	if err := c.awaitRuntime(ctx, n); err != nil {
		return err
	}
	for _, s := range []proc.Spec{c.kubelet(n), c.kubeProxy(n)} {
		if _, err := proc.Ensure(s); err != nil {
			return err
		}
	}
	return poll(ctx, 2*time.Minute, 300*time.Millisecond, func() (string, error) {
		if err := c.running("kubelet-"+n.Name, "containerd-"+n.Name); err != nil {
			return "", err
		}
		all, err := c.list(ctx, "nodes", "--field-selector=metadata.name="+n.Name)
		if err != nil {
			return err.Error(), nil
		}
		if missing := unready(all, 1); missing != "" {
			return missing, nil
		}
		return silent(all, begun), nil
	})
}

// silent names a node that has not reported since. The API server believes a
// node ready for a while after it has stopped: only word from the new kubelet
// counts.
func silent(nodes []object, since time.Time) string {
	since = since.Truncate(time.Second) // heartbeats have whole seconds
	for _, o := range nodes {
		if !o.heardSince(since) {
			return o.Metadata.Name + " has not reported since it was started"
		}
	}
	return ""
}

func (o object) heardSince(t time.Time) bool {
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" {
			return !c.LastHeartbeatTime.Before(t)
		}
	}
	return false
}
