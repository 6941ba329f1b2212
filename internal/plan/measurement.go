package plan

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/measure"
)

// AttemptID of a run's measurement, after so many that were stopped on purpose. Whatever else is lost of one is an Error, never measured
// again silently.
func AttemptID(void int32) string { return fmt.Sprintf("attempt-%d", void+1) }

// requestTimeout is Fortio's default.
const requestTimeout = 3 * time.Second

// minBlock is the shortest block that says anything: shorter ones are all start and end.
const minBlock = time.Second

// Check tells what is impossible about the settings in a way that no rule of the API server can see; nil if nothing is.
func Check(s v1alpha1.Settings) error {
	if s.ControlPlane != nil {
		return nil
	}
	if s.Rebalances() {
		if err := checkRebalance(s); err != nil {
			return err
		}
	}
	block := blockDuration(s)
	if block < minBlock {
		return fmt.Errorf("spec.duration %s split into spec.pairs %d makes blocks of %s: at least %s is needed; lengthen duration or lower pairs",
			s.Duration.Duration, s.Pairs, block, minBlock)
	}
	if s.Warmup.Duration > s.Duration.Duration {
		return fmt.Errorf("spec.warmup %s is longer than spec.duration %s", s.Warmup.Duration, s.Duration.Duration)
	}
	for _, c := range s.Connections {
		if c%s.LoadTesterReplicas != 0 {
			return fmt.Errorf("spec.connections %d is no multiple of spec.loadTester.replicas %d, so that the load testers cannot have the same share of the load",
				c, s.LoadTesterReplicas)
		}
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
	if s.Rebalances() {
		return rebalanceBlocks(s)
	}
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
	// LoadTesters in the order of attempt.LoadTesters.
	LoadTesters []*corev1.Pod
	// Targets: one, or several actor hosts.
	Targets []*corev1.Pod
	// Sink is nil unless the sidecars export their traces.
	Sink         *corev1.Pod
	ControlPlane []corev1.Pod
}

// Measurements are the plans that the load testers run, one for each of attempt.LoadTesters: the whole load where there is one, equal
// shares of it where there are several.
func Measurements(run *v1alpha1.PerfRun, s v1alpha1.Settings, attempt v1alpha1.Attempt, pods Pods) []*measure.Plan {
	out := make([]*measure.Plan, len(attempt.LoadTesters))
	for i, tester := range attempt.LoadTesters {
		out[i] = measurement(run, s, attempt, pods)
		out[i].Instance = tester.Instance
		out[i].Counters = ownCounters(s, pods.LoadTesters[i])
		if i == 0 {
			// What all of them share is read by one.
			out[i].Counters = append(out[i].Counters, sharedCounters(s, pods)...)
			if run.Spec.OwnApplication() {
				out[i].TracesURLs = map[string]string{}
				for _, target := range pods.Targets {
					out[i].TracesURLs[target.Name] = podURL(target, measure.TargetTracesPort, measure.TargetTracesPath)
				}
			}
			if pods.Sink != nil {
				out[i].SinkURL = podURL(pods.Sink, measure.SinkCountsPort, measure.SinkCountsPath)
			}
		}
		if len(out) > 1 {
			start := ptr.Deref(attempt.LoadStartTime, metav1.Time{}).Time
			share(out[i], i, len(out), start.Add(ptr.Deref(tester.ClockOffset, v1alpha1.Latency{}).Duration))
		}
	}
	return out
}

// measurement is the whole load, as one load tester would run it.
func measurement(run *v1alpha1.PerfRun, s v1alpha1.Settings, attempt v1alpha1.Attempt, pods Pods) *measure.Plan {
	return &measure.Plan{
		Version:            measure.Version,
		Run:                string(run.UID),
		Attempt:            attempt.ID,
		RPS:                float64(s.RPS),
		Body:               httpBody(run, s),
		ContentType:        contentType(run.Spec.EffectivePayload()),
		RequestTimeout:     requestTimeout,
		Endpoints:          endpoints(run, s),
		Actors:             actors(run, s, pods),
		Blocks:             Blocks(s),
		SidecarMetadataURL: dapr.MetadataURL(),
		MTLSProbe:          dapr.InternalAddress(pods.Targets[0].Status.PodIP),
		RequireMTLS:        s.MTLS,
	}
}

func podURL(pod *corev1.Pod, port int, path string) string {
	return "http://" + hostPort(pod.Status.PodIP, port) + path
}

// ownCounters are a load tester's: /proc in its own pod, which holds it and its sidecar, and the sidecar's metrics if it has any.
func ownCounters(s v1alpha1.Settings, tester *corev1.Pod) []measure.Counter {
	out := []measure.Counter{{Component: string(v1alpha1.ComponentLoadTester), Sidecar: string(v1alpha1.ComponentCallerSidecar),
		Pod: tester.Name, Source: measure.SourceLocalProc}}
	if s.Metrics {
		out = append(out, daprCounter(string(v1alpha1.ComponentCallerSidecar), tester))
	}
	return out
}

// sharedCounters are /proc in the target's pods, and the metrics of their sidecars, if they have any, and of every process of Dapr's control plane.
func sharedCounters(s v1alpha1.Settings, pods Pods) []measure.Counter {
	var out []measure.Counter
	for _, target := range pods.Targets {
		out = append(out, measure.Counter{Component: string(v1alpha1.ComponentApp), Sidecar: string(v1alpha1.ComponentTargetSidecar), Pod: target.Name,
			Source: measure.SourceRemoteProc, URL: podURL(target, measure.TargetUsagePort, measure.TargetUsagePath)})
		if s.Metrics {
			out = append(out, daprCounter(string(v1alpha1.ComponentTargetSidecar), target))
		}
	}
	for i := range pods.ControlPlane {
		pod := &pods.ControlPlane[i]
		part, ok := dapr.PartOf(pod)
		if !ok || pod.Status.PodIP == "" {
			continue
		}
		out = append(out, daprCounter(string(part), pod))
	}
	return out
}

// daprCounter is a Dapr process's own metrics.
func daprCounter(component string, pod *corev1.Pod) measure.Counter {
	return measure.Counter{Component: component, Pod: pod.Name, Source: measure.SourcePrometheus, URL: dapr.MetricsURL(pod.Status.PodIP)}
}
