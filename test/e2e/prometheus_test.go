package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// prometheusImage is the environment variable that names an image with Prometheus as its entry point.
const prometheusImage = "E2E_PROMETHEUS_IMAGE"

// expectMetrics has a real Prometheus scrape the operator, as a user's would, when a run has been measured: it has the run's figures, evaluates the
// alert rules, answers the dashboard's queries, and forgets what is deleted.
func expectMetrics(ctx context.Context, run *v1alpha1.PerfRun) {
	GinkgoHelper()
	begin := time.Now()
	p := startPrometheus(ctx, run.Namespace)
	Eventually(ctx, func() ([]string, error) { return p.names(ctx, `up == 1`, "job") }).WithTimeout(20 * time.Second).Should(ConsistOf("perfrun"))
	Expect(p.names(ctx, `up == 0`, "job")).To(ConsistOf("stranger"), "who has no token is shown nothing")

	schedule := regressedSchedule(ctx, run.Namespace)
	next := perfRun(run.Namespace, "next")
	Expect(cluster.Create(ctx, next)).To(Succeed())
	names := func(query string) func() ([]string, error) {
		return func() ([]string, error) {
			return p.names(ctx, fmt.Sprintf(query, `namespace="`+run.Namespace+`"`), "name")
		}
	}
	Eventually(ctx, names(`perfrun_active{%s}`)).WithTimeout(20 * time.Second).Should(ConsistOf("next"))

	By("the figures being those of the status")
	added := run.Status.Results[0].Added.P50.Value
	Expect(p.query(ctx, fmt.Sprintf(`perfrun_added_latency_seconds{namespace=%q,name=%q,percentile="p50",connections="16"}`, run.Namespace, run.Name))).
		To(ConsistOf(HaveField("Value", BeNumerically("~", added.Seconds(), 1e-9))))

	By("the rules being evaluated")
	Eventually(ctx, names(`ALERTS{alertname="PerfScheduleRegressed",alertstate="firing",%s}`)).WithTimeout(10 * time.Second).Should(ConsistOf(schedule.Name))
	Eventually(ctx, names(`ALERTS{alertname=~"PerfRun(Failed|Error|Inconclusive)",alertstate="firing",%s}`)).WithTimeout(10 * time.Second).
		Should(HaveLen(map[bool]int{true: 0, false: 1}[run.Status.Phase == v1alpha1.PhaseSucceeded]))
	p.expectRules(ctx)

	By("the dashboard's queries being answered")
	p.expectDashboard(ctx, run, begin)

	By("what is deleted being forgotten")
	for _, object := range []client.Object{next, schedule, run} {
		Expect(cluster.Delete(ctx, object)).To(Succeed())
	}
	Eventually(ctx, names(`{__name__=~"perfrun_.*",%s}`)).WithTimeout(20 * time.Second).Should(BeEmpty())
}

// regressedSchedule is one whose status says so: it takes ten runs to come to that by itself (internal/trend). Nothing is due for it.
func regressedSchedule(ctx context.Context, namespace string) *v1alpha1.PerfSchedule {
	GinkgoHelper()
	s := &v1alpha1.PerfSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "yearly"}, Spec: v1alpha1.PerfScheduleSpec{
		Schedule: "0 0 1 1 *", RunTemplate: v1alpha1.RunTemplate{Spec: perfRun(namespace, "").Spec}}}
	Expect(cluster.Create(ctx, s)).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		g.Expect(cluster.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
		g.Expect(s.Status.NextScheduleTime).NotTo(BeNil())
		now := metav1.Now()
		s.Status.LastScheduleTime, s.Status.LastSuccessfulTime = &now, &now
		s.Status.Changes = []v1alpha1.FigureChange{{Metric: "added.p99", Connections: 16, Direction: v1alpha1.DirectionRegression, Before: "1ms", After: "2ms",
			Size: v1alpha1.Size{Value: "1", Low: "0.9", High: "1.1"}, Since: "yearly-1", Time: now, Results: 5}}
		for i := range s.Status.Conditions {
			if c := &s.Status.Conditions[i]; c.Type == v1alpha1.ConditionRegressed {
				c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonRegression
			}
		}
		g.Expect(cluster.Status().Update(ctx, s)).To(Succeed())
	}).WithTimeout(10 * time.Second).Should(Succeed())
	return s
}

// prometheus is a pod that serves Prometheus' API.
type prometheus struct{ *corev1.Pod }

// startPrometheus runs one that scrapes as config/prometheus tells the Prometheus Operator to.
func startPrometheus(ctx context.Context, namespace string) prometheus {
	GinkgoHelper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "prometheus"}}
	Expect(cluster.Create(ctx, account)).To(Succeed())
	reader := &rbacv1.ClusterRoleBinding{}
	readConfig("prometheus/reader.yaml", reader)
	reader.Name = namespace
	reader.Subjects[0].Namespace, reader.Subjects[0].Name = namespace, account.Name
	Expect(cluster.Create(ctx, reader)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(cluster.Delete(ctx, reader)).To(Succeed()) })
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "prometheus"}, Data: prometheusConfig()}
	Expect(cluster.Create(ctx, config)).To(Succeed())
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "prometheus"},
		Spec: corev1.PodSpec{
			ServiceAccountName: account.Name, TerminationGracePeriodSeconds: ptr.To[int64](1), SecurityContext: unprivilegedPod(),
			Volumes: []corev1.Volume{
				{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: config.Name}}}},
				{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
			Containers: []corev1.Container{{
				Name: "prometheus", Image: os.Getenv(prometheusImage), ImagePullPolicy: corev1.PullIfNotPresent, SecurityContext: unprivileged(),
				Args:         []string{"--config.file=/config/prometheus.yaml", "--storage.tsdb.path=/data"},
				VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/config"}, {Name: "data", MountPath: "/data"}},
				ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/-/ready", Port: intstr.FromInt32(9090)}}},
			}},
		},
	}
	Expect(cluster.Create(ctx, pod)).To(Succeed())
	Eventually(ctx, func() (bool, error) {
		err := cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		return podReady(pod), err
	}).WithTimeout(preparing).WithPolling(pollEvery).Should(BeTrue(), func() string {
		return "Prometheus' pod does not become ready\n" + cluster.describeNamespace(ctx, namespace)
	})
	return prometheus{pod}
}

