// Package layout says where everything lies. Nothing the program makes is
// outside the folder given by --dir, so that deleting it deletes everything.
package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Layout is the folder of one cluster and the checkout it is built from.
type Layout struct {
	// Dir is absolute and free of symbolic links, since it names the cluster.
	Dir string
	// Modules is the checkout's hack/cluster/modules.
	Modules string
}

// shadowed are the folders of which every node has its own, so that whatever
// lies below them on the machine cannot be seen from inside a node.
var shadowed = []string{"/run", "/var/run", "/var/lib", "/var/log"}

// New resolves dir (default: .local in the checkout) and the checkout around
// the working directory or, failing that, around the program.
func New(dir string) (Layout, error) {
	checkout, err := findCheckout()
	if err != nil {
		return Layout{}, err
	}
	if dir == "" {
		dir = filepath.Join(checkout, ".local")
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return Layout{}, fmt.Errorf("resolving --dir: %w", err)
	}
	dir = resolve(dir)
	for _, s := range shadowed {
		if dir == s || strings.HasPrefix(dir, s+"/") {
			return Layout{}, fmt.Errorf("the cluster cannot live in %s, because each node has a %s of its own that hides it; choose another folder with --dir", dir, s)
		}
	}
	return Layout{Dir: dir, Modules: filepath.Join(checkout, "hack/cluster/modules")}, nil
}

// resolve follows symbolic links in the part of path that exists already.
func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolve(parent), filepath.Base(path))
}

func findCheckout() (string, error) {
	var starts []string
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	for _, start := range starts {
		for d := start; ; d = filepath.Dir(d) {
			if _, err := os.Stat(filepath.Join(d, "hack/cluster/modules/kubernetes/go.mod")); err == nil {
				return d, nil
			}
			if d == filepath.Dir(d) {
				break
			}
		}
	}
	return "", fmt.Errorf("no checkout of perfrun found around the working directory or the program; run localcluster from inside the checkout")
}

// ID tells clusters of different folders apart where a name is shared by the
// whole machine, which is in the cgroup tree only.
func (l Layout) ID() string {
	sum := sha256.Sum256([]byte(l.Dir))
	return hex.EncodeToString(sum[:4])
}

// Cgroup is the name of the cluster's own cgroup, a child of the root.
func (l Layout) Cgroup() string { return "perfrun-" + l.ID() }

// Bin holds the programs built; with kube-apiserver, etcd and kubectl in it,
// it serves as KUBEBUILDER_ASSETS as well.
func (l Layout) Bin(name ...string) string { return l.under("bin", name) }

// Logs is kept by down, so that a failure can still be looked into.
func (l Layout) Logs(name ...string) string { return l.under("logs", name) }

// Lock is held by whichever command is changing the cluster. It is outside
// Cluster because down removes that.
func (l Layout) Lock() string { return filepath.Join(l.Dir, "localcluster.lock") }

// Cluster holds all that down removes.
func (l Layout) Cluster(name ...string) string { return l.under("cluster", name) }

// State is the small file with what cannot be derived again.
func (l Layout) State() string { return l.Cluster("state.json") }

// Kubeconfig is the administrator's, for use from the machine itself.
func (l Layout) Kubeconfig() string { return l.Cluster("kubeconfig") }

// Namespaces is a mount of its own in which namespaces are pinned.
func (l Layout) Namespaces(name ...string) string {
	return l.under("cluster/namespaces", name)
}

// PKI holds keys and certificates.
func (l Layout) PKI(name ...string) string { return l.under("cluster/pki", name) }

// Config holds rendered configuration files.
func (l Layout) Config(name ...string) string { return l.under("cluster/config", name) }

// Images holds archives on their way into a node, and the digests they had.
func (l Layout) Images(name ...string) string { return l.under("cluster/images", name) }

// Procs holds one record per process started.
func (l Layout) Procs(name ...string) string { return l.under("cluster/processes", name) }

// Node holds what a node sees as its /var/lib and /var/log.
func (l Layout) Node(name ...string) string { return l.under("cluster/nodes", name) }

func (l Layout) under(dir string, name []string) string {
	return filepath.Join(append([]string{l.Dir, dir}, name...)...)
}
