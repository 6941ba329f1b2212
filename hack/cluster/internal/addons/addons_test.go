package addons

import (
	"fmt"
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	p := Params{DaprVersion: "1.18.0", Tainted: true, Root: "R1\nR2\n", IssuerCert: "C\n", IssuerKey: "K\n"}
	tests := []struct {
		name string
		want []string
	}{
		{"cluster.yaml", []string{"system:kubelet-api-admin"}},
		{"coredns.yaml", []string{
			"image: localcluster.perfrun.dev/coredns:v1.15.0\n", "clusterIP: 10.82.0.10\n",
			"      nodeSelector:\n        node-role.kubernetes.io/control-plane: \"\"\n      tolerations:\n      - key:",
		}},
		{"metrics-server.yaml", []string{"image: localcluster.perfrun.dev/metrics-server:v0.9.0\n"}},
		{"dapr-values.yaml", []string{
			"  registry: localcluster.perfrun.dev/dapr\n  tag: \"1.18.0\"\n", "  tolerations:\n  - key:",
			"      certPEM: |\n        R1\n        R2\n", "      keyPEM: |\n        K\n",
			"  cluster:\n    # There is no provisioner of volumes.\n    inMemoryStorage: true\n",
			"  sidecarDropALLCapabilities: true\n",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data, err := Render(tt.name, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(string(data), want) {
					t.Errorf("no %q in\n%s", want, data)
				}
			}
		})
	}
}

func TestSingleNodeTakesEverything(t *testing.T) {
	if got := (Params{}).ControlPlanePlacement(); strings.Contains(got, "tolerations") {
		t.Errorf("got %s", got)
	}
}

func TestHighAvailability(t *testing.T) {
	for _, ha := range []bool{true, false} {
		values, err := Render("dapr-values.yaml", Params{DaprVersion: "1.18.0", DaprHA: ha})
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("  ha:\n    enabled: %t\n", ha); !strings.Contains(string(values), want) {
			t.Errorf("no %q in %s", want, values)
		}
	}
}

func TestSchedulerVolumes(t *testing.T) {
	p := Params{DaprVersion: "1.16.0"}
	values, err := Render("dapr-values.yaml", p)
	if err != nil {
		t.Fatal(err)
	}
	volumes, err := Render("dapr-volumes.yaml", p)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(values), "storageClassName: dapr-scheduler\n") || strings.Contains(string(values), "inMemoryStorage") {
		t.Errorf("got %s", values)
	}
	if strings.Count(string(volumes), "storageClassName: dapr-scheduler\n") != 3 || !strings.Contains(string(volumes), "dapr-scheduler/2\n") {
		t.Errorf("got %s", volumes)
	}
}