// prometheusConfig is what the Prometheus Operator would make of the ServiceMonitor and the rules, but that it scrapes every second; and a second
// job that comes without a token.
func prometheusConfig() map[string]string {
	GinkgoHelper()
	monitor, rule := &monitoringv1.ServiceMonitor{}, &monitoringv1.PrometheusRule{}
	readConfig("prometheus/service_monitor.yaml", monitor)
	readConfig("prometheus/rules.yaml", rule)
	endpoint := monitor.Spec.Endpoints[0]
	job := func(name string) map[string]any {
		return map[string]any{
			"job_name": name, "scheme": endpoint.Scheme, "metrics_path": endpoint.Path, "honor_labels": endpoint.HonorLabels,
			"tls_config":     map[string]any{"insecure_skip_verify": endpoint.TLSConfig.InsecureSkipVerify},
			"static_configs": []any{map[string]any{"targets": []string{operatorDeployment + "-metrics." + operatorNamespace + ".svc:8443"}}},
		}
	}
	known := job("perfrun")
	known["authorization"] = map[string]any{"credentials_file": endpoint.BearerTokenFile} //nolint:staticcheck // what kubebuilder's own ServiceMonitor has
	config, err := yaml.Marshal(map[string]any{
		"global":         map[string]any{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files":     []string{"/config/rules.yaml"},
		"scrape_configs": []any{known, job("stranger")},
	})
	Expect(err).NotTo(HaveOccurred())
	rules, err := yaml.Marshal(rule.Spec)
	Expect(err).NotTo(HaveOccurred())
	return map[string]string{"prometheus.yaml": string(config), "rules.yaml": string(rules)}
}

// readConfig reads an object of config/.
func readConfig(file string, into any) {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(checkout, "config", file))
	Expect(err).NotTo(HaveOccurred())
	Expect(yaml.UnmarshalStrict(text, into)).To(Succeed())
}

// get asks Prometheus' API through the API server.
func (p prometheus) get(ctx context.Context, path string, parameters map[string]string, into any) error {
	answer, err := cluster.clientset.CoreV1().Pods(p.Namespace).ProxyGet("http", p.Name, "9090", "/api/v1/"+path, parameters).DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("asking Prometheus for %s %v: %w: %s", path, parameters, err, answer)
	}
	return json.Unmarshal(answer, &struct {
		Data any `json:"data"`
	}{into})
}

func (p prometheus) query(ctx context.Context, expression string) (model.Vector, error) {
	var out struct{ Result model.Vector }
	err := p.get(ctx, "query", map[string]string{"query": expression}, &out)
	return out.Result, err
}

// names are a label's values in what a query returns, each once.
func (p prometheus) names(ctx context.Context, expression string, label model.LabelName) ([]string, error) {
	samples, err := p.query(ctx, expression)
	var out []string
	seen := map[string]bool{}
	for _, sample := range samples {
		if name := string(sample.Metric[label]); !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out, err
}

// expectRules: each rule was evaluated, without an error.
func (p prometheus) expectRules(ctx context.Context) {
	GinkgoHelper()
	var rules promv1.RulesResult
	Expect(p.get(ctx, "rules", nil, &rules)).To(Succeed())
	Expect(rules.Groups).To(HaveLen(1))
	for _, r := range rules.Groups[0].Rules {
		rule, ok := r.(promv1.AlertingRule)
		Expect(ok).To(BeTrue(), "%T", r)
		Expect(rule).To(And(HaveField("Health", BeEquivalentTo(promv1.RuleHealthGood)), HaveField("LastError", "")), "alert %s", rule.Name)
	}
}

// expectDashboard: every query of the dashboard returned something since a time.
func (p prometheus) expectDashboard(ctx context.Context, run *v1alpha1.PerfRun, since time.Time) {
	GinkgoHelper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	text, err := os.ReadFile(filepath.Join(checkout, "config/grafana/perfrun.json"))
	Expect(err).NotTo(HaveOccurred())
	Expect(json.Unmarshal(text, &dashboard)).To(Succeed())
	variables := strings.NewReplacer("$namespace", run.Namespace, "$kind", ".*", "$name", ".*", "$__rate_interval", "10s")
	queries := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries++
			var out struct{ Result model.Matrix }
			Expect(p.get(ctx, "query_range", map[string]string{"query": variables.Replace(target.Expr), "step": "1",
				"start": fmt.Sprint(since.Unix()), "end": fmt.Sprint(time.Now().Unix())}, &out)).To(Succeed(), "panel %q", panel.Title)
			if bound := strings.Contains(target.Expr, "_low_") || strings.Contains(target.Expr, "_high_"); bound && !hasIntervals(run) {
				continue
			}
			Expect(out.Result).NotTo(BeEmpty(), "panel %q: %s", panel.Title, target.Expr)
		}
	}
	Expect(queries).To(BeNumerically(">", 20))
}

// hasIntervals: on a busy machine too few pairs may be left for them.
func hasIntervals(run *v1alpha1.PerfRun) bool {
	added := run.Status.Results[0].Added
	return added.P50.Low != nil && added.P90.Low != nil && added.P99.Low != nil && added.CPUPer1000RPS.Low != nil
}
