package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"perfrun.dev/perfrun/hack/cluster/internal/addons"
	"perfrun.dev/perfrun/hack/cluster/internal/files"
	"perfrun.dev/perfrun/hack/cluster/internal/plan"
	"perfrun.dev/perfrun/hack/cluster/internal/progress"
	"perfrun.dev/perfrun/hack/cluster/internal/run"
)

// awaitNodes waits for the kubelets and tells the API server what a node may
// not say of itself.
func (c *Cluster) awaitNodes(ctx context.Context) error {
	return c.Report.Step("waiting for the nodes", func(s *progress.Step) (string, error) {
		var all []object
		err := poll(ctx, 3*time.Minute, 300*time.Millisecond, func() (string, error) {
			for _, n := range c.nodes {
				if err := c.running("kubelet-"+n.Name, "kube-proxy-"+n.Name, "containerd-"+n.Name); err != nil {
					return "", err
				}
			}
			var err error
			if all, err = c.list(ctx, "nodes"); err != nil {
				return err.Error(), nil
			}
			missing := unready(all, len(c.nodes))
			if missing == "" {
				missing = silent(all, c.changed)
			}
			s.Detail("%s", missing)
			return missing, nil
		})
		if err != nil {
			return "", fmt.Errorf("waiting for the nodes: %w", err)
		}
		return "ready: " + progress.Count(len(c.nodes), "node"), c.describeNodes(ctx, all)
	})
}

func (c *Cluster) describeNodes(ctx context.Context, all []object) error {
	for _, o := range all {
		n, err := plan.Find(c.nodes, o.Metadata.Name)
		if err != nil {
			continue // somebody else's idea of a node
		}
		label := "node-role.kubernetes.io/worker"
		if n.ControlPlane {
			label = plan.ControlPlaneLabel
		}
		if _, ok := o.Metadata.Labels[label]; ok && o.Spec.PodCIDR == n.PodCIDR {
			continue
		}
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"labels": map[string]string{label: ""}},
			"spec":     map[string]any{"podCIDR": n.PodCIDR, "podCIDRs": []string{n.PodCIDR}},
		})
		if err != nil {
			return fmt.Errorf("describing node: %w", err)
		}
		if _, err := c.kubectl(ctx, nil, "patch", "node", n.Name, "-p", string(patch)); err != nil {
			return err
		}
	}
	return nil
}

// installAddons waits for CoreDNS only: Dapr's programs end and begin anew,
// after ever longer pauses, when they cannot resolve each other's names.
func (c *Cluster) installAddons(ctx context.Context) error {
	for _, name := range []string{"coredns.yaml", "metrics-server.yaml"} {
		if err := c.apply(ctx, name); err != nil {
			return err
		}
	}
	return c.Report.Step("waiting for CoreDNS", func(s *progress.Step) (string, error) {
		return "CoreDNS is ready", c.await(ctx, s, 3*time.Minute, 1,
			"deployments", "-n", "kube-system", "--field-selector=metadata.name=coredns")
	})
}

const (
	daprNamespace = "dapr-system"
	// daprWorkloads is how many Deployments and StatefulSets the chart makes:
	// operator, sentry, sidecar injector, placement, scheduler.
	daprWorkloads = 5
)

// installDapr lets Helm do it, unless it has done the same before and the
// result is still there.
func (c *Cluster) installDapr(ctx context.Context) error {
	values, err := c.daprValues()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(values)
	stamp, done := c.Config("dapr.installed"), hex.EncodeToString(sum[:])
	if old, err := os.ReadFile(stamp); err == nil && string(old) == done {
		if all, err := c.list(ctx, "deployments,statefulsets", "-n", daprNamespace); err == nil && len(all) >= daprWorkloads {
			return nil
		}
	}
	return c.Report.Step("installing "+c.state.dapr(), func(*progress.Step) (string, error) {
		file := c.Config("dapr-values.yaml")
		if err := files.Write(file, values, 0o600); err != nil {
			return "", err
		}
		chart, err := c.daprChart(ctx)
		if err != nil {
			return "", err
		}
		if err := c.forgetHalfInstalled(ctx); err != nil {
			return "", err
		}
		if err := c.makeSchedulerVolumes(ctx); err != nil {
			return "", err
		}
		if err := c.helm(ctx, "upgrade", "--install", "dapr", chart,
			"--namespace", daprNamespace, "--create-namespace", "--values", file); err != nil {
			return "", err
		}
		return "installed " + c.state.dapr(), files.Write(stamp, []byte(done), 0o644)
	})
}

