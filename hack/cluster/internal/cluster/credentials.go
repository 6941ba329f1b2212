package cluster

import (
	"fmt"
	"os"
	"strconv"

	"perfrun.dev/perfrun/hack/cluster/internal/addons"
	"perfrun.dev/perfrun/hack/cluster/internal/config"
	"perfrun.dev/perfrun/hack/cluster/internal/files"
	"perfrun.dev/perfrun/hack/cluster/internal/pki"
	"perfrun.dev/perfrun/hack/cluster/internal/plan"
	"perfrun.dev/perfrun/hack/cluster/internal/preflight"
)

// Names of key pairs. Kubernetes has three authorities, as in any conformant
// cluster, so that a certificate for one purpose is worth nothing for another.
// Dapr's root and issuer are what sentry would make for itself; given to it,
// they are where its other programs look for them from the start, which they
// would otherwise notice only a kubelet's minute later.
const (
	clusterCA    = "ca"
	frontProxyCA = "front-proxy-ca"
	etcdCA       = "etcd-ca"
	tokenKey     = "service-accounts"
	daprCA       = "dapr-ca"
	daprIssuer   = "dapr-issuer"
)

// user is somebody who talks to the API server.
type user struct {
	name, commonName, group string
}

func (c *Cluster) users() []user {
	all := []user{
		{"admin", "perfrun-admin", "system:masters"},
		{"controller-manager", "system:kube-controller-manager", ""},
		{"scheduler", "system:kube-scheduler", ""},
		{"kube-proxy", "system:kube-proxy", ""},
	}
	for _, n := range c.nodes {
		all = append(all, user{"kubelet-" + n.Name, "system:node:" + n.Name, "system:nodes"})
	}
	return all
}

// leaves are all certificates of the cluster.
func (c *Cluster) leaves() []pki.Leaf {
	leaves := []pki.Leaf{
		{
			Name: "apiserver", Authority: clusterCA, CommonName: "kube-apiserver", Server: true,
			Hosts: []string{
				"localhost", "127.0.0.1", c.first().IP, plan.APIServiceIP,
				"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + plan.Domain,
			},
		},
		{Name: "apiserver-kubelet-client", Authority: clusterCA, CommonName: "kube-apiserver-kubelet-client", Client: true},
		{Name: "front-proxy-client", Authority: frontProxyCA, CommonName: "front-proxy-client", Client: true},
		// etcd is a client to itself, for its gateway.
		{Name: "etcd", Authority: etcdCA, CommonName: "etcd", Hosts: []string{"127.0.0.1"}, Server: true, Client: true},
		{Name: daprIssuer, Authority: daprCA, CommonName: plan.Domain, Issuer: true},
		{Name: "etcd-client", Authority: etcdCA, CommonName: "kube-apiserver", Client: true},
	}
	for _, u := range c.users() {
		l := pki.Leaf{Name: "user-" + u.name, Authority: clusterCA, CommonName: u.commonName, Client: true}
		if u.group != "" {
			l.Organizations = []string{u.group}
		}
		leaves = append(leaves, l)
	}
	for _, n := range c.nodes {
		leaves = append(leaves, pki.Leaf{
			Name: "kubelet-serving-" + n.Name, Authority: clusterCA, Server: true,
			CommonName: "system:node:" + n.Name, Organizations: []string{"system:nodes"},
			Hosts: []string{n.Name, n.IP},
		})
	}
	return leaves
}

// writeFiles makes keys, certificates and configuration files. What is there
// and still right is left alone, so that nothing restarts for it.
func (c *Cluster) writeFiles() error {
	for _, name := range []string{clusterCA, frontProxyCA, etcdCA, daprCA} {
		if err := c.pki.Authority(name); err != nil {
			return err
		}
	}
	for _, l := range c.leaves() {
		if err := c.pki.Leaf(l); err != nil {
			return err
		}
	}
	if err := c.pki.SigningKey(tokenKey); err != nil {
		return err
	}
	if err := c.writeKubeconfigs(); err != nil {
		return err
	}
	for file, data := range c.configs() {
		if err := files.WriteChanged(c.Config(file), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) writeKubeconfigs() error {
	ca, _, err := c.pki.Read(clusterCA)
	if err != nil {
		return err
	}
	for _, u := range c.users() {
		cert, key, err := c.pki.Read("user-" + u.name)
		if err != nil {
			return err
		}
		server, file := fmt.Sprintf("https://%s:%d", c.first().IP, plan.APIPort), c.kubeconfigOf(u.name)
		if u.name == "admin" {
			server, file = fmt.Sprintf("https://127.0.0.1:%d", c.state.APIPort), c.Kubeconfig()
		}
		if err := files.WriteChanged(file, config.Kubeconfig(server, u.name, ca, cert, key), 0o600); err != nil {
			return err
		}
	}
	return giveToCaller(c.Kubeconfig())
}

// giveToCaller lets whoever called with sudo use the cluster without it.
func giveToCaller(file string) error {
	uid, err := strconv.Atoi(os.Getenv("SUDO_UID"))
	if err != nil {
		return nil //nolint:nilerr // not called with sudo
	}
	if err := os.Chown(file, uid, -1); err != nil {
		return fmt.Errorf("giving the kubeconfig to its user: %w", err)
	}
	return nil
}

func (c *Cluster) kubeconfigOf(user string) string { return c.Config(user + ".kubeconfig") }

// configs are the configuration files by name.
func (c *Cluster) configs() map[string][]byte {
	all := map[string][]byte{
		"authentication.yaml": config.Authentication(),
		"resolv.conf":         []byte("# Nothing outside the cluster can be resolved.\n"),
	}
	for _, n := range c.nodes {
		all["kubelet-"+n.Name+".yaml"] = config.Kubelet(n, config.KubeletFiles{
			CA:         c.pki.Path(clusterCA + ".crt"),
			Cert:       c.pki.Path("kubelet-serving-" + n.Name + ".crt"),
			Key:        c.pki.Path("kubelet-serving-" + n.Name + ".key"),
			ResolvConf: c.Config("resolv.conf"),
			CgroupRoot: "/" + c.nodeCgroup(n.Name),
		})
		all["kube-proxy-"+n.Name+".yaml"] = config.KubeProxy(n, c.kubeconfigOf("kube-proxy"))
		all["cni-"+n.Name+"/pods.conflist"] = config.CNI(n)
		all["containerd-"+n.Name+".toml"] = config.Containerd(config.ContainerdFiles{
			CNIConf: c.cniDir(n.Name), CNIBin: preflight.PluginDir(),
			Shim: c.Bin("containerd-shim-runc-v2"), PauseImage: addons.Pause(),
			Snapshotter:  snapshotter(c.Dir),
			KeepOOMScore: !canLowerOOMScore(),
		})
	}
	return all
}

func (c *Cluster) cniDir(node string) string { return c.Config("cni-" + node) }
