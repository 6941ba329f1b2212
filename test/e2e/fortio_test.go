package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/plan"
)

// fortioImage is the environment variable that names an image of the stock Fortio command, which is also what fortio/fortio is.
const fortioImage = "E2E_FORTIO_IMAGE"

// fortioServer is a pod with `fortio server`, which runs load tests that it is asked for over HTTP.
type fortioServer struct{ *corev1.Pod }

// fortioResult is the part of Fortio's own report that is compared.
type fortioResult struct {
	ActualQPS         float64
	RetCodes          map[string]int64
	DurationHistogram struct {
		Count       int64
		Percentiles []struct{ Percentile, Value float64 }
	}
}

// startFortio puts Fortio where the run's load tester is: on its node, with or without a sidecar like its own.
func startFortio(ctx context.Context, run *v1alpha1.PerfRun, name string, sidecar bool) fortioServer {
	GinkgoHelper()
	pod := fortioPod(run, name)
	if sidecar {
		pod.Annotations = dapr.Sidecar{AppID: name, Configuration: plan.NamesOf(run).Configuration, Metrics: true,
			CPULimit: run.Status.Settings.SidecarCPU, MemoryLimit: run.Status.Settings.SidecarMemory}.Annotations()
	}
	Expect(cluster.Create(ctx, pod)).To(Succeed())
	Eventually(ctx, func() (bool, error) {
		err := cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		return podReady(pod), err
	}).WithTimeout(preparing).WithPolling(pollEvery).Should(BeTrue(), func() string {
		return "Fortio's pod does not become ready\n" + cluster.describeNamespace(ctx, pod.Namespace)
	})
	Expect(dapr.SidecarSpec(pod) != nil).To(Equal(sidecar), "whether pod %s has a sidecar", name)
	return fortioServer{pod}
}

func fortioPod(run *v1alpha1.PerfRun, name string) *corev1.Pod {
	return &corev1.Pod{
		// As one of the run's pods, which the run's NetworkPolicies let call the target.
		ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: name, Labels: map[string]string{plan.LabelRun: string(run.UID)}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](1),
			AutomountServiceAccountToken:  ptr.To(false),
			Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					LabelSelector: metav1.SetAsLabelSelector(plan.Labels(run, plan.RoleLoadTester)),
					TopologyKey:   corev1.LabelHostname,
				}}}},
			SecurityContext: unprivilegedPod(),
			Containers: []corev1.Container{{
				Name:            "fortio",
				Image:           os.Getenv(fortioImage),
				ImagePullPolicy: corev1.PullIfNotPresent,
				Args:            fortioServing,
				Resources:       corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}},
				SecurityContext: unprivileged(),
			}},
		},
	}
}

func podReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// load is `fortio load -qps -c -t -uniform -r 0.00005 -payload` of the run's own rate, connections and size of body.
func (f fortioServer) load(ctx context.Context, run *v1alpha1.PerfRun, url string, duration time.Duration) fortioResult {
	GinkgoHelper()
	settings := run.Status.Settings
	answer, err := cluster.clientset.CoreV1().Pods(f.Namespace).ProxyGet("http", f.Name, "8080", "/fortio/rest/run", map[string]string{
		"url": url,
		"qps": fmt.Sprint(settings.RPS),
		"c":   fmt.Sprint(settings.Connections[0]),
		"t":   duration.String(),
		// Steps of 50 us: Fortio's default of 1 ms would put the whole baseline into one bucket.
		"r":       "0.00005",
		"p":       "50,90,99",
		"uniform": "on",
		"payload": strings.Repeat("x", int(settings.PayloadBytes)),
		"H":       "Content-Type: text/plain",
	}).DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred(), "running Fortio: %s", answer)
	var result fortioResult
	Expect(json.Unmarshal(answer, &result)).To(Succeed(), "Fortio answered: %s", answer)
	Expect(result.RetCodes).To(And(HaveLen(1), HaveKey("200")), "Fortio's answers by code")
	return result
}

// at is a percentile of Fortio's.
func (r fortioResult) at(percentile float64) time.Duration {
	GinkgoHelper()
	for _, p := range r.DurationHistogram.Percentiles {
		if p.Percentile == percentile {
			return time.Duration(p.Value * float64(time.Second))
		}
	}
	Fail(fmt.Sprintf("Fortio's report has no p%g", percentile))
	return 0
}

// fortioURLs are the two paths that the run has measured.
func fortioURLs(run *v1alpha1.PerfRun) (baseline, throughDapr string) {
	target := plan.NamesOf(run).Target
	return fmt.Sprintf("http://%s.%s:%d%s", target, run.Namespace, measure.TargetPort, measure.TargetPath),
		dapr.InvokeURL(target, strings.TrimPrefix(measure.TargetPath, "/"))
}