// makeSchedulerVolumes stands in for a provisioner, which this cluster has not:
// a folder on the control plane's node for each replica of Dapr's scheduler.
func (c *Cluster) makeSchedulerVolumes(ctx context.Context) error {
	p := c.addonParams()
	for _, v := range p.SchedulerVolumes() {
		dir := c.Node(c.first().Name, "lib", "dapr-scheduler", v)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making volume: %w", err)
		}
		if err := os.Chown(dir, nonRootID, nonRootID); err != nil {
			return fmt.Errorf("making volume: %w", err)
		}
	}
	if len(p.SchedulerVolumes()) == 0 {
		return nil
	}
	return c.apply(ctx, "dapr-volumes.yaml")
}

// forgetHalfInstalled removes Helm's note of an installation that never ended,
// because of which it would refuse to begin another. What is installed of it
// stays, and the next installation takes it over.
func (c *Cluster) forgetHalfInstalled(ctx context.Context) error {
	_, err := c.kubectl(ctx, nil, "delete", "secrets", "-n", daprNamespace, "--ignore-not-found",
		"-l", "owner=helm,name=dapr,status in (pending-install,pending-upgrade,pending-rollback)")
	return err
}

func (c *Cluster) daprValues() ([]byte, error) {
	root, _, err := c.pki.Read(daprCA)
	if err != nil {
		return nil, err
	}
	cert, key, err := c.pki.Read(daprIssuer)
	if err != nil {
		return nil, err
	}
	p := c.addonParams()
	p.Root, p.IssuerCert, p.IssuerKey = string(root), string(cert), string(key)
	return addons.Render("dapr-values.yaml", p)
}

// daprChart is the folder of Dapr's Helm chart, which is a part of its module.
func (c *Cluster) daprChart(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", "github.com/dapr/dapr")
	cmd.Dir = filepath.Join(c.Modules, plan.DaprReleases[c.state.Dapr].Module)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := run.Cmd(cmd)
	if err != nil {
		return "", fmt.Errorf("finding Dapr's chart: %w", err)
	}
	chart := filepath.Join(strings.TrimSpace(out), "charts", "dapr")
	if _, err := os.Stat(chart); err != nil {
		return "", fmt.Errorf("finding Dapr's chart: %w; fetch it with: cd %s && go mod download github.com/dapr/dapr", err, cmd.Dir)
	}
	return chart, nil
}

func (c *Cluster) helm(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, c.Bin("helm"), args...)
	cmd.Env = c.clientEnv()
	_, err := run.Cmd(cmd)
	return err
}

// awaitAddons waits for everything that was installed.
func (c *Cluster) awaitAddons(ctx context.Context) error {
	waits := []struct {
		doing, done string
		limit       time.Duration
		least       int
		list        []string
	}{
		{"waiting for metrics-server", "metrics-server is ready", 3 * time.Minute, 1, []string{"deployments", "-n", "kube-system", "--field-selector=metadata.name=metrics-server"}},
		{"waiting for the metrics API", "the metrics API answers", 2 * time.Minute, 1, []string{"apiservices", "--field-selector=metadata.name=v1beta1.metrics.k8s.io"}},
		{"waiting for Dapr (about 1 min)", "Dapr is ready", 6 * time.Minute, daprWorkloads, []string{"deployments,statefulsets", "-n", daprNamespace}},
	}
	for _, w := range waits {
		err := c.Report.Step(w.doing, func(s *progress.Step) (string, error) {
			return w.done, c.await(ctx, s, w.limit, w.least, w.list...)
		})
		if err != nil {
			return fmt.Errorf("%s: %w\nlook closer with: KUBECONFIG=%s %s get pods -A", w.doing, err, c.Kubeconfig(), c.Bin("kubectl"))
		}
	}
	return nil
}
