package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"perfrun.dev/perfrun/hack/cluster/internal/addons"
	"perfrun.dev/perfrun/hack/cluster/internal/build"
	"perfrun.dev/perfrun/hack/cluster/internal/files"
	"perfrun.dev/perfrun/hack/cluster/internal/image"
	"perfrun.dev/perfrun/hack/cluster/internal/plan"
	"perfrun.dev/perfrun/hack/cluster/internal/progress"
	"perfrun.dev/perfrun/hack/cluster/internal/run"
)

// nonRoot is the user that images of this kind run as by custom.
const (
	nonRoot   = "65532:65532"
	nonRootID = 65532
)

// systemImage is an image made of a program built here.
type systemImage struct {
	image.Spec
	// everywhere means on every node, else on the control plane's only.
	everywhere bool
}

func (c *Cluster) systemImages() []systemImage {
	make := func(ref, binary, entry string, everywhere bool) systemImage {
		return systemImage{image.Spec{
			Reference: ref, Binary: c.Bin(binary), Entrypoint: []string{entry}, User: nonRoot,
		}, everywhere}
	}
	all := []systemImage{
		make(addons.Pause(), "pause", "/pause", true),
		make(addons.Image("coredns", plan.CoreDNS), "coredns", "/coredns", false),
		make(addons.Image("metrics-server", plan.MetricsServer), "metrics-server", "/metrics-server", false),
	}
	for _, p := range build.DaprPrograms {
		// Dapr's images have the program at the root, and its chart says so.
		i := make(addons.DaprImage(c.state.Dapr, p), build.DaprBinary(c.state.Dapr, p), "/"+p, p == "daprd")
		i.Passwd = true // as theirs; up to 1.16 Dapr insists on the group
		all = append(all, i)
	}
	return all
}

// loadImages brings the cluster's own images to the nodes that need them.
func (c *Cluster) loadImages(ctx context.Context) error {
	return c.Report.Step("loading images", func(s *progress.Step) (string, error) {
		loaded := 0
		have := map[string]map[string]string{}
		for _, n := range c.nodes {
			list, err := c.imagesOn(ctx, n.Name)
			if err != nil {
				return "", err
			}
			have[n.Name] = list
		}
		for _, i := range c.systemImages() {
			nodes := c.nodes
			if !i.everywhere {
				nodes = nodes[:1]
			}
			s.Detail("%s", i.Reference)
			_, n, err := c.ship(ctx, i.Spec, nodes, have)
			if err != nil {
				return "", err
			}
			loaded += n
		}
		if loaded == 0 {
			return "images are on the nodes", nil
		}
		return fmt.Sprintf("loaded images (%d imports)", loaded), nil
	})
}

// ship imports an image into those of the nodes that do not have it, going by
// its digest, and returns the digest and how many there were.
func (c *Cluster) ship(ctx context.Context, s image.Spec, nodes []plan.Node, have map[string]map[string]string) (string, int, error) {
	digest, archive, err := c.digestOf(s)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = os.Remove(archive) }() // if it was written at all
	count := 0
	for _, n := range nodes {
		if have[n.Name][s.Reference] == digest {
			continue
		}
		if _, err := os.Stat(archive); err != nil {
			if _, err := writeImage(archive, s); err != nil {
				return "", count, err
			}
		}
		if _, err := c.ctr(ctx, n.Name, "-n", "k8s.io", "images", "import", "--local", archive); err != nil {
			return "", count, fmt.Errorf("importing %s into %s: %w", s.Reference, n.Name, err)
		}
		if err := c.prune(ctx, n.Name); err != nil {
			return "", count, err
		}
		count++
	}
	return digest, count, nil
}

// prune drops images that have lost their last name to a newer one. Nothing
// else would: the kubelet must not collect images, since no registry could give
// one back. What a container still uses stays until it ends.
func (c *Cluster) prune(ctx context.Context, node string) error {
	images, err := c.imagesOn(ctx, node)
	if err != nil {
		return err
	}
	if nameless := nameless(images); len(nameless) > 0 {
		args := append([]string{"-n", "k8s.io", "images", "remove"}, nameless...)
		if _, err := c.ctr(ctx, node, args...); err != nil {
			return fmt.Errorf("removing old images of %s: %w", node, err)
		}
	}
	return nil
}

// nameless finds images known only by the ID that containerd's CRI plugin
// gives each image beside its name.
func nameless(images map[string]string) []string {
	named := map[string]bool{}
	for ref, digest := range images {
		if !strings.HasPrefix(ref, "sha256:") {
			named[digest] = true
		}
	}
	var refs []string
	for ref, digest := range images {
		if !named[digest] {
			refs = append(refs, ref)
		}
	}
	return refs
}

// digestOf returns the digest an image has, from memory if what it is made of
// has not changed since, and where its archive is or would be.
func (c *Cluster) digestOf(s image.Spec) (digest, archive string, err error) {
	stamp, err := s.Stamp()
	if err != nil {
		return "", "", err
	}
	archive = c.Images(stamp + ".tar")
	memo := c.Images(stamp + ".digest")
	if known, err := os.ReadFile(memo); err == nil {
		return string(known), archive, nil
	}
	digest, err = writeImage(archive, s)
	if err != nil {
		return "", "", err
	}
	return digest, archive, files.Write(memo, []byte(digest), 0o644)
}

func writeImage(archive string, s image.Spec) (string, error) {
	if err := files.Write(archive, nil, 0o644); err != nil {
		return "", err
	}
	f, err := os.Create(archive)
	if err != nil {
		return "", fmt.Errorf("writing image: %w", err)
	}
	digest, err := image.Write(f, s)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(archive))
	}
	return digest, nil
}

// imagesOn lists a node's images, reference to digest.
func (c *Cluster) imagesOn(ctx context.Context, node string) (map[string]string, error) {
	out, err := c.ctr(ctx, node, "-n", "k8s.io", "images", "list")
	if err != nil {
		return nil, fmt.Errorf("listing images of %s: %w", node, err)
	}
	return parseImages(out), nil
}

// parseImages reads ctr's table, whose first columns are reference, type and
// digest.
func parseImages(table string) map[string]string {
	images := map[string]string{}
	for line := range strings.SplitSeq(table, "\n") {
		if f := strings.Fields(line); len(f) > 2 && strings.HasPrefix(f[2], "sha256:") {
			images[f[0]] = f[2]
		}
	}
	return images
}

// ctr talks to a node's containerd.
func (c *Cluster) ctr(ctx context.Context, node string, args ...string) (string, error) {
	argv := c.iso.Enter(node, append([]string{c.Bin("ctr"), "--address", "/run/containerd/containerd.sock"}, args...)...)
	return run.Cmd(exec.CommandContext(ctx, argv[0], argv[1:]...))
}
