// Package isolate gives every node a network and a table of mounts of its own,
// and joins the nodes by a bridge in a network namespace of its own as well.
// The machine's network is not touched: no link, route, rule or setting.
package isolate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"perfrun.dev/perfrun/hack/cluster/internal/layout"
	"perfrun.dev/perfrun/hack/cluster/internal/mounts"
	"perfrun.dev/perfrun/hack/cluster/internal/plan"
	"perfrun.dev/perfrun/hack/cluster/internal/run"
)

const bridge = "bridge"

// Isolation makes and removes the namespaces of one cluster.
type Isolation struct {
	Layout layout.Layout
	// Overlay tells that containers' files will be overlays.
	Overlay bool
}

// Net is the file that pins a node's network namespace.
func (i Isolation) Net(node string) string { return i.Layout.Namespaces(node + ".net") }

// Mount is the file that pins a node's mount namespace.
func (i Isolation) Mount(node string) string { return i.Layout.Namespaces(node + ".mnt") }

// Enter is the command line that runs another one inside a node.
func (i Isolation) Enter(node string, args ...string) []string {
	return append([]string{"nsenter", "--net=" + i.Net(node), "--mount=" + i.Mount(node), "--"}, args...)
}

// Ready tells whether the node's namespaces exist.
func (i Isolation) Ready(node string) bool { return pinned(i.Net(node)) && pinned(i.Mount(node)) }

// pinned tells whether file is a mounted namespace; after a reboot only an
// empty file is left.
func pinned(file string) bool {
	var st unix.Statfs_t
	return unix.Statfs(file, &st) == nil && st.Type == unix.NSFS_MAGIC
}

// Bridge makes the namespace in which the nodes' cables end.
func (i Isolation) Bridge(ctx context.Context) error {
	if err := i.pinboard(); err != nil {
		return err
	}
	file := i.Net(bridge)
	if !pinned(file) {
		if err := touch(file); err != nil {
			return err
		}
		if err := run.Quiet(ctx, "unshare", "--net="+file, "true"); err != nil {
			return fmt.Errorf("making a network namespace: %w", err)
		}
	}
	return script(ctx, []string{"nsenter", "--net=" + file}, `
		ip link set lo up
		ip link show br0 >/dev/null 2>&1 || ip link add br0 type bridge
		ip link set br0 up
		# Frames between nodes are none of netfilter's business here.
		f=/proc/sys/net/bridge/bridge-nf-call-iptables; if [ -e $f ]; then echo 0 > $f; fi
	`)
}

// pinboard makes the folder of pins a private mount: the kernel refuses to pin
// a mount namespace where the pin would spread to other namespaces.
func (i Isolation) pinboard() error {
	dir := i.Layout.Namespaces()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making folder: %w", err)
	}
	all, err := mounts.Read()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(m mounts.Mount) bool { return m.Point == dir }) {
		if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting the folder of namespaces: %w", err)
		}
	}
	if err := unix.Mount("", dir, "", unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the folder of namespaces private: %w", err)
	}
	return nil
}

// Node makes the node's namespaces and its cable. It must only be called when
// no process of the node is left from earlier namespaces.
func (i Isolation) Node(ctx context.Context, n plan.Node) error {
	if i.Ready(n.Name) {
		return nil
	}
	if err := i.Unpin(n.Name); err != nil {
		return err
	}
	netFile, mountFile := i.Net(n.Name), i.Mount(n.Name)
	for _, f := range []string{netFile, mountFile} {
		if err := touch(f); err != nil {
			return err
		}
	}
	// The tables of mounts are copied and then follow the machine's, not the
	// other way round, so that nothing a node mounts is seen outside and a
	// disk unmounted outside is not held by a node.
	err := run.Quiet(ctx, "unshare", "--net="+netFile, "--mount="+mountFile, "--propagation=slave", "true")
	if err != nil {
		return fmt.Errorf("making namespaces: %w", err)
	}
	if err := i.furnish(ctx, n); err != nil {
		// Half a node would be taken for a whole one next time.
		return errors.Join(err, i.Unpin(n.Name))
	}
	return nil
}

func (i Isolation) furnish(ctx context.Context, n plan.Node) error {
	if err := i.mountsOf(ctx, n); err != nil {
		return err
	}
	if i.Overlay {
		if err := i.overlay(ctx, n); err != nil {
			return err
		}
	}
	if err := i.cable(ctx, n); err != nil {
		return err
	}
	return i.netfilter(ctx, n)
}

// Unpin drops the node's namespaces; they end with their last process.
func (i Isolation) Unpin(node string) error {
	for _, f := range []string{i.Mount(node), i.Net(node)} {
		if err := unpin(f); err != nil {
			return err
		}
	}
	return nil
}

// Remove drops every namespace and the folder of pins.
func (i Isolation) Remove() error {
	dir := i.Layout.Namespaces()
	all, err := mounts.Read()
	if err != nil {
		return err
	}
	for _, point := range mounts.Below(all, dir) {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("unmounting %s: %w", point, err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing namespaces: %w", err)
	}
	return nil
}

func unpin(file string) error {
	for pinned(file) {
		if err := unix.Unmount(file, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("dropping namespace %s: %w", filepath.Base(file), err)
		}
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("dropping namespace: %w", err)
	}
	return nil
}

func touch(file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return fmt.Errorf("making a namespace's file: %w", err)
	}
	return f.Close()
}

// script runs lines of shell, stopping at the first that fails; args are $1
// and following.
func script(ctx context.Context, enter []string, lines string, args ...string) error {
	argv := append(append([]string{}, enter...), "sh", "-euc", lines, "sh")
	argv = append(argv, args...)
	return run.Quiet(ctx, argv[0], argv[1:]...)
}
