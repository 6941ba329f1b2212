package cluster

import (
	"context"
	"fmt"

	"perfrun.dev/perfrun/hack/cluster/internal/image"
	"perfrun.dev/perfrun/hack/cluster/internal/progress"
)

// LoadImage makes an image and brings it to every node that does
// not have it yet. It returns the digest.
func (c *Cluster) LoadImage(ctx context.Context, s image.Spec) (string, error) {
	if err := c.NeedRunning(); err != nil {
		return "", err
	}
	if err := s.Check(); err != nil {
		return "", err
	}
	have := map[string]map[string]string{}
	for _, n := range c.nodes {
		if err := c.running("containerd-" + n.Name); err != nil {
			return "", fmt.Errorf("%s cannot take an image; `localcluster node start %s` or `localcluster up` starts it: %w", n.Name, n.Name, err)
		}
		list, err := c.imagesOn(ctx, n.Name)
		if err != nil {
			return "", err
		}
		have[n.Name] = list
	}
	var digest string
	err := c.Report.Step("loading "+s.Reference, func(*progress.Step) (string, error) {
		var count int
		var err error
		digest, count, err = c.ship(ctx, s, c.nodes, have)
		if count == 0 {
			return s.Reference + " is on every node already", err
		}
		return fmt.Sprintf("loaded %s into %s", s.Reference, progress.Count(count, "node")), err
	})
	return digest, err
}
