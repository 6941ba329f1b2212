// Package prometheus_test holds config/prometheus and config/grafana against the programs that they are for.
package prometheus_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// read one of the objects of config/prometheus. A field that the Prometheus Operator does not know is an error.
func read[T any](t *testing.T, file string) *T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "config/prometheus", file))
	if err != nil {
		t.Fatal(err)
	}
	out := new(T)
	if err := yaml.UnmarshalStrict(text, out); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return out
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(root, ".local/bin/promtool"))
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		t.Fatalf("there is no promtool (%v); `make test` builds it", err)
	}
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", args, err, out)
	}
}

// The alert rules are well-formed, and fire when they should and only then: config/prometheus/tests.yaml.
func TestRules(t *testing.T) {
	rule := read[monitoringv1.PrometheusRule](t, "rules.yaml")
	text, err := yaml.Marshal(rule.Spec)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	rules, tests := filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "tests.yaml")
	if err := os.WriteFile(rules, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cases, err := os.ReadFile(filepath.Join(root, "config/prometheus/tests.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tests, cases, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", "--lint=all", "--lint-fatal", rules)
	promtool(t, "test", "rules", tests)
	for _, group := range rule.Spec.Groups {
		for _, r := range group.Rules {
			for _, annotation := range []string{"summary", "description", "runbook"} {
				if r.Annotations[annotation] == "" {
					t.Errorf("alert %s has no %s", r.Alert, annotation)
				}
			}
		}
	}
}

// Rules and dashboard ask for metrics that there are: docs/prometheus.md has all (internal/metrics, controllers).
func TestMetricsExist(t *testing.T) {
	text := func(file string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	docs := text("docs/prometheus.md")
	names := regexp.MustCompile(`\bperfrun_[a-z0-9_]+`)
	for _, file := range []string{"config/prometheus/rules.yaml", "config/prometheus/tests.yaml", "config/grafana/perfrun.json"} {
		found := names.FindAllString(text(file), -1)
		if len(found) < 10 {
			t.Errorf("%s has few metrics: %v", file, found)
		}
		for _, name := range found {
			if !strings.Contains(docs, "| `"+strings.TrimSuffix(name, "_bucket")+"` |") {
				t.Errorf("%s asks for %s, which there is not", file, name)
			}
		}
	}
}

func TestServiceMonitor(t *testing.T) {
	monitor := read[monitoringv1.ServiceMonitor](t, "service_monitor.yaml")
	if len(monitor.Spec.Endpoints) != 1 || !monitor.Spec.Endpoints[0].HonorLabels {
		t.Errorf("the label namespace would be the operator's own: %+v", monitor.Spec.Endpoints)
	}
}
