package cluster

import (
	"context"
	"fmt"
	"os"
	"time"

	"perfrun.dev/perfrun/hack/cluster/internal/delay"
	"perfrun.dev/perfrun/hack/cluster/internal/files"
	"perfrun.dev/perfrun/hack/cluster/internal/plan"
	"perfrun.dev/perfrun/hack/cluster/internal/preflight"
	"perfrun.dev/perfrun/hack/cluster/internal/proc"
	"perfrun.dev/perfrun/hack/cluster/internal/progress"
)

// MaxDelay is the longest delay of a node: with more, kubelets and their leases
// are what suffers first.
const MaxDelay = 100 * time.Millisecond

// DelayNode has what a node sends to others leave later, by 0 as ever. With a
// port it is only TCP from or to that port. It measures what has come of it.
func (c *Cluster) DelayNode(ctx context.Context, name string, by time.Duration, port int) error {
	n, err := c.runningNode(name)
	if err != nil {
		return err
	}
	if len(c.nodes) < 2 {
		return fmt.Errorf("%s has no other node to send to", name)
	}
	return c.Report.Step("changing the way from "+name, func(*progress.Step) (string, error) {
		before, err := c.roundTrip(n, port)
		if err != nil {
			return "", err
		}
		if err := c.delay(ctx, n, by, port); err != nil {
			return "", err
		}
		after, err := c.roundTrip(n, port)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("what %s sends%s is delayed by %s: there and back took %s and takes %s", name, through(port), by, rounded(before), rounded(after)), nil
	})
}

func (c *Cluster) delay(ctx context.Context, n plan.Node, by time.Duration, port int) error {
	// In this order nothing is lost: what the process holds, it releases before it is ended.
	if err := c.iso.Release(ctx, n.Name); err != nil {
		return err
	}
	time.Sleep(MaxDelay)
	if err := proc.Stop(c.record(delayer(n)), patience); err != nil || by == 0 {
		return err
	}
	program, err := c.copyOfThis(delayer(n))
	if err != nil {
		return err
	}
	_, err = proc.Ensure(proc.Spec{
		Name: delayer(n), Path: program, Args: []string{delay.Command, by.String()},
		Cgroup: c.systemCgroup(n.Name), Net: c.iso.Net(n.Name), Mount: c.iso.Mount(n.Name),
		Log: c.log(delayer(n)), Record: c.record(delayer(n)), Env: []string{"PATH=" + preflight.Path()},
	})
	if err != nil {
		return err
	}
	return c.iso.Hold(ctx, n.Name, port)
}

func delayer(n plan.Node) string { return "delay-" + n.Name }

// roundTrip from a node to another, of what is delayed.
func (c *Cluster) roundTrip(n plan.Node, port int) (time.Duration, error) {
	other := c.nodes[0]
	if other.Name == n.Name {
		other = c.nodes[1]
	}
	if port == 0 {
		port = 10250 // the kubelet
	}
	return delay.RoundTrip(c.iso.Net(n.Name), other.IP, port)
}

func through(port int) string {
	if port == 0 {
		return ""
	}
	return fmt.Sprintf(" from or to TCP port %d", port)
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Microsecond) }

// copyOfThis program, so that building it again ends nothing that runs.
func (c *Cluster) copyOfThis(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		return "", fmt.Errorf("copying this program: %w", err)
	}
	program := c.Cluster(name)
	return program, files.Write(program, data, 0o755)
}
