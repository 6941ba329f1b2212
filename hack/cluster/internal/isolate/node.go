package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"perfrun.dev/perfrun/hack/cluster/internal/plan"
)

// tunables are the kernel settings a kubelet insists on, with the value it
// wants. They belong to the whole machine, so the kubelet is shown a file of
// ours in place of each: it finds what it wants and writes nothing.
var tunables = map[string]string{
	"/proc/sys/vm/overcommit_memory":      "1",
	"/proc/sys/vm/panic_on_oom":           "0",
	"/proc/sys/kernel/panic":              "10",
	"/proc/sys/kernel/panic_on_oops":      "1",
	"/proc/sys/kernel/keys/root_maxkeys":  "1000000",
	"/proc/sys/kernel/keys/root_maxbytes": "25000000",
}

// mountsOf gives the node its own /run, /var/lib and /var/log. Sockets and
// paths that Kubernetes and containerd have compiled in then differ from node
// to node, stay short, and end with the namespace.
func (i Isolation) mountsOf(ctx context.Context, n plan.Node) error {
	for _, dir := range []string{"lib", "log"} {
		if err := os.MkdirAll(i.Layout.Node(n.Name, dir), 0o755); err != nil {
			return fmt.Errorf("making node folder: %w", err)
		}
	}
	// Without -n, mount would leave notes in the machine's own /run.
	lines := `
		# The copied pins would keep the other nodes' namespaces alive.
		umount -n -l "$1"
		mount -n -t tmpfs -o mode=755,size=512m tmpfs /run
		mkdir -p /run/lock /run/tunables
		mount -n --bind "$2" /var/lib
		mount -n --bind "$3" /var/log
		mkdir -p /var/lib/kubelet /var/lib/containerd /var/log/pods /var/log/containers
	`
	for path, value := range tunables {
		name := "/run/tunables/" + strings.ReplaceAll(strings.TrimPrefix(path, "/proc/sys/"), "/", ".")
		lines += fmt.Sprintf("echo %s > %s; if [ -e %s ]; then mount -n --bind %s %s; fi\n", value, name, path, name, path)
	}
	err := script(ctx, []string{"nsenter", "--mount=" + i.Mount(n.Name)}, lines,
		i.Layout.Namespaces(), i.Layout.Node(n.Name, "lib"), i.Layout.Node(n.Name, "log"))
	if err != nil {
		return fmt.Errorf("mounting what %s sees: %w", n.Name, err)
	}
	return nil
}

// cable joins the node to the bridge and sets its addresses and routes. There
// is no default route: what is not in the cluster cannot be reached.
func (i Isolation) cable(ctx context.Context, n plan.Node) error {
	err := script(ctx, []string{"nsenter", "--net=" + i.Net(bridge)}, `
		ip link delete "$1" 2>/dev/null || true
		ip link add "$1" type veth peer name eth0 netns "$2"
		ip link set "$1" master br0 up
	`, n.Name, i.Net(n.Name))
	if err != nil {
		return fmt.Errorf("joining %s to the bridge (the kernel needs veth and bridge; as modules, load them with: modprobe veth bridge): %w", n.Name, err)
	}
	lines := `
		ip link set lo up
		ip address add "$1" dev eth0
		ip link set eth0 up
		# Makes the node's own processes send to Services at all; the address
		# is translated on the way out.
		ip route add "$2" dev eth0
		echo 1 > /proc/sys/net/ipv4/ip_forward
		# A reply may come by another way than its request went.
		echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter
		echo 0 > /proc/sys/net/ipv4/conf/default/rp_filter
	`
	all, err := plan.Nodes(plan.MaxNodes)
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.Name != n.Name {
			lines += fmt.Sprintf("ip route add %s via %s\n", other.PodCIDR, other.IP)
		}
	}
	err = script(ctx, []string{"nsenter", "--net=" + i.Net(n.Name)}, lines,
		fmt.Sprintf("%s/%d", n.IP, plan.NodeSubnetBits), plan.ServiceCIDR)
	if err != nil {
		return fmt.Errorf("setting addresses of %s: %w", n.Name, err)
	}
	return nil
}

// overlay tries to lay one folder over another, which is what containers' files
// are made of.
func (i Isolation) overlay(ctx context.Context, n plan.Node) error {
	err := script(ctx, []string{"nsenter", "--mount=" + i.Mount(n.Name)}, `
		cd /var/lib/containerd
		mkdir -p try/lower try/upper try/work try/merged
		mount -t overlay -o lowerdir=try/lower,upperdir=try/upper,workdir=try/work overlay try/merged
		umount try/merged
		rm -rf try
	`)
	if err != nil {
		return fmt.Errorf("the kernel cannot overlay folders in %s (as a module, load it with: modprobe overlay; a network filesystem cannot be overlaid, choose another folder with --dir): %w", i.Layout.Dir, err)
	}
	return nil
}

// netfilter tries, in a chain that is removed again, what kube-proxy will ask
// for, so that a kernel without it is named now and not by a Service that
// never answers.
func (i Isolation) netfilter(ctx context.Context, n plan.Node) error {
	err := script(ctx, i.Enter(n.Name), `
		iptables -w -t nat -N LOCALCLUSTER-TRY
		iptables -w -t nat -A LOCALCLUSTER-TRY -p tcp -m comment --comment try -m statistic --mode random --probability 0.5 -m conntrack --ctstate NEW -j DNAT --to-destination 10.0.0.1:1
		iptables -w -t nat -A LOCALCLUSTER-TRY -m mark --mark 0x4000/0x4000 -j MASQUERADE
		iptables -w -t nat -F LOCALCLUSTER-TRY
		iptables -w -t nat -X LOCALCLUSTER-TRY
	`)
	if err != nil {
		return errors.Join(errors.New("the kernel lacks a part of netfilter that Services need; "+
			"as modules, load them with: modprobe -a nf_nat nf_conntrack xt_comment xt_statistic xt_conntrack xt_mark xt_MASQUERADE xt_nat nft_compat"), err)
	}
	return nil
}
