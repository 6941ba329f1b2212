package plan

import (
	"net/netip"
	"testing"
)

func TestNodesDoNotOverlap(t *testing.T) {
	nodes, err := Nodes(MaxNodes)
	if err != nil {
		t.Fatal(err)
	}
	var ranges []netip.Prefix
	for _, cidr := range []string{ServiceCIDR, "10.80.0.0/24"} {
		ranges = append(ranges, netip.MustParsePrefix(cidr))
	}
	pods, addresses := netip.MustParsePrefix(PodCIDR), map[string]bool{}
	for _, n := range nodes {
		p := netip.MustParsePrefix(n.PodCIDR)
		if !pods.Overlaps(p) {
			t.Errorf("%s: pods %s are outside %s", n.Name, p, pods)
		}
		for _, r := range ranges {
			if r.Overlaps(p) {
				t.Errorf("%s: pods %s overlap %s", n.Name, p, r)
			}
		}
		ranges = append(ranges, p)
		if addresses[n.IP] || !netip.MustParsePrefix("10.80.0.0/24").Contains(netip.MustParseAddr(n.IP)) {
			t.Errorf("%s: bad address %s", n.Name, n.IP)
		}
		addresses[n.IP] = true
	}
	services := netip.MustParsePrefix(ServiceCIDR)
	if first := services.Addr().Next(); first.String() != APIServiceIP {
		t.Errorf("the API server takes %s, not %s", first, APIServiceIP)
	}
	if !services.Contains(netip.MustParseAddr(DNSServiceIP)) {
		t.Errorf("%s is outside %s", DNSServiceIP, services)
	}
}

func TestNodesRoles(t *testing.T) {
	tests := []struct {
		count   int
		tainted bool
		wantErr bool
	}{
		{count: 0, wantErr: true},
		{count: 1},
		{count: 3, tainted: true},
		{count: MaxNodes + 1, wantErr: true},
	}
	for _, tt := range tests {
		nodes, err := Nodes(tt.count)
		if (err != nil) != tt.wantErr {
			t.Errorf("%d nodes: error %v", tt.count, err)
		}
		for i, n := range nodes {
			if n.ControlPlane != (i == 0) || n.Tainted != (i == 0 && tt.tainted) {
				t.Errorf("%d nodes: %+v", tt.count, n)
			}
		}
	}
}

func TestFind(t *testing.T) {
	nodes, err := Nodes(3)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := Find(nodes, "n2"); err != nil || n.Name != "n2" {
		t.Errorf("got %v, %v", n, err)
	}
	if _, err := Find(nodes, "n4"); err == nil || err.Error() != `no node is called "n4"; the nodes are: n1 n2 n3` {
		t.Errorf("got %v", err)
	}
}
