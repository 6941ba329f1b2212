package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"perfrun.dev/perfrun/hack/cluster/internal/build"
	"perfrun.dev/perfrun/hack/cluster/internal/cluster"
	"perfrun.dev/perfrun/hack/cluster/internal/image"
	"perfrun.dev/perfrun/hack/cluster/internal/plan"
	"perfrun.dev/perfrun/hack/cluster/internal/preflight"
	"perfrun.dev/perfrun/hack/cluster/internal/progress"
)

func commands() []command {
	return []command{
		{"up", "", "make the cluster, or whatever is missing of it", longUp, setupUp},
		{"down", "", "remove it, from any state", longDown, setupDown},
		{"status", "", "show what runs and what does not", longStatus, setupStatus},
		{"load", "NAME:TAG --binary FILE | --root FOLDER", "make an image of a program or a folder and load it", longLoad, setupLoad},
		{"kubeconfig", "", "print the path of the kubeconfig", longKubeconfig, setupKubeconfig},
		{"node", "stop|start|restart NODE", "stop or start a node's kubelet and containerd", longNode, setupNode},
		{"api", "pause|resume", "have the API server answer nobody for a while", longAPI, setupAPI},
		{"delay", "NODE DURATION", "delay what a node sends to the others", longDelay, setupDelay},
		{"build", "", "only build the programs", longBuild, setupBuild},
	}
}

const longUp = `
Builds what is missing, boots the nodes and installs CoreDNS, metrics-server
and Dapr. On a cluster that runs it takes seconds; on one that has stopped half
way, or lost processes, or seen a reboot, it does what is left to do.
`

func setupUp(fs *flag.FlagSet) runner {
	var o cluster.Options
	fs.IntVar(&o.Nodes, "nodes", 0, fmt.Sprintf("`number` of nodes, 1 to %d (default 3, or as the cluster is)", plan.MaxNodes))
	fs.StringVar(&o.Dapr, "dapr", "", fmt.Sprintf("`version` of Dapr, one of: %s (default %s, or as the cluster is)", strings.Join(plan.DaprVersions(), ", "), plan.DefaultDapr))
	fs.BoolFunc("dapr-ha", "three replicas of each part of Dapr's control plane, or with =false one (default one, or as the cluster is)", func(text string) error {
		ha, err := strconv.ParseBool(text)
		o.DaprHA = &ha
		return err
	})
	fs.BoolVar(&o.IgnoreResources, "ignore-resources", false, "go on with less disk or memory than is wise")
	return func(ctx context.Context, e env, args []string) error {
		return change(ctx, e, args, true, func(c *cluster.Cluster) error {
			if err := preflight.Toolchain(); err != nil {
				return err
			}
			if err := c.Up(ctx, o); err != nil {
				return err
			}
			fmt.Fprintf(e.out, "\nTo use it:\n  export KUBECONFIG=%s PATH=%s:$PATH\n  kubectl get nodes\n", c.Kubeconfig(), c.Bin())
			return nil
		})
	}
}

const longDown = `
Ends every process of the cluster and removes its namespaces, mounts, control
groups and files. It may be given at any time and any number of times: also
after a crash, after a reboot, or half way through an up. The programs built
and the logs stay, so that the next up is quick, unless --all is given.
`

func setupDown(fs *flag.FlagSet) runner {
	all := fs.Bool("all", false, "remove the programs built and the logs too")
	return func(ctx context.Context, e env, args []string) error {
		return change(ctx, e, args, false, func(c *cluster.Cluster) error {
			return cluster.Down(ctx, c, *all)
		})
	}
}

const longStatus = `
Shows processes, nodes and workloads, and where the log files are. Ends with 1
if anything is missing or not ready.
`

func setupStatus(*flag.FlagSet) runner {
	return func(ctx context.Context, e env, args []string) error {
		c, err := open(e, args)
		if err != nil {
			return err
		}
		whole, err := c.Status(ctx, e.out)
		if err == nil && !whole {
			return errQuiet
		}
		return err
	}
}

const longLoad = `
Makes an image that holds one static program and nothing else, or what is in a
folder, and imports it into every node that does not have that very image. The
digest is printed; the same content always has the same. Pods use the image
under NAME:TAG, with imagePullPolicy IfNotPresent or Never.
`

func setupLoad(fs *flag.FlagSet) runner {
	binary := fs.String("binary", "", "`file` of the program, built with CGO_ENABLED=0")
	root := fs.String("root", "", "`folder` with all that the image has, libraries and dynamic linker too")
	user := fs.String("user", "65532:65532", "numeric `UID:GID` it runs as")
	entry := fs.String("entrypoint", "/perfrun", "where the program is in the image; after a comma each, `arguments` it always gets")
	return func(ctx context.Context, e env, args []string) error {
		if len(args) != 1 || (*binary == "") == (*root == "") {
			return usagef("load needs an image name, and either --binary or --root")
		}
		ref, err := image.Normalize(args[0])
		if err != nil {
			return usageError{err}
		}
		if err := image.CheckUser(*user); err != nil {
			return usageError{err}
		}
		entrypoint := strings.Split(*entry, ",")
		if !filepath.IsAbs(entrypoint[0]) {
			return usagef("--entrypoint must begin with a path from the root, as /perfrun")
		}
		spec := image.Spec{Reference: ref, Entrypoint: entrypoint, User: *user}
		if *root != "" {
			spec.Root, err = filepath.Abs(*root)
		} else {
			spec.Binary, err = filepath.Abs(*binary)
		}
		if err != nil {
			return fmt.Errorf("resolving path: %w", err)
		}
		return change(ctx, e, nil, true, func(c *cluster.Cluster) error {
			digest, err := c.LoadImage(ctx, spec)
			if err == nil {
				fmt.Fprintln(e.out, digest)
			}
			return err
		})
	}
}

