// Package chart_test compares what the Helm chart installs with what kustomize does, with the programs that people use.
package chart_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

const (
	root      = "../.."
	namespace = "perfrun-system"
	// The oldest Kubernetes that the chart says it runs on.
	kubeVersion = "v1.30.0"
)

func TestInstallsWhatKustomizeDoes(t *testing.T) {
	for folders, values := range map[string][]string{
		"config/default":      nil,
		"config/cert-manager": {"webhook.certificates=CertManager"},
		"config/namespaced":   {"namespaces={perfrun-runs}", "metrics.enabled=false", "webhook.enabled=false"},
		"config/default config/prometheus config/grafana": {"monitoring.serviceMonitor=true", "monitoring.rules=true", "monitoring.dashboard=true",
			"monitoring.reader.name=kube-prometheus-stack-prometheus", "monitoring.reader.namespace=monitoring"},
	} {
		t.Run(folders, func(t *testing.T) {
			want := map[string]any{}
			for _, folder := range strings.Fields(folders) {
				text, err := exec.Command(filepath.Join(assets(t), "kubectl"), "kustomize", filepath.Join(root, folder)).Output()
				if err != nil {
					t.Fatalf("kubectl kustomize %s: %s", folder, stderr(err))
				}
				maps.Copy(want, objects(t, text))
			}
			// A chart's namespaces are made by whoever installs it.
			for name := range want {
				if strings.HasPrefix(name, "Namespace ") {
					delete(want, name)
				}
			}
			got := objects(t, mustRender(t, append(values, "crds.keep=false")...))
			for name := range want {
				if diff := cmp.Diff(want[name], got[name]); diff != "" {
					t.Errorf("%s differs between kustomize (-) and Helm (+):\n%s", name, diff)
				}
			}
			for name := range got {
				if want[name] == nil {
					t.Errorf("only Helm installs %s", name)
				}
			}
		})
	}
}

func TestValues(t *testing.T) {
	for name, c := range map[string]struct {
		values []string
		// Words that are in what is rendered, and words that are not.
		with, without []string
	}{
		"an image":            {values: []string{"image.repository=example.com/perfrun", "image.tag=v1"}, with: []string{`"example.com/perfrun:v1"`}},
		"an image's digest":   {values: []string{"image.digest=sha256:" + strings.Repeat("a", 64)}, with: []string{"perfrun@sha256:aaa"}, without: []string{":latest"}},
		"a secret for images": {values: []string{"imagePullSecrets[0].name=pull"}, with: []string{"imagePullSecrets:\n      - name: pull\n"}},
		"a Java host":         {values: []string{"actorHostJava.image=example.com/host:1"}, with: []string{"- --actor-host-java-image=example.com/host:1\n"}},
		"two replicas":        {values: []string{"replicas=2"}, with: []string{"replicas: 2\n", "--leader-elect"}},
		"no leader election":  {values: []string{"leaderElection.enabled=false"}, without: []string{"leader-elect"}},
		"no metrics":          {values: []string{"metrics.enabled=false"}, with: []string{"--metrics-bind-address=0\n"}, without: []string{"8443", "metrics-reader"}},
		"a label for Prometheus": {values: []string{"monitoring.serviceMonitor=true", "monitoring.rules=true", "monitoring.labels.release=stack"},
			with: []string{"kind: ServiceMonitor\n", "    release: stack\n", "kind: PrometheusRule\n"}, without: []string{"kube-prometheus-stack", "grafana_dashboard"}},
		"no webhook":            {values: []string{"webhook.enabled=false"}, with: []string{"--webhook-port=0\n"}, without: []string{"MutatingWebhookConfiguration\n", "9443", "name: perfrun-webhook\n"}},
		"no webhook, no issuer": {values: []string{"webhook.enabled=false", "webhook.certificates=CertManager"}, without: []string{"cert-manager.io/v1", "/certificate"}},
		"two namespaces":        {values: []string{"namespaces={a,b}", "metrics.enabled=false", "webhook.enabled=false", "daprNamespace=mesh"}, with: []string{"--namespaces=a,b\n", "namespace: a\n", "namespace: b\n", "namespace: mesh\n", "--dapr-namespace=mesh\n"}, without: []string{"ClusterRoleBinding"}},
		"no NetworkPolicies":    {values: []string{"networkPolicies.enabled=false"}, with: []string{"--network-policies=false\n"}, without: []string{"kind: NetworkPolicy"}},
		"no CRD":                {values: []string{"crds.install=false"}, without: []string{"kind: CustomResourceDefinition"}},
		"a CRD that stays":      {with: []string{"helm.sh/resource-policy: keep"}},
		"resources":             {values: []string{"resources.limits.memory=256Mi", "goMemLimit=224MiB"}, with: []string{"memory: 256Mi\n", "value: \"224MiB\"\n"}},
		"arguments":             {values: []string{"extraArgs[0]=--prepare-timeout=5m"}, with: []string{`- "--prepare-timeout=5m"`}},
		"a place":               {values: []string{"nodeSelector.pool=x", "tolerations[0].operator=Exists", "priorityClassName=high", "podAnnotations.note=this"}, with: []string{"pool: x\n", "operator: Exists\n", "priorityClassName: high\n", "note: this\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := mustRender(t, c.values...)
			objects(t, text)
			for _, word := range c.with {
				if !bytes.Contains(text, []byte(word)) {
					t.Errorf("%q is missing", word)
				}
			}
			for _, word := range c.without {
				// The CRD's and the roles' words are not the values' affair.
				if bytes.Contains(bytes.ReplaceAll(text, []byte("perfrun-leader-election"), nil), []byte(word)) {
					t.Errorf("%q is there", word)
				}
			}
		})
	}
}

