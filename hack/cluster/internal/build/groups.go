package build

import (
	"fmt"
	"path"
	"strings"

	"perfrun.dev/perfrun/hack/cluster/internal/plan"
)

// Program is one executable.
type Program struct {
	// Name is its file name in Bin.
	Name    string
	Package string
}

// Group is built by one call of go build.
type Group struct {
	Name     string
	Title    string
	Estimate string
	// Module is the folder of the wrapper module.
	Module string
	Tags   string
	// Vars are set with the linker's -X, so that programs know their version.
	Vars     map[string]string
	Programs []Program
}

const (
	k8s        = "k8s.io/kubernetes/cmd/"
	containerd = "github.com/containerd/containerd/v2/"
	dapr       = "github.com/dapr/dapr/"
)

// Envtest is what controller-runtime's envtest needs.
func Envtest() []Group {
	g := kubernetes("kube-apiserver", "kubectl")
	g.Title += ", API server and kubectl"
	g.Estimate = "about 4 min"
	return []Group{g, etcd()}
}

// Cluster is everything a cluster needs, with the given version of Dapr.
func Cluster(daprVersion string) []Group {
	all := kubernetes("kube-apiserver", "kube-controller-manager", "kube-scheduler",
		"kubelet", "kube-proxy", "kubectl")
	all.Estimate = "about 6 min"
	return []Group{
		all,
		etcd(),
		{
			Name: "coredns", Title: "CoreDNS " + plan.CoreDNS, Module: "kubernetes",
			Programs: []Program{{"coredns", "./coredns"}},
		},
		{
			Name: "metrics-server", Title: "metrics-server " + plan.MetricsServer, Module: "kubernetes",
			Vars:     componentVersion(plan.MetricsServer),
			Programs: []Program{{"metrics-server", "sigs.k8s.io/metrics-server/cmd/metrics-server"}},
		},
		Helm(),
		{
			Name: "pause", Title: "the pause container", Module: "kubernetes",
			Programs: []Program{{"pause", "./pause"}},
		},
		{
			Name: "containerd", Title: "containerd " + plan.Containerd, Estimate: "about 1 min", Module: "containerd",
			// Drivers for filesystems that are not used; btrfs would need cgo.
			Tags: "no_btrfs,no_zfs",
			Vars: map[string]string{containerd + "version.Version": plan.Containerd},
			Programs: []Program{
				{"containerd", containerd + "cmd/containerd"},
				{"containerd-shim-runc-v2", containerd + "cmd/containerd-shim-runc-v2"},
				{"ctr", containerd + "cmd/ctr"},
			},
		},
		Dapr(daprVersion),
	}
}

// Helm installs Dapr, and checks the operator's own chart.
func Helm() Group {
	return Group{
		Name: "helm", Title: "Helm " + plan.Helm, Module: "kubernetes",
		Vars:     map[string]string{"helm.sh/helm/v3/internal/version.version": plan.Helm},
		Programs: []Program{{"helm", "helm.sh/helm/v3/cmd/helm"}},
	}
}

// DaprPrograms are those of Dapr's programs that become images.
var DaprPrograms = []string{"daprd", "injector", "operator", "placement", "scheduler", "sentry"}

// DaprBinary is the file name of one of Dapr's programs. It holds the version,
// since more than one may be built.
func DaprBinary(version, program string) string { return "dapr-" + version + "-" + program }

// Dapr is one version of Dapr's programs.
func Dapr(version string) Group {
	g := Group{
		Name: "dapr-" + version, Title: "Dapr " + version, Estimate: "about 4 min",
		Module: plan.DaprReleases[version].Module,
		// Without a choice of components daprd panics at its start.
		Tags: "stablecomponents",
		Vars: map[string]string{
			dapr + "pkg/buildinfo.version":           version,
			"github.com/dapr/kit/logger.DaprVersion": version,
		},
	}
	for _, p := range DaprPrograms {
		g.Programs = append(g.Programs, Program{DaprBinary(version, p), dapr + "cmd/" + p})
	}
	return g
}

func kubernetes(names ...string) Group {
	g := Group{
		Name: "kubernetes", Title: "Kubernetes " + plan.Kubernetes, Module: "kubernetes",
		Vars: componentVersion(plan.Kubernetes),
	}
	for _, n := range names {
		g.Programs = append(g.Programs, Program{n, k8s + n})
	}
	return g
}

func etcd() Group {
	return Group{
		Name: "etcd", Title: "etcd " + plan.Etcd, Module: "kubernetes",
		Programs: []Program{{"etcd", "go.etcd.io/etcd/server/v3"}},
	}
}

// componentVersion sets the version where everything built on component-base
// looks for it.
func componentVersion(version string) map[string]string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	vars := map[string]string{}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		vars[pkg+".gitVersion"] = version
		vars[pkg+".gitMajor"] = major
		vars[pkg+".gitMinor"] = minor
	}
	return vars
}

// output is the name go build gives the program: the last part of its path
// that is not a major version.
func (p Program) output() string {
	base := path.Base(p.Package)
	var n int
	if _, err := fmt.Sscanf(base, "v%d", &n); err == nil {
		return path.Base(path.Dir(p.Package))
	}
	return base
}
