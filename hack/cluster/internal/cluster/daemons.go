package cluster

import (
	"fmt"
	"time"

	"perfrun.dev/perfrun/hack/cluster/internal/plan"
	"perfrun.dev/perfrun/hack/cluster/internal/preflight"
	"perfrun.dev/perfrun/hack/cluster/internal/proc"
	"perfrun.dev/perfrun/hack/cluster/internal/relay"
)

// nodeCgroup is the root given to the node's kubelet; the node's own processes
// are in a child of it, beside the pods.
func (c *Cluster) nodeCgroup(node string) string { return c.Cgroup() + "/" + node }

func (c *Cluster) systemCgroup(node string) string { return c.nodeCgroup(node) + "/system" }

// controlCgroup holds what is not a node's.
func (c *Cluster) controlCgroup() string { return c.Cgroup() + "/control" }

func (c *Cluster) record(daemon string) string { return c.Procs(daemon + ".json") }

func (c *Cluster) log(daemon string) string { return c.Logs(daemon + ".log") }

// daemon is a process inside a node.
func (c *Cluster) daemon(name, node, cgroup, program string, inputs []string, args ...string) proc.Spec {
	return proc.Spec{
		Name: name, Path: c.Bin(program), Args: args, Inputs: inputs,
		Cgroup: cgroup, Net: c.iso.Net(node), Mount: c.iso.Mount(node),
		Log: c.log(name), Record: c.record(name),
		Env: []string{"PATH=" + preflight.Path()},
	}
}

func (c *Cluster) etcd() proc.Spec {
	cert, key, ca := c.pki.Path("etcd.crt"), c.pki.Path("etcd.key"), c.pki.Path(etcdCA+".crt")
	return c.daemon("etcd", c.first().Name, c.controlCgroup(), "etcd", []string{cert, key, ca},
		"--name=etcd",
		"--data-dir="+c.Cluster("etcd"),
		"--listen-client-urls=https://127.0.0.1:2379",
		"--advertise-client-urls=https://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380",
		"--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=etcd=http://127.0.0.1:2380",
		"--client-cert-auth", "--cert-file="+cert, "--key-file="+key, "--trusted-ca-file="+ca,
		"--log-level=warn",
		// A throw-away cluster need not survive a power cut, and waiting for
		// the disk would make every write slower and disturb what is measured.
		"--unsafe-no-fsync",
	)
}

