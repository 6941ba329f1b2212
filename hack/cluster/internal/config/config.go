// Package config renders the configuration files of a cluster's programs.
package config

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"perfrun.dev/perfrun/hack/cluster/internal/plan"
)

// m is an object of a configuration file. All programs here read YAML, of
// which JSON is a part that needs no templates.
type m = map[string]any

func render(v any) []byte {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // only strings, numbers, maps and lists are ever given
	}
	return append(data, '\n')
}

// KubeletFiles are what a kubelet reads.
type KubeletFiles struct {
	CA, Cert, Key string
	ResolvConf    string
	CgroupRoot    string
}

// Kubelet is the configuration of a node's kubelet. Intervals are left at
// their defaults, so that a node costs what a node costs.
func Kubelet(n plan.Node, f KubeletFiles) []byte {
	c := m{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"address": n.IP,
		"authentication": m{
			"anonymous": m{"enabled": false},
			"webhook":   m{"enabled": true},
			"x509":      m{"clientCAFile": f.CA},
		},
		"authorization":            m{"mode": "Webhook"},
		"tlsCertFile":              f.Cert,
		"tlsPrivateKeyFile":        f.Key,
		"cgroupDriver":             "cgroupfs", // no systemd is assumed
		"cgroupRoot":               f.CgroupRoot,
		"failCgroupV1":             false, // version 1 is deprecated, not broken
		"failSwapOn":               false, // the machine's swap is its owner's affair
		"containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
		"clusterDNS":               []string{plan.DNSServiceIP},
		"clusterDomain":            plan.Domain,
		"resolvConf":               f.ResolvConf,
		"healthzBindAddress":       "127.0.0.1",
		// The default is a folder of the machine's own /usr.
		"volumePluginDir": "/var/lib/kubelet/volume-plugins",
		// No registry could give an image back that was collected.
		"imageGCHighThresholdPercent": 100,
		// The defaults are shares of a disk that is not the cluster's alone,
		// and a nearly full but large one would evict every pod.
		"evictionHard": m{
			"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi",
			"nodefs.inodesFree": "1%", "imagefs.inodesFree": "1%",
		},
		"logging": m{"verbosity": 1},
	}
	if n.Tainted {
		c["registerWithTaints"] = []m{{"key": plan.ControlPlaneLabel, "effect": "NoSchedule"}}
	}
	return render(c)
}

// KubeProxy is the configuration of a node's kube-proxy.
func KubeProxy(n plan.Node, kubeconfig string) []byte {
	return render(m{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
		"clientConnection": m{"kubeconfig": kubeconfig},
		"hostnameOverride": n.Name,
		"clusterCIDR":      plan.PodCIDR,
		"mode":             "iptables",
		// These belong to the whole machine, not to a network namespace.
		"conntrack": m{
			"maxPerCore": 0, "min": 0,
			"tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s",
		},
		"healthzBindAddress": "127.0.0.1:10256",
		"metricsBindAddress": "127.0.0.1:10249",
		"logging":            m{"verbosity": 1},
	})
}

// Authentication lets anybody ask whether the API server is well, and nothing
// else.
func Authentication() []byte {
	return render(m{
		"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration",
		"anonymous": m{
			"enabled":    true,
			"conditions": []m{{"path": "/livez"}, {"path": "/readyz"}, {"path": "/healthz"}},
		},
	})
}

// CNI is the network of a node's pods: a cable of its own from each pod to the
// node, which routes. Unlike a bridge this needs no br_netfilter for a Service
// whose pod is on the same node. Addresses are remembered in /run, since they
// mean nothing after a reboot.
func CNI(n plan.Node) []byte {
	return render(m{
		"cniVersion": "0.4.0", "name": "pods",
		"plugins": []m{
			{
				"type": "ptp", "ipMasq": false,
				"ipam": m{
					"type": "host-local", "dataDir": "/run/cni",
					"ranges": [][]m{{{"subnet": n.PodCIDR}}},
					"routes": []m{{"dst": "0.0.0.0/0"}},
				},
			},
			{"type": "portmap", "capabilities": m{"portMappings": true}, "snat": true},
		},
	})
}

// ContainerdFiles are what a containerd is told of its surroundings.
type ContainerdFiles struct {
	CNIConf, CNIBin string
	Shim            string
	PauseImage      string
	Snapshotter     string
	// KeepOOMScore is for a machine without CAP_SYS_RESOURCE, where asking for
	// a lower score than one has is an error.
	KeepOOMScore bool
}

// Containerd is the configuration of a node's containerd. Its folders are the
// default ones, of which every node has its own.
func Containerd(f ContainerdFiles) []byte {
	return fmt.Appendf(nil, `version = 3

# Restarting is the kubelet's affair, remote control and the like are unused.
disabled_plugins = [
  "io.containerd.internal.v1.restart",
  "io.containerd.nri.v1.nri",
  "io.containerd.snapshotter.v1.blockfile",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.erofs",
]

[plugins."io.containerd.internal.v1.opt"]
  # The default is a folder of the machine's own.
  path = "/var/lib/containerd/opt"

[plugins."io.containerd.cri.v1.images"]
  snapshotter = %[1]q
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = %[2]q

[plugins."io.containerd.cri.v1.runtime"]
  # A profile would stay loaded in the machine's kernel.
  disable_apparmor = true
  restrict_oom_score_adj = %[3]t
  # The default is the machine's /var/run/netns.
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = [%[4]q]
    conf_dir = %[5]q
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    runtime_path = %[6]q
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      SystemdCgroup = false
`, f.Snapshotter, f.PauseImage, f.KeepOOMScore, f.CNIBin, f.CNIConf, f.Shim)
}

// Kubeconfig is for one user; everything is in it, so that it can be copied.
func Kubeconfig(server, user string, ca, cert, key []byte) []byte {
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: perfrun-local
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %s
  user:
    client-certificate-data: %s
    client-key-data: %s
contexts:
- name: perfrun-local
  context:
    cluster: perfrun-local
    user: %[3]s
current-context: perfrun-local
`, server, b64(ca), strings.ReplaceAll(user, ":", "-"), b64(cert), b64(key))
}
