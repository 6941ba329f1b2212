package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"perfrun.dev/perfrun/hack/cluster/internal/addons"
	"perfrun.dev/perfrun/hack/cluster/internal/progress"
	"perfrun.dev/perfrun/hack/cluster/internal/run"
)

// kubectl talks to the API server as administrator, through the relay.
func (c *Cluster) kubectl(ctx context.Context, stdin []byte, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	args = append([]string{"--kubeconfig=" + c.Kubeconfig(), "--cache-dir=" + c.Cluster("kubectl-cache")}, args...)
	cmd := exec.CommandContext(ctx, c.Bin("kubectl"), args...)
	cmd.Env = c.clientEnv()
	if stdin != nil {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	return run.Cmd(cmd)
}

// clientEnv keeps kubectl and Helm off the user's own files, and off a proxy
// that would not reach this machine's loopback.
func (c *Cluster) clientEnv() []string {
	helm := c.Cluster("helm")
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + helm, "NO_PROXY=*",
		"KUBECONFIG=" + c.Kubeconfig(),
		"HELM_CACHE_HOME=" + helm, "HELM_CONFIG_HOME=" + helm, "HELM_DATA_HOME=" + helm,
	}
}

// apply applies one of the manifests.
func (c *Cluster) apply(ctx context.Context, manifest string) error {
	data, err := addons.Render(manifest, c.addonParams())
	if err != nil {
		return err
	}
	// A webhook or an aggregated API that is not back yet may refuse for a
	// moment.
	return poll(ctx, 30*time.Second, time.Second, func() (string, error) {
		_, err := c.kubectl(ctx, data, "apply", "--server-side", "--force-conflicts",
			"--field-manager=localcluster", "-f", "-")
		if err != nil && ctx.Err() == nil {
			return fmt.Sprintf("applying %s: %v", manifest, err), nil
		}
		return "", err
	})
}

func (c *Cluster) addonParams() addons.Params {
	return addons.Params{DaprVersion: c.state.Dapr, DaprHA: c.state.DaprHA, Tainted: c.first().Tainted}
}

// object is the little that is read of nodes and of workloads.
type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name       string            `json:"name"`
		Labels     map[string]string `json:"labels"`
		Generation int64             `json:"generation"`
	} `json:"metadata"`
	Spec struct {
		Replicas *int   `json:"replicas"`
		PodCIDR  string `json:"podCIDR"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
		ReadyReplicas      int   `json:"readyReplicas"`
		UpdatedReplicas    int   `json:"updatedReplicas"`
		Conditions         []struct {
			Type               string    `json:"type"`
			Status             string    `json:"status"`
			Message            string    `json:"message"`
			LastHeartbeatTime  time.Time `json:"lastHeartbeatTime"`
			LastTransitionTime time.Time `json:"lastTransitionTime"`
		} `json:"conditions"`
	} `json:"status"`
}

// ready tells whether a workload has all its pods as specified and ready, or a
// node or an API service what its condition says.
func (o object) ready() bool {
	switch o.Kind {
	case "Deployment", "StatefulSet":
		want := 1
		if o.Spec.Replicas != nil {
			want = *o.Spec.Replicas
		}
		return o.Status.ObservedGeneration >= o.Metadata.Generation &&
			o.Status.UpdatedReplicas == want && o.Status.ReadyReplicas == want
	case "APIService":
		return o.condition("Available") == "True"
	default:
		return o.condition("Ready") == "True"
	}
}

func (o object) condition(kind string) string {
	for _, c := range o.Status.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return ""
}

func (c *Cluster) list(ctx context.Context, args ...string) ([]object, error) {
	out, err := c.kubectl(ctx, nil, append([]string{"get", "-o", "json"}, args...)...)
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []object `json:"items"`
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, fmt.Errorf("reading what kubectl printed: %w", err)
	}
	return list.Items, nil
}

// unready sums up a list for a person: what is not ready, or "" if all is.
func unready(all []object, least int) string {
	var names []string
	for _, o := range all {
		if !o.ready() {
			names = append(names, o.Metadata.Name)
		}
	}
	if len(all) < least {
		return fmt.Sprintf("%d of %d are known", len(all), least)
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d ready, not %s", len(all)-len(names), len(all), strings.Join(names, ", "))
}

// settled is how long after its start a kubelet has told the API server about
// its pods, which until then seem to be as they were before it stopped.
const settled = 3 * time.Second

// await waits for all of a list, of which there must be at least some number,
// to be ready.
func (c *Cluster) await(ctx context.Context, s *progress.Step, limit time.Duration, least int, args ...string) error {
	return poll(ctx, limit, 500*time.Millisecond, func() (string, error) {
		if err := c.running("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "relay"); err != nil {
			return "", err
		}
		all, err := c.list(ctx, args...)
		if err != nil && ctx.Err() == nil {
			return err.Error(), nil // a busy API server may answer the next time
		}
		if err != nil {
			return "", err
		}
		missing := unready(all, least)
		if missing == "" && time.Since(c.changed) < settled {
			missing = "waiting for kubelets to say how their pods are"
		}
		s.Detail("%s", missing)
		return missing, nil
	})
}