func (c *Cluster) apiserver() proc.Spec {
	p := c.pki.Path
	inputs := []string{
		p("apiserver.crt"), p("ca.crt"), p("front-proxy-client.crt"), p("etcd-client.crt"),
		p("apiserver-kubelet-client.crt"), p(tokenKey + ".pub"), c.Config("authentication.yaml"),
	}
	return c.daemon("kube-apiserver", c.first().Name, c.controlCgroup(), "kube-apiserver", inputs,
		"--advertise-address="+c.first().IP,
		fmt.Sprintf("--secure-port=%d", plan.APIPort),
		"--service-cluster-ip-range="+plan.ServiceCIDR,
		"--allow-privileged=true",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--authentication-config="+c.Config("authentication.yaml"),
		"--client-ca-file="+p("ca.crt"),
		"--tls-cert-file="+p("apiserver.crt"), "--tls-private-key-file="+p("apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc."+plan.Domain,
		"--service-account-key-file="+p(tokenKey+".pub"),
		"--service-account-signing-key-file="+p(tokenKey+".key"),
		"--etcd-servers=https://127.0.0.1:2379",
		"--etcd-cafile="+p(etcdCA+".crt"),
		"--etcd-certfile="+p("etcd-client.crt"), "--etcd-keyfile="+p("etcd-client.key"),
		// Logs, exec and port-forward: nodes' names cannot be resolved here.
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-certificate-authority="+p("ca.crt"),
		"--kubelet-client-certificate="+p("apiserver-kubelet-client.crt"),
		"--kubelet-client-key="+p("apiserver-kubelet-client.key"),
		// Aggregated APIs, of which metrics.k8s.io is one.
		"--requestheader-client-ca-file="+p("front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file="+p("front-proxy-client.crt"),
		"--proxy-client-key-file="+p("front-proxy-client.key"),
	)
}

func (c *Cluster) controllerManager() proc.Spec {
	p, kubeconfig := c.pki.Path, c.kubeconfigOf("controller-manager")
	return c.daemon("kube-controller-manager", c.first().Name, c.controlCgroup(), "kube-controller-manager",
		[]string{kubeconfig, p("ca.crt"), p("ca.key")},
		"--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--bind-address=127.0.0.1",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+p(tokenKey+".key"),
		"--root-ca-file="+p("ca.crt"),
		"--cluster-signing-cert-file="+p("ca.crt"), "--cluster-signing-key-file="+p("ca.key"),
		// The nodes' pod ranges are planned, not handed out.
		"--allocate-node-cidrs=false",
		"--cluster-cidr="+plan.PodCIDR,
		// The default is a folder of the machine's own /usr, which it would make.
		"--flex-volume-plugin-dir=/var/lib/kubelet/volume-plugins",
		// There is one of it: an election would only be traffic.
		"--leader-elect=false",
	)
}

func (c *Cluster) scheduler() proc.Spec {
	kubeconfig := c.kubeconfigOf("scheduler")
	return c.daemon("kube-scheduler", c.first().Name, c.controlCgroup(), "kube-scheduler", []string{kubeconfig},
		"--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
	)
}

func (c *Cluster) containerd(n plan.Node) proc.Spec {
	file := c.Config("containerd-" + n.Name + ".toml")
	s := c.daemon("containerd-"+n.Name, n.Name, c.systemCgroup(n.Name), "containerd",
		[]string{file, c.cniDir(n.Name) + "/pods.conflist"}, "--config="+file, "--log-level=warn")
	// So that the shim built here comes before any other on the machine.
	s.Env = []string{"PATH=" + c.Bin() + ":" + preflight.Path()}
	return s
}

func (c *Cluster) kubelet(n plan.Node) proc.Spec {
	p, kubeconfig, file := c.pki.Path, c.kubeconfigOf("kubelet-"+n.Name), c.Config("kubelet-"+n.Name+".yaml")
	return c.daemon("kubelet-"+n.Name, n.Name, c.systemCgroup(n.Name), "kubelet",
		[]string{kubeconfig, file, p("kubelet-serving-" + n.Name + ".crt"), p("ca.crt")},
		"--config="+file, "--kubeconfig="+kubeconfig,
		"--hostname-override="+n.Name, "--node-ip="+n.IP,
	)
}

func (c *Cluster) kubeProxy(n plan.Node) proc.Spec {
	kubeconfig, file := c.kubeconfigOf("kube-proxy"), c.Config("kube-proxy-"+n.Name+".yaml")
	return c.daemon("kube-proxy-"+n.Name, n.Name, c.systemCgroup(n.Name), "kube-proxy",
		[]string{kubeconfig, file}, "--config="+file)
}

// relay runs outside the nodes, from a copy of this program: building that again
// must not cut everybody's connections.
func (c *Cluster) relay() (proc.Spec, error) {
	program := c.Cluster("relay")
	if !proc.Load(c.record("relay")).Alive() {
		if _, err := c.copyOfThis("relay"); err != nil {
			return proc.Spec{}, err
		}
	}
	return proc.Spec{
		Name: "relay", Path: program, Cgroup: c.controlCgroup(),
		Args: []string{
			relay.Command, fmt.Sprintf("127.0.0.1:%d", c.state.APIPort), c.iso.Net(c.first().Name),
			fmt.Sprintf("%s:%d", c.first().IP, plan.APIPort), c.Logs(),
		},
		Log: c.log("relay"), Record: c.record("relay"),
	}, nil
}

// patience is how long a daemon may take to end by itself.
const patience = 10 * time.Second
