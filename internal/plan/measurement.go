package plan

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/measure"
)

// AttemptID of a run's measurement. A run has one attempt: whatever is lost during it is an Error, never measured again silently.
const AttemptID = "attempt-1"

// requestTimeout is Fortio's default.
const requestTimeout = 3 * time.Second

// minBlock is the shortest block that says anything: shorter ones are all start and end.
const minBlock = time.Second

// Check tells what is impossible about the settings in a way that no rule of the API server can see; nil if nothing is.
func Check(s v1alpha1.Settings) error {
	block := blockDuration(s)
	if block < minBlock {
		return fmt.Errorf("spec.duration %s split into spec.pairs %d makes blocks of %s: at least %s is needed; lengthen duration or lower pairs",
			s.Duration.Duration, s.Pairs, block, minBlock)
	}
	if s.Warmup.Duration > s.Duration.Duration {
		return fmt.Errorf("spec.warmup %s is longer than spec.duration %s", s.Warmup.Duration, s.Duration.Duration)
	}
	for _, c := range s.Connections {
		if n := measure.Requests(float64(s.RPS), block); n < 2*int64(c) {
			return fmt.Errorf("spec.rps %d sends %d requests in a block of %s: spec.connections %d needs at least two each, %d; raise rps or duration, or lower connections or pairs",
				s.RPS, n, block, c, 2*c)
		}
	}
	return nil
}

// Blocks is the schedule: at each point a warm-up of each arm with the same load, then the pairs, the order of their arms alternating (ABBA),
// so that drift within a run hits both arms alike. Without a baseline a pair is the Dapr arm's block alone.
func Blocks(s v1alpha1.Settings) []measure.Block {
	var blocks []measure.Block
	arms := []measure.Arm{measure.Baseline, measure.Dapr}
	if s.Baseline == v1alpha1.BaselineNone {
		arms = arms[1:]
	}
	for point, connections := range s.Connections {
		block := func(arm measure.Arm, pair int, d time.Duration, warmup bool) {
			blocks = append(blocks, measure.Block{
				Point: point, Connections: int(connections), Arm: arm, Pair: pair, Duration: d, Warmup: warmup})
		}
		for _, arm := range arms {
			block(arm, -1, s.Warmup.Duration, true)
		}
		for pair := range int(s.Pairs) {
			for i := range arms {
				block(arms[(i+pair)%len(arms)], pair, blockDuration(s), false)
			}
		}
	}
	return blocks
}

func blockDuration(s v1alpha1.Settings) time.Duration {
	return s.Duration.Duration / time.Duration(s.Pairs)
}

// Pods are the pods that a measurement needs.
type Pods struct {
	LoadTester, Target *corev1.Pod
	ControlPlane       []corev1.Pod
}

// Measurement is the plan that the load tester runs.
func Measurement(run *v1alpha1.PerfRun, s v1alpha1.Settings, attempt v1alpha1.Attempt, pods Pods) *measure.Plan {
	names := NamesOf(run)
	traces := ""
	if !run.Spec.Target.Foreign() {
		traces = targetURL(pods.Target, measure.TargetTracesPort, measure.TargetTracesPath)
	}
	return &measure.Plan{
		Version:        measure.Version,
		Run:            string(run.UID),
		Attempt:        attempt.ID,
		Instance:       attempt.Instance,
		RPS:            float64(s.RPS),
		Body:           body(run.Spec.Payload, s.PayloadBytes),
		ContentType:    contentType(run.Spec.Payload),
		RequestTimeout: requestTimeout,
		Endpoints: map[measure.Arm]measure.Endpoint{
			measure.Baseline: {Method: "POST", URL: fmt.Sprintf("http://%s.%s:%d%s", names.Target, run.Namespace, measure.TargetPort, measure.TargetPath)},
			measure.Dapr:     {Method: "POST", URL: dapr.InvokeURL(names.Target, strings.TrimPrefix(measure.TargetPath, "/"))},
		},
		Blocks:             Blocks(s),
		Counters:           counters(pods),
		TracesURL:          traces,
		SidecarMetadataURL: dapr.MetadataURL(),
		MTLSProbe:          dapr.InternalAddress(pods.Target.Status.PodIP),
		RequireMTLS:        s.MTLS,
	}
}

func targetURL(target *corev1.Pod, port int, path string) string {
	return "http://" + hostPort(target.Status.PodIP, port) + path
}

// counters lists what is read: /proc in both pods, which holds the application and its sidecar, and the metrics of every Dapr process.
func counters(pods Pods) []measure.Counter {
	target, tester := pods.Target, pods.LoadTester
	out := []measure.Counter{
		{Component: string(v1alpha1.ComponentLoadTester), Sidecar: string(v1alpha1.ComponentCallerSidecar),
			Pod: tester.Name, Source: measure.SourceLocalProc},
		{Component: string(v1alpha1.ComponentApp), Sidecar: string(v1alpha1.ComponentTargetSidecar), Pod: target.Name,
			Source: measure.SourceRemoteProc, URL: targetURL(target, measure.TargetUsagePort, measure.TargetUsagePath)},
		{Component: string(v1alpha1.ComponentCallerSidecar), Pod: tester.Name,
			Source: measure.SourcePrometheus, URL: dapr.MetricsURL(tester.Status.PodIP)},
		{Component: string(v1alpha1.ComponentTargetSidecar), Pod: target.Name,
			Source: measure.SourcePrometheus, URL: dapr.MetricsURL(target.Status.PodIP)},
	}
	for i := range pods.ControlPlane {
		pod := &pods.ControlPlane[i]
		part, ok := dapr.PartOf(pod)
		if !ok || pod.Status.PodIP == "" {
			continue
		}
		out = append(out, measure.Counter{Component: string(part), Pod: pod.Name,
			Source: measure.SourcePrometheus, URL: dapr.MetricsURL(pod.Status.PodIP)})
	}
	return out
}