func TestRefusesBadValues(t *testing.T) {
	for name, c := range map[string]struct{ value, word string }{
		"an unknown value":                     {"replica=2", "replica"},
		"several replicas that do not elect":   {"replicas=2,leaderElection.enabled=false", "leaderElection"},
		"an unknown keeper of the certificate": {"webhook.certificates=Vault", "certificates"},
		"a digest that is none":                {"image.digest=latest", "digest"},
		"a namespace that is none":             {"namespaces={Runs}", "namespaces"},
		"metrics without a right to ask":       {"namespaces={a},webhook.enabled=false", "metrics.enabled must be false"},
		"a webhook without a right to have it": {"namespaces={a},metrics.enabled=false", "webhook.enabled must be false"},
		"an argument that is none":             {"extraArgs[0]=loadtester", "extraArgs"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render(t, c.value)
			if err == nil || !strings.Contains(stderr(err), c.word) {
				t.Errorf("not refused for %q: %s", c.word, stderr(err))
			}
		})
	}
}

func TestLint(t *testing.T) {
	if out, err := helm(t, "lint", "--strict", "--kube-version", kubeVersion, filepath.Join(root, "charts/perfrun")).CombinedOutput(); err != nil {
		t.Errorf("%s", out)
	}
}

func mustRender(t *testing.T, values ...string) []byte {
	t.Helper()
	text, err := render(t, values...)
	if err != nil {
		t.Fatal(stderr(err))
	}
	return text
}

func render(t *testing.T, values ...string) ([]byte, error) {
	args := []string{"template", "perfrun", filepath.Join(root, "charts/perfrun"), "--namespace", namespace, "--kube-version", kubeVersion}
	for _, value := range values {
		args = append(args, "--set", value)
	}
	return helm(t, args...).Output()
}

// readInputs reads what Helm and kustomize read: the go command remembers a result until a file changes that a test itself has read.
var readInputs = sync.OnceValue(func() error {
	var errs []error
	for _, folder := range []string{"charts", "config"} {
		errs = append(errs, filepath.WalkDir(filepath.Join(root, folder), func(path string, entry os.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				_, err = os.ReadFile(path)
			}
			return err
		}))
	}
	return errors.Join(errs...)
})

func helm(t *testing.T, args ...string) *exec.Cmd {
	if err := readInputs(); err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs(filepath.Join(root, ".local/bin/helm"))
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		t.Fatalf("there is no Helm (%v); `make test` builds it", err)
	}
	command := exec.Command(program, args...)
	// Nothing of whoever runs this.
	home := t.TempDir()
	command.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	return command
}

func assets(t *testing.T) string {
	folder := os.Getenv("KUBEBUILDER_ASSETS")
	if folder == "" {
		t.Fatal("KUBEBUILDER_ASSETS names no folder with kubectl; `make test` finds or builds one")
	}
	return folder
}

func stderr(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	if err == nil {
		return "no error"
	}
	return err.Error()
}

// objects of a file by kind and name, without the labels that only Helm gives. Kubernetes' own kinds are decoded strictly.
func objects(t *testing.T, text []byte) map[string]any {
	t.Helper()
	strict := serializer.NewCodecFactory(clientgoscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	out := map[string]any{}
	decoder := yaml.NewYAMLToJSONDecoder(bytes.NewReader(text))
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if object.Object == nil {
			continue
		}
		if clientgoscheme.Scheme.Recognizes(object.GroupVersionKind()) {
			json, err := object.MarshalJSON()
			if err == nil {
				_, _, err = strict.Decode(json, nil, nil)
			}
			if err != nil {
				t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
			}
		}
		object.SetLabels(withoutHelms(object.GetLabels()))
		out[object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = object.Object
	}
}

func withoutHelms(labels map[string]string) map[string]string {
	out := maps.Clone(labels)
	for _, label := range []string{"app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"} {
		delete(out, label)
	}
	return out
}
