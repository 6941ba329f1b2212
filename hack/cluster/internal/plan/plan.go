// Package plan fixes what a cluster looks like before any of it exists:
// nodes, names and addresses. Every cluster uses the same addresses, because
// none of them can be seen from outside its own network namespaces.
package plan

import "fmt"

const (
	// MaxNodes keeps the third octet of a pod range equal to the node's
	// number and the machine within reason.
	MaxNodes = 9

	// NodeSubnetBits is the prefix length of the nodes' own addresses.
	NodeSubnetBits = 24
	// PodCIDR holds the pods of all nodes.
	PodCIDR = "10.81.0.0/16"
	// ServiceCIDR holds the addresses of Services.
	ServiceCIDR = "10.82.0.0/16"
	// APIServiceIP is the first address of ServiceCIDR, which the API server
	// takes for the Service "kubernetes".
	APIServiceIP = "10.82.0.1"
	// DNSServiceIP is what every pod has as its name server.
	DNSServiceIP = "10.82.0.10"
	// APIPort is where the API server listens on the first node.
	APIPort = 6443
	// Domain is the DNS name below which the cluster's names are.
	Domain = "cluster.local"

	// ControlPlaneLabel is both the label and the taint of the first node.
	ControlPlaneLabel = "node-role.kubernetes.io/control-plane"
)

// Node is one machine of the cluster.
type Node struct {
	Name string
	// IP is the node's address on the bridge that joins the nodes.
	IP string
	// PodCIDR holds the addresses of the node's pods.
	PodCIDR string
	// ControlPlane marks the node that runs the control plane too.
	ControlPlane bool
	// Tainted keeps ordinary pods away, so that what is measured shares its
	// node with as little as possible.
	Tainted bool
}

// Nodes plans a cluster of the given size. The first node runs the control
// plane; it is tainted unless it is the only one.
func Nodes(count int) ([]Node, error) {
	if count < 1 || count > MaxNodes {
		return nil, fmt.Errorf("a cluster has 1 to %d nodes, not %d; choose with --nodes", MaxNodes, count)
	}
	nodes := make([]Node, count)
	for i := range nodes {
		n := i + 1
		nodes[i] = Node{
			Name:         fmt.Sprintf("n%d", n),
			IP:           fmt.Sprintf("10.80.0.%d", 10+n),
			PodCIDR:      fmt.Sprintf("10.81.%d.0/24", n),
			ControlPlane: n == 1,
			Tainted:      n == 1 && count > 1,
		}
	}
	return nodes, nil
}

// Find returns the node of that name, or an error that lists the names.
func Find(nodes []Node, name string) (Node, error) {
	var names string
	for _, n := range nodes {
		if n.Name == name {
			return n, nil
		}
		names += " " + n.Name
	}
	return Node{}, fmt.Errorf("no node is called %q; the nodes are:%s", name, names)
}
