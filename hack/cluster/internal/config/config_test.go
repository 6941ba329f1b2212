package config

import (
	"encoding/json"
	"strings"
	"testing"

	"perfrun.dev/perfrun/hack/cluster/internal/plan"
)

func nodes(t *testing.T) []plan.Node {
	t.Helper()
	all, err := plan.Nodes(3)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func decode(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestKubelet(t *testing.T) {
	all := nodes(t)
	f := KubeletFiles{CA: "/ca", Cert: "/crt", Key: "/key", ResolvConf: "/resolv", CgroupRoot: "/perfrun-x/n1"}
	first, second := decode(t, Kubelet(all[0], f)), decode(t, Kubelet(all[1], f))
	if _, tainted := first["registerWithTaints"]; !tainted {
		t.Error("the control plane's node is not tainted")
	}
	if _, tainted := second["registerWithTaints"]; tainted {
		t.Error("a worker is tainted")
	}
	if first["cgroupRoot"] != "/perfrun-x/n1" || second["address"] != all[1].IP {
		t.Errorf("%v, %v", first["cgroupRoot"], second["address"])
	}
	authentication, ok := first["authentication"].(map[string]any)
	if !ok || authentication["anonymous"].(map[string]any)["enabled"] != false {
		t.Error("anybody may use the kubelet")
	}
}

func TestCNI(t *testing.T) {
	n := nodes(t)[2]
	text := string(CNI(n))
	decode(t, CNI(n))
	if !strings.Contains(text, `"subnet": "10.81.3.0/24"`) {
		t.Errorf("no range of %s in %s", n.Name, text)
	}
}

func TestContainerd(t *testing.T) {
	text := string(Containerd(ContainerdFiles{
		CNIConf: "/conf", CNIBin: "/usr/lib/cni", Shim: "/bin/shim", PauseImage: "registry/pause:1",
		Snapshotter: "overlayfs", KeepOOMScore: true,
	}))
	for _, want := range []string{
		`snapshotter = "overlayfs"`, `sandbox = "registry/pause:1"`, "restrict_oom_score_adj = true",
		`bin_dirs = ["/usr/lib/cni"]`, `conf_dir = "/conf"`, `runtime_path = "/bin/shim"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "%!") {
		t.Errorf("badly formatted:\n%s", text)
	}
}

func TestKubeconfig(t *testing.T) {
	text := string(Kubeconfig("https://127.0.0.1:1", "admin", []byte("ca"), []byte("crt"), []byte("key")))
	for _, want := range []string{
		"server: https://127.0.0.1:1\n", "certificate-authority-data: Y2E=\n",
		"client-certificate-data: Y3J0\n", "client-key-data: a2V5\n", "    user: admin\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "%!") {
		t.Errorf("badly formatted:\n%s", text)
	}
}

func TestAuthenticationIsForProbesOnly(t *testing.T) {
	anonymous, ok := decode(t, Authentication())["anonymous"].(map[string]any)
	if !ok || len(anonymous["conditions"].([]any)) != 3 {
		t.Errorf("got %v", anonymous)
	}
	decode(t, KubeProxy(nodes(t)[0], "/kubeconfig"))
}