const longKubeconfig = `
Prints the path, for: export KUBECONFIG=$(localcluster kubeconfig)
`

func setupKubeconfig(*flag.FlagSet) runner {
	return func(_ context.Context, e env, args []string) error {
		if len(args) > 0 {
			return usagef("kubeconfig takes no arguments")
		}
		if _, err := os.Stat(e.layout.Kubeconfig()); err != nil {
			return cluster.ErrNone
		}
		fmt.Fprintln(e.out, e.layout.Kubeconfig())
		return nil
	}
}

const longNode = `
Stops or starts kubelet and containerd of a node (n1, n2, ...). Pods run on
meanwhile. Start and restart wait until the node is ready again.
`

func setupNode(*flag.FlagSet) runner {
	return func(ctx context.Context, e env, args []string) error {
		if len(args) != 2 {
			return usagef("node needs stop, start or restart, and the name of a node")
		}
		return change(ctx, e, nil, true, func(c *cluster.Cluster) error {
			switch args[0] {
			case "stop":
				return c.StopNode(ctx, args[1])
			case "start":
				return c.StartNode(ctx, args[1])
			case "restart":
				return c.RestartNode(ctx, args[1])
			}
			return usagef("a node can stop, start or restart, not %q", args[0])
		})
	}
}

const longAPI = `
Stops the API server's process where it is, so that it answers nobody and drops
no connection, as one that hangs or cannot be reached does; resume lets it go on.
`

func setupAPI(*flag.FlagSet) runner {
	return func(ctx context.Context, e env, args []string) error {
		if len(args) != 1 || args[0] != "pause" && args[0] != "resume" {
			return usagef("api needs pause or resume")
		}
		return change(ctx, e, nil, true, func(c *cluster.Cluster) error { return c.PauseAPI(args[0] == "pause") })
	}
}

const longDelay = `
Delays every packet that a node (n1, n2, ...) sends to others by the same time,
until another is given; 0 ends it. With --port it is only TCP from or to that
port: 50002 is the one at which Dapr's sidecars call each other. Prints what
there and back took, and takes now.
`

func setupDelay(fs *flag.FlagSet) runner {
	port := fs.Uint("port", 0, "delay only TCP from or to this `port`")
	return func(ctx context.Context, e env, args []string) error {
		if len(args) != 2 {
			return usagef("delay needs the name of a node and a duration, such as n3 1ms")
		}
		by, err := time.ParseDuration(args[1])
		if err != nil || by < 0 || by > cluster.MaxDelay {
			return usagef("the delay must be a duration from 0 to %s, such as 1ms, not %q", cluster.MaxDelay, args[1])
		}
		if *port > 65535 {
			return usagef("there is no port %d", *port)
		}
		return change(ctx, e, nil, true, func(c *cluster.Cluster) error {
			return c.DelayNode(ctx, args[0], by, int(*port))
		})
	}
}

const longBuild = `
Builds what the cluster is made of, without starting anything; root is not
needed. With --only envtest it builds just kube-apiserver, etcd and kubectl and
prints the folder they are in, for KUBEBUILDER_ASSETS; with --only helm just Helm.
`

func setupBuild(fs *flag.FlagSet) runner {
	only := fs.String("only", "", "build a `part`: envtest or helm")
	version := fs.String("dapr", plan.DefaultDapr, "`version` of Dapr")
	return func(ctx context.Context, e env, args []string) error {
		if len(args) > 0 {
			return usagef("build takes no arguments")
		}
		groups := build.Cluster(*version)
		switch _, known := plan.DaprReleases[*version]; {
		case *only == "envtest":
			groups = build.Envtest()
		case *only == "helm":
			groups = []build.Group{build.Helm()}
		case *only != "":
			return usagef("--only can be envtest or helm, not %q", *only)
		case !known:
			return usagef("--dapr can be one of: %s", strings.Join(plan.DaprVersions(), ", "))
		}
		if err := errors.Join(preflight.Platform(), preflight.Toolchain()); err != nil {
			return err
		}
		// Progress goes to standard error: the output is the folder alone.
		r := progress.New(os.Stderr)
		unlock, err := cluster.Lock(ctx, e.layout, r)
		if err != nil {
			return err
		}
		defer unlock()
		b := build.Builder{Layout: e.layout, Report: r}
		if err := b.Run(ctx, groups); err != nil {
			return err
		}
		fmt.Fprintln(e.out, e.layout.Bin())
		return nil
	}
}

// open reads the cluster without changing it.
func open(e env, args []string) (*cluster.Cluster, error) {
	if len(args) > 0 {
		return nil, usagef("unexpected argument %q", args[0])
	}
	if err := errors.Join(preflight.Platform(), preflight.Root()); err != nil {
		return nil, err
	}
	c, err := cluster.New(e.layout, progress.New(os.Stderr))
	if err != nil {
		return nil, err
	}
	return c, c.Load()
}

// change does something to the cluster while nobody else does.
func change(ctx context.Context, e env, args []string, load bool, f func(*cluster.Cluster) error) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q", args[0])
	}
	if err := errors.Join(preflight.Platform(), preflight.Root()); err != nil {
		return err
	}
	r := progress.New(os.Stderr)
	c, err := cluster.New(e.layout, r)
	if err != nil {
		return err
	}
	unlock, err := cluster.Lock(ctx, e.layout, r)
	if err != nil {
		return err
	}
	defer unlock()
	if load { // down works without, whatever the file says
		if err := c.Load(); err != nil {
			return err
		}
	}
	return f(c)
}
