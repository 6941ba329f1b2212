package cluster

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"perfrun.dev/perfrun/hack/cluster/internal/plan"
	"perfrun.dev/perfrun/hack/cluster/internal/proc"
	"perfrun.dev/perfrun/hack/cluster/internal/progress"
)

// daemons are the names of all processes the cluster should have.
func (c *Cluster) daemons() []string {
	all := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "relay"}
	for _, n := range c.nodes {
		all = append(all, "containerd-"+n.Name, "kubelet-"+n.Name, "kube-proxy-"+n.Name)
	}
	return all
}

// Status prints what there is, and returns whether the cluster is whole.
func (c *Cluster) Status(ctx context.Context, w io.Writer) (bool, error) {
	if !c.Exists() {
		leftovers := c.host.Exists(c.Cgroup())
		fmt.Fprintf(w, "no cluster in %s\n", c.Dir)
		if leftovers {
			fmt.Fprintln(w, "but there are remains of one; `localcluster down` removes them")
		}
		return false, nil
	}
	fmt.Fprintf(w, "cluster     %s (%s, Kubernetes %s, %s)\nkubeconfig  %s\nlogs        %s\n\n",
		c.Dir, progress.Count(len(c.nodes), "node"), plan.Kubernetes, c.state.dapr(), c.Kubeconfig(), c.Logs())
	whole := true
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PROCESS\tPID\tSTATE")
	for _, d := range c.daemons() {
		r := proc.Load(c.record(d))
		if r.Alive() {
			fmt.Fprintf(t, "%s\t%d\trunning\n", d, r.PID)
			continue
		}
		whole = false
		fmt.Fprintf(t, "%s\t-\tnot running, see %s\n", d, c.log(d))
	}
	if err := t.Flush(); err != nil {
		return false, fmt.Errorf("printing status: %w", err)
	}
	if c.NeedRunning() != nil {
		fmt.Fprintln(w, "\nthe cluster does not run; `localcluster up` starts it again")
		return false, nil
	}
	return c.workloads(ctx, w, whole)
}

func (c *Cluster) workloads(ctx context.Context, w io.Writer, whole bool) (bool, error) {
	for _, q := range []struct {
		what string
		args []string
	}{
		{"nodes", []string{"nodes"}},
		{"kube-system", []string{"deployments", "-n", "kube-system"}},
		{"Dapr", []string{"deployments,statefulsets", "-n", daprNamespace}},
	} {
		all, err := c.list(ctx, q.args...)
		if err != nil {
			return false, err
		}
		missing := unready(all, 1)
		if missing != "" {
			whole = false
		} else {
			missing = fmt.Sprintf("all %d ready", len(all))
		}
		fmt.Fprintf(w, "%s%s%s\n", q.what, strings.Repeat(" ", 12-len(q.what)), missing)
	}
	return whole, nil
}
