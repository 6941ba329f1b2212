package isolate

import (
	"context"
	"fmt"
	"strconv"

	"perfrun.dev/perfrun/hack/cluster/internal/delay"
)

// Hold has what a node sends to others queued for whoever delays it; where
// nobody does, it goes on. With a port only TCP from or to that port is.
func (i Isolation) Hold(ctx context.Context, node string, port int) error {
	matches := []string{""}
	if port != 0 {
		p := strconv.Itoa(port)
		matches = []string{"-p tcp --sport " + p, "-p tcp --dport " + p}
	}
	lines := `
		iptables -w -t mangle -N LOCALCLUSTER-DELAY 2>/dev/null || iptables -w -t mangle -F LOCALCLUSTER-DELAY
		iptables -w -t mangle -C POSTROUTING -o eth0 -j LOCALCLUSTER-DELAY 2>/dev/null || iptables -w -t mangle -A POSTROUTING -o eth0 -j LOCALCLUSTER-DELAY
	`
	for _, match := range matches {
		lines += fmt.Sprintf("iptables -w -t mangle -A LOCALCLUSTER-DELAY %s -j NFQUEUE --queue-num %d --queue-bypass\n", match, delay.Queue)
	}
	if err := script(ctx, i.Enter(node), lines); err != nil {
		return fmt.Errorf("queueing what %s sends (the kernel needs xt_NFQUEUE; as a module, load it with: modprobe xt_NFQUEUE): %w", node, err)
	}
	return nil
}

// Release undoes Hold.
func (i Isolation) Release(ctx context.Context, node string) error {
	err := script(ctx, i.Enter(node), `
		iptables -w -t mangle -nL LOCALCLUSTER-DELAY >/dev/null 2>&1 || exit 0
		iptables -w -t mangle -D POSTROUTING -o eth0 -j LOCALCLUSTER-DELAY 2>/dev/null || true
		iptables -w -t mangle -F LOCALCLUSTER-DELAY
		iptables -w -t mangle -X LOCALCLUSTER-DELAY
	`)
	if err != nil {
		return fmt.Errorf("queueing no more what %s sends: %w", node, err)
	}
	return nil
}
