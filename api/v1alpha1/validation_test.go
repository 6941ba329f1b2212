package v1alpha1_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"perfrun.dev/perfrun/internal/measure"
)

// perfRun is a PerfRun as a person writes it: the lines of spec are YAML; scenario is Invocation unless they say otherwise.
func perfRun(spec string) *unstructured.Unstructured {
	GinkgoHelper()
	fields := map[string]any{}
	Expect(yaml.Unmarshal([]byte(spec), &fields)).To(Succeed())
	if _, found := fields["scenario"]; !found {
		fields["scenario"] = "Invocation"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "perfrun.dev/v1alpha1",
		"kind":       "PerfRun",
		"metadata":   map[string]any{"generateName": "test-", "namespace": "default"},
		"spec":       fields,
	}}
}

// refused expects a refusal that holds each of the sentences, and nothing that only a developer understands.
func refused(err error, sentences ...string) {
	GinkgoHelper()
	Expect(err).To(HaveOccurred(), "the API server has accepted it")
	for _, s := range sentences {
		Expect(err.Error()).To(ContainSubstring(s))
	}
	Expect(err.Error()).NotTo(ContainSubstring("evaluation error"))
	Expect(err.Error()).NotTo(ContainSubstring("no such"))
}

// expectSamplesAccepted creates every sample whose file has such a name.
func expectSamplesAccepted(ctx context.Context, files string) {
	GinkgoHelper()
	samples, err := filepath.Glob(filepath.Join(configDir, "samples", files))
	Expect(err).NotTo(HaveOccurred())
	Expect(samples).NotTo(BeEmpty())
	for _, path := range samples {
		text, err := os.ReadFile(path)
		Expect(err).NotTo(HaveOccurred())
		sample := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal(text, sample)).To(Succeed())
		sample.SetNamespace("default")
		Expect(strict.Create(ctx, sample)).To(Succeed(), path)
	}
}

const mayNotChange = "cannot be changed once the PerfRun exists; create another PerfRun"

var _ = Describe("A PerfRun", func() {
	It("is accepted as each sample has it", func(ctx context.Context) {
		expectSamplesAccepted(ctx, "perfrun_*.yaml")
	})

	DescribeTable("is accepted with",
		func(ctx context.Context, spec string) {
			Expect(strict.Create(ctx, perfRun(spec))).To(Succeed())
		},
		Entry("nothing but a scenario", ""),
		Entry("the lowest rate", "rps: 1"),
		Entry("the highest rate", "rps: 100000"),
		Entry("no sampling", `sampling: "0"`),
		Entry("the least sampling that fits", `sampling: "0.00000000000001"`),
		Entry("all sampling", `sampling: "1"`),
		Entry("all sampling, with decimals", `sampling: "1.0"`),
		Entry("an empty generated payload", "payload: {size: 0}"),
		Entry("a payload size as a number", "payload: {size: 512}"),
		Entry("a payload size as text", `payload: {size: "512"}`),
		Entry("the largest payload", "payload: {size: 1Mi}"),
		Entry("a payload size in exponent form", "payload: {size: 1e3}"),
		Entry("an empty body", `payload: {body: ""}`),
		Entry("the largest body", "payload: {body: "+strings.Repeat("x", 16384)+"}"),
		Entry("the shortest duration", "{duration: 2s, pairs: 2, warmup: 0s}"),
		Entry("the longest duration", "duration: 24h"),
		Entry("a compound duration", "duration: 1m30s"),
		Entry("a fraction of a minute", "{duration: 1.5m, warmup: 500ms}"),
		Entry("a duration as Go writes it", "{duration: 1m0s, warmup: 1m0s}"),
		Entry("a duration of one second for each pair", "{duration: 6s}"),
		Entry("no warm-up", "warmup: 0s"),
		Entry("a warm-up as long as the default duration", "warmup: 1m"),
		Entry("the longest warm-up", "{duration: 24h, warmup: 1h}"),
		Entry("one point", "connections: [1]"),
		Entry("the most points", "connections: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 4096]"),
		Entry("one pair", "pairs: 1"),
		Entry("the most pairs", "pairs: 60"),
		Entry("each baseline: Direct", "{baseline: Direct, thresholds: {added: {p90: 2ms}}}"),
		Entry("each baseline: None", "{baseline: None, thresholds: {latency: {p90: 2ms}}}"),
		Entry("actors", "scenario: Actors"),
		Entry("actors with everything set", "{scenario: Actors, actors: {ids: New, type: My.Counter_2, method: noOp, stateStore: redis}}"),
		Entry("actors of an image", "{scenario: Actors, actors: {type: Counter}, target: {image: host:1}}"),
		Entry("actors of an image with a baseline", "{scenario: Actors, actors: {type: A}, baseline: Direct, target: {image: host:1}, thresholds: {added: {p90: 2ms}}}"),
		Entry("each host of actors: Go", "{scenario: Actors, actors: {host: Go}, thresholds: {added: {p90: 2ms}}}"),
		Entry("each host of actors: Java", "{scenario: Actors, actors: {host: Java, method: noOp}}"),
		Entry("actors in Java with a baseline", "{scenario: Actors, actors: {host: Java}, baseline: Direct, thresholds: {added: {p90: 2ms}}}"),
		Entry("actors and several load testers", "{scenario: Actors, loadTester: {replicas: 8}}"),
		Entry("several actor hosts", "{scenario: Actors, actors: {replicas: 16, stateStore: redis}}"),
		Entry("one actor host", "{scenario: Actors, actors: {replicas: 1}, loadTester: {replicas: 2}}"),
		Entry("several actor hosts and load testers", "{scenario: Actors, actors: {replicas: 2, stateStore: redis}, loadTester: {replicas: 2}, placement: Any}"),
		Entry("rebalancing", "{scenario: Actors, actors: {rebalance: true, stateStore: redis}}"),
		Entry("rebalancing with everything set", "{scenario: Actors, baseline: None, connections: [4], pairs: 3, loadTester: {replicas: 1}, actors: {ids: 50, replicas: 3, rebalance: true, stateStore: redis}}"),
		Entry("no rebalancing", "{scenario: Actors, actors: {rebalance: false}, thresholds: {errorRatio: '0.1'}}"),
		Entry("one warm actor", "{scenario: Actors, actors: {ids: 1}}"),
		Entry("the most warm actors", "{scenario: Actors, actors: {ids: 10000}}"),
		Entry("the control plane", "scenario: ControlPlane"),
		Entry("the control plane with everything set", "{scenario: ControlPlane, controlPlane: {pods: 500, actorHosts: false}, duration: 10s, sidecar: {cpu: 100m}, target: {nodeSelector: {pool: x}}, cleanup: Never}"),
		Entry("mTLS off", "mTLS: false"),
		Entry("company", "exclusive: false"),
		Entry("company for the control plane", "{scenario: ControlPlane, exclusive: false}"),
		Entry("an empty path", "invocation: {}"),
		Entry("HTTP to gRPC", "invocation: {target: GRPC}"),
		Entry("gRPC to HTTP", "invocation: {caller: GRPC, target: HTTP, proxying: false}"),
		Entry("gRPC to gRPC", "invocation: {caller: GRPC, target: GRPC}"),
		Entry("an image that speaks gRPC", "{target: {image: example.com/app, port: 9000}, invocation: {caller: GRPC, target: GRPC}}"),
		Entry("an image and an empty path", "{target: {image: example.com/app}, invocation: {}}"),
		Entry("gRPC proxying", "invocation: {caller: GRPC, target: GRPC, proxying: true}"),
		Entry("telemetry as by default", "telemetry: {}"),
		Entry("telemetry the other way round", `{sampling: "1", telemetry: {export: true, metrics: false}}`),
		Entry("a sink without anything to export", `{sampling: "0", telemetry: {export: true}}`),
		Entry("each placement: SameNode", "placement: SameNode"),
		Entry("each placement: Any", "placement: Any"),
		Entry("each placement: DifferentNode", "placement: DifferentNode"),
		Entry("each clean-up: Always", "cleanup: Always"),
		Entry("each clean-up: OnSuccess", "cleanup: OnSuccess"),
		Entry("each clean-up: Never", "cleanup: Never"),
		Entry("the shortest deadline", "{suspend: true, activeDeadlineSeconds: 1}"),
		Entry("the longest deadline", "activeDeadlineSeconds: 604800"),
		Entry("a deadline for the control plane", "{scenario: ControlPlane, suspend: true, activeDeadlineSeconds: 600, cleanup: Never, ttlSecondsAfterFinished: 60}"),
		Entry("no time for what is kept", "{cleanup: Never, ttlSecondsAfterFinished: 0}"),
		Entry("sidecar limits", "sidecar: {cpu: 500m, memory: 256Mi, image: example.com/daprd:1.18.0, logLevel: debug}"),
		Entry("no sidecar limits", `sidecar: {cpu: 0, memory: "0"}`),
		Entry("sidecar limits as numbers", "sidecar: {cpu: 2, memory: 268435456}"),
		Entry("every threshold", `thresholds: {added: {p50: 500us, p90: 2ms, p99: 1.5s}, latency: {p50: 1m, p90: 1us, p99: 1s500ms}, errorRatio: "0", sidecarCPU: 500m, sidecarMemory: 256Mi}`),
		Entry("thresholds as numbers", `thresholds: {sidecarCPU: 2, sidecarMemory: 268435456}`),
		Entry("all errors allowed", `thresholds: {errorRatio: "1.0"}`),
		Entry("a threshold on an interval with enough pairs", `{pairs: 6, thresholds: {added: {p90: 2ms}}}`),
		Entry("thresholds that need no interval with one pair", `{pairs: 1, thresholds: {errorRatio: "0.01", sidecarMemory: 1Gi}}`),
		Entry("one load tester", "loadTester: {replicas: 1}"),
		Entry("load testers that share the default connections", "loadTester: {replicas: 16}"),
		Entry("load testers that share each of the connections", "{connections: [3, 24], loadTester: {replicas: 3}}"),
		Entry("settings of both pods", `
loadTester:
  resources: {requests: {cpu: 1, memory: 64Mi}, limits: {cpu: "2", memory: 128Mi}}
  nodeSelector: {disk: ssd}
target:
  tolerations: [{key: dedicated, operator: Equal, value: perf, effect: NoSchedule}]
  imagePullSecrets: [{name: pull}]`),
		Entry("an image as target", "target: {image: example.com/app:1}"),
		Entry("an image as target, in full", `target: {image: "example.com/app:1", args: [serve, ""], port: 5000, runAsUser: 1000, nodeSelector: {disk: ssd}}`),
	)

	DescribeTable("is refused with",
		func(ctx context.Context, spec string, sentences ...string) {
			refused(strict.Create(ctx, perfRun(spec)), sentences...)
		},
		Entry("rps 0", "rps: 0", "spec.rps", "greater than or equal to 1"),
		Entry("rps below 0", "rps: -1", "spec.rps", "greater than or equal to 1"),
		Entry("rps above the highest", "rps: 100001", "spec.rps", "less than or equal to 100000"),
		Entry("rps in words", "rps: many", "spec.rps", "must be of type integer"),
		Entry("a fraction of rps", "rps: 1.5", "spec.rps", "must be of type integer"),
		Entry("another baseline", "baseline: Other", "spec.baseline", `"Direct", "None"`),
		Entry("a threshold on what is added to nothing", "{baseline: None, thresholds: {added: {p90: 2ms}}}", "spec.baseline", "thresholds.added needs baseline: Direct"),
		Entry("actors in another scenario", "{scenario: Invocation, actors: {ids: New}}", "spec.actors", "takes scenario: Actors"),
		Entry("service invocation in another scenario", "{scenario: Actors, invocation: {caller: HTTP}}", "spec.invocation", "takes scenario: Invocation"),
		Entry("several actor hosts without a state store", "{scenario: Actors, actors: {replicas: 2}}", "spec.actors.replicas", "needs actors.stateStore"),
		Entry("rebalancing without a state store", "{scenario: Actors, actors: {rebalance: true}}", "spec.actors.rebalance", "needs actors.stateStore"),
		Entry("rebalancing fresh actors", "{scenario: Actors, actors: {ids: New, rebalance: true, stateStore: redis}}", "spec.actors.ids", "must be a number with actors.rebalance"),
		Entry("rebalancing with a baseline", "{scenario: Actors, baseline: Direct, actors: {rebalance: true, stateStore: redis}}", "spec.actors", "leave thresholds, baseline: Direct"),
		Entry("rebalancing at several points", "{scenario: Actors, connections: [4, 8], actors: {rebalance: true, stateStore: redis}}", "spec.actors", "is measured at one point"),
		Entry("rebalancing with thresholds", "{scenario: Actors, thresholds: {errorRatio: '0.1'}, actors: {rebalance: true, stateStore: redis}}", "spec.actors", "results of its own"),
		Entry("rebalancing by several load testers", "{scenario: Actors, loadTester: {replicas: 2}, actors: {rebalance: true, stateStore: redis}}", "spec.actors", "by one load tester"),
		Entry("no actor host", "{scenario: Actors, actors: {replicas: 0}}", "spec.actors.replicas", "greater than or equal to 1"),
		Entry("too many actor hosts", "{scenario: Actors, actors: {replicas: 17, stateStore: redis}}", "spec.actors.replicas", "less than or equal to 16"),
		Entry("several actor hosts and load testers on nodes of their own", "{scenario: Actors, actors: {replicas: 2, stateStore: redis}, loadTester: {replicas: 2}}", "spec.placement", "take placement: Any"),
		Entry("no warm actors", "{scenario: Actors, actors: {ids: 0}}", "spec.actors.ids", "must be New or a number"),
		Entry("too many warm actors", "{scenario: Actors, actors: {ids: 10001}}", "spec.actors.ids", "must be New or a number"),
		Entry("other actors", "{scenario: Actors, actors: {ids: Old}}", "spec.actors.ids", "must be New or a number"),
		Entry("a number of actors in quotes", `{scenario: Actors, actors: {ids: "100"}}`, "spec.actors.ids", "must be New or a number"),
		Entry("an actor type that is more than a name", "{scenario: Actors, actors: {type: a/b}}", "spec.actors.type", "such as Counter"),
		Entry("an actor method that is more than a name", "{scenario: Actors, actors: {method: remind/me}}", "spec.actors.method", "such as echo"),
		Entry("an empty actor type", `{scenario: Actors, actors: {type: ""}}`, "spec.actors.type", "such as Counter"),
		Entry("an empty state store", `{scenario: Actors, actors: {stateStore: ""}}`, "spec.actors.stateStore", "at least 1"),
		Entry("more load testers than an actors run has connections by default", "{scenario: Actors, loadTester: {replicas: 16}}", "spec.connections", "must be multiples of loadTester.replicas"),
		Entry("actors of an image without their type", "{scenario: Actors, target: {image: host:1}}", "spec.actors", "actors.type must name the type that target.image hosts"),
		Entry("actors of an image with other settings but their type", "{scenario: Actors, actors: {ids: 10}, target: {image: host:1}}", "spec.actors", "actors.type must name"),
		Entry("a threshold on what is added to an image's actors", "{scenario: Actors, actors: {type: A}, target: {image: host:1}, thresholds: {added: {p90: 2ms}}}", "spec.baseline", "thresholds.added needs baseline: Direct"),
		Entry("a control plane in another scenario", "controlPlane: {pods: 5}", "spec.controlPlane", "takes scenario: ControlPlane"),
		Entry("no pods for the control plane", "{scenario: ControlPlane, controlPlane: {pods: 0}}", "spec.controlPlane.pods", "greater than or equal to 1"),
		Entry("too many pods for the control plane", "{scenario: ControlPlane, controlPlane: {pods: 501}}", "spec.controlPlane.pods", "less than or equal to 500"),
		Entry("a load for the control plane", "{scenario: ControlPlane, rps: 100}", "spec.scenario", "sends no load"),
		Entry("thresholds for the control plane", "{scenario: ControlPlane, thresholds: {errorRatio: '0.1'}}", "spec.scenario", "sends no load"),
		Entry("an image for the control plane", "{scenario: ControlPlane, target: {image: app}}", "spec.target.image", "leave target.image out"),
		Entry("a threshold on what is added to actors in Java", "{scenario: Actors, actors: {host: Java}, thresholds: {added: {p90: 2ms}}}", "spec.baseline", "thresholds.added needs baseline: Direct"),
		Entry("an unknown host of actors", "{scenario: Actors, actors: {host: Rust}}", "spec.actors.host", `supported values: "Go", "Java"`),
		Entry("two hosts of actors", "{scenario: Actors, actors: {host: Java, type: A}, target: {image: host:1}}", "spec.actors", "actors.host and target.image are both the host"),
		Entry("sampling above 1", `sampling: "1.5"`, "spec.sampling", `between 0 and 1 in quotes, such as "0.1"`),
		Entry("sampling just above 1", `sampling: "1.01"`, "spec.sampling", "between 0 and 1"),
		Entry("sampling below 0", `sampling: "-0.1"`, "spec.sampling", "between 0 and 1"),
		Entry("sampling in words", `sampling: "abc"`, "spec.sampling", "between 0 and 1"),
		Entry("sampling in exponent form", `sampling: "1e-1"`, "spec.sampling", "between 0 and 1"),
		Entry("empty sampling", `sampling: ""`, "spec.sampling", "between 0 and 1"),
		Entry("sampling without quotes", "sampling: 0.1", "spec.sampling", "must be of type string"),
		Entry("both kinds of payload", "payload: {size: 1Ki, body: hello}", "spec.payload", "exactly one of size and body"),
		Entry("no kind of payload", "payload: {}", "spec.payload", "exactly one of size and body"),
		Entry("an unparsable payload size", "payload: {size: 1Kx}", "spec.payload.size", "number of bytes between 0 and 1Mi, such as 1Ki or 512"),
		Entry("a payload size that only looks like a quantity", "payload: {size: 1e1.5}", "spec.payload.size", "between 0 and 1Mi"),
		Entry("a payload size below 0", "payload: {size: -1}", "spec.payload.size", "between 0 and 1Mi"),
		Entry("a payload size above the largest", "payload: {size: 2Mi}", "spec.payload.size", "between 0 and 1Mi"),
		Entry("a payload size just above the largest", "payload: {size: 1048577}", "spec.payload.size", "between 0 and 1Mi"),
		Entry("a payload size beyond integers", "payload: {size: '1e30'}", "spec.payload.size", "between 0 and 1Mi"),
		Entry("a fraction of a byte", "payload: {size: 1500m}", "spec.payload.size", "between 0 and 1Mi"),
		Entry("an empty payload size", `payload: {size: ""}`, "spec.payload.size", "between 0 and 1Mi"),
		Entry("a body that is too long", "payload: {body: "+strings.Repeat("x", 16385)+"}", "spec.payload.body", "may not be more than 16384"),
		Entry("a duration in words", "duration: 1 minute", "spec.duration", "between 2s and 24h, such as 30s, 1m or 1m30s"),
		Entry("a duration of 0", "duration: 0s", "spec.duration", "between 2s and 24h"),
		Entry("a duration below the shortest", "{duration: 1999ms, pairs: 1}", "spec.duration", "between 2s and 24h"),
		Entry("a duration below 0", "duration: -5s", "spec.duration", "between 2s and 24h"),
		Entry("a duration above the longest", "duration: 25h", "spec.duration", "between 2s and 24h"),
		Entry("a duration beyond what a duration can hold", "duration: 99999999999h", "spec.duration", "between 2s and 24h"),
		Entry("a duration without unit", `duration: "60"`, "spec.duration", "between 2s and 24h"),
		Entry("a duration as a number", "duration: 60", "spec.duration", "must be of type string"),
		Entry("an empty duration", `duration: ""`, "spec.duration", "between 2s and 24h"),
		Entry("a duration too short for the default pairs", "duration: 5s", "spec.duration", "at least 1s for each of the pairs (default 6)"),
		Entry("a duration too short for its pairs", "{duration: 30s, pairs: 31}", "spec.duration", "at least 1s for each of the pairs"),
		Entry("a warm-up in words", "warmup: soon", "spec.warmup", "between 0s and 1h, such as 10s"),
		Entry("a warm-up above the longest", "{duration: 24h, warmup: 61m}", "spec.warmup", "between 0s and 1h"),
		Entry("a warm-up longer than the duration", "{duration: 30s, warmup: 31s}", "spec.warmup", "not be longer than duration"),
		Entry("a warm-up longer than the default duration", "warmup: 61s", "spec.warmup", "not be longer than duration (default 1m)"),
		Entry("no points", "connections: []", "spec.connections", "should have at least 1 items"),
		Entry("a point without connections", "connections: [0]", "spec.connections[0]", "greater than or equal to 1"),
		Entry("a point with too many connections", "connections: [16, 4097]", "spec.connections[1]", "less than or equal to 4096"),
		Entry("too many points", "connections: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]", "spec.connections", "must have at most 16 items"),
		Entry("one number as connections", "connections: 16", "spec.connections", "must be of type array"),
		Entry("no pairs", "pairs: 0", "spec.pairs", "greater than or equal to 1"),
		Entry("too many pairs", "{pairs: 61, duration: 2m}", "spec.pairs", "less than or equal to 60"),
		Entry("another scenario", "scenario: PubSub", "spec.scenario", `supported values: "Invocation", "Actors"`),
		Entry("no scenario", "scenario:", "spec.scenario", "Required value"),
		Entry("a protocol that is not offered", "invocation: {caller: HTTPS}", "spec.invocation.caller", `supported values: "HTTP", "GRPC"`),
		Entry("a mixed path to another's image", "{target: {image: example.com/app}, invocation: {caller: GRPC}}", "spec.invocation", "must be the same with target.image"),
		Entry("a mixed path to another's gRPC image", "{target: {image: example.com/app}, invocation: {target: GRPC}}", "spec.invocation", "must be the same with target.image"),
		Entry("proxying over HTTP", "invocation: {proxying: true}", "spec.invocation.proxying", "it needs caller GRPC and target GRPC"),
		Entry("proxying from HTTP", "invocation: {target: GRPC, proxying: true}", "spec.invocation.proxying", "it needs caller GRPC and target GRPC"),
		Entry("proxying to HTTP", "invocation: {caller: GRPC, target: HTTP, proxying: true}", "spec.invocation.proxying", "it needs caller GRPC and target GRPC"),
		Entry("an exporter by name", `telemetry: {export: zipkin}`, "spec.telemetry.export", "must be of type boolean"),
		Entry("mTLS in words", `mTLS: "on"`, "spec.mTLS", "must be of type boolean"),
		Entry("exclusive in words", "exclusive: never", "spec.exclusive", "must be of type boolean"),
		Entry("a misspelt placement", "placement: DifferentNodes", "spec.placement", `supported values: "DifferentNode", "SameNode", "Any"`),
		Entry("an unknown clean-up", "cleanup: Sometimes", "spec.cleanup", `supported values: "Always", "OnSuccess", "Never"`),
		Entry("suspend in words", `suspend: "yes"`, "spec.suspend", "must be of type boolean"),
		Entry("a deadline of 0", "activeDeadlineSeconds: 0", "spec.activeDeadlineSeconds", "greater than or equal to 1"),
		Entry("a deadline above the longest", "activeDeadlineSeconds: 604801", "spec.activeDeadlineSeconds", "less than or equal to 604800"),
		Entry("a deadline in words", "activeDeadlineSeconds: 10m", "spec.activeDeadlineSeconds", "must be of type integer"),
		Entry("a time to live below 0", "ttlSecondsAfterFinished: -1", "spec.ttlSecondsAfterFinished", "greater than or equal to 0"),
		Entry("an unparsable sidecar.cpu", "sidecar: {cpu: half}", "spec.sidecar.cpu", "number of CPUs, 0 or more, such as 500m or 1"),
		Entry("a sidecar.cpu below 0", "sidecar: {cpu: -1}", "spec.sidecar.cpu", "0 or more"),
		Entry("an unparsable sidecar.memory", "sidecar: {memory: plenty}", "spec.sidecar.memory", "number of bytes, 0 or more, such as 256Mi"),
		Entry("a sidecar.memory below 0", "sidecar: {memory: -1Mi}", "spec.sidecar.memory", "0 or more"),
		Entry("an empty sidecar.image", `sidecar: {image: ""}`, "spec.sidecar.image", "at least 1 chars long"),
		Entry("an unknown log level", "sidecar: {logLevel: loud}", "spec.sidecar.logLevel", `supported values: "debug", "info", "warn", "error"`),
		Entry("an unparsable limit of a pod", "target: {resources: {limits: {cpu: half}}}",
			"spec.target.resources.limits.cpu", "must be quantities, 0 or more, such as 500m or 256Mi"),
		// Without the rule it would be stored, and no typed client could ever read the list of PerfRuns again.
		Entry("a request that only looks like a quantity", `loadTester: {resources: {requests: {cpu: "1e1.5"}}}`,
			"spec.loadTester.resources", "must be quantities"),
		Entry("no load tester", "loadTester: {replicas: 0}", "spec.loadTester.replicas", "greater than or equal to 1"),
		Entry("too many load testers", "{connections: [17], loadTester: {replicas: 17}}", "spec.loadTester.replicas", "less than or equal to 16"),
		Entry("load testers among which the default connections cannot be divided", "loadTester: {replicas: 3}",
			"spec.connections", "connections (default [16], for Actors [8]) must be multiples of loadTester.replicas"),
		Entry("load testers among which some connections cannot be divided", "{connections: [8, 9], loadTester: {replicas: 2}}",
			"spec.connections", "must be multiples of loadTester.replicas"),
		Entry("several targets", "target: {replicas: 2}", `unknown field "spec.target.replicas"`),
		Entry("a limit below 0", "target: {resources: {limits: {memory: -1}}}", "spec.target.resources", "0 or more"),
		Entry("resource claims", "target: {resources: {claims: [{name: gpu}]}}", "spec.target.resources", "requests and limits only"),
		Entry("an empty target.image", `target: {image: ""}`, "spec.target.image", "at least 1 chars long"),
		Entry("target.args without image", "target: {args: [serve]}", "spec.target.args", "target.args needs target.image"),
		Entry("target.port without image", "target: {port: 5000}", "spec.target.port", "target.port needs target.image"),
		Entry("target.runAsUser without image", "target: {runAsUser: 1000}", "spec.target.runAsUser", "target.runAsUser needs target.image"),
		Entry("serviceAccountName in a pod, target", `target: {serviceAccountName: admin}`, `unknown field "spec.target.serviceAccountName"`),
		Entry("hostNetwork in a pod, target", `target: {hostNetwork: true}`, `unknown field "spec.target.hostNetwork"`),
		Entry("hostPID in a pod, target", `target: {hostPID: true}`, `unknown field "spec.target.hostPID"`),
		Entry("volumes in a pod, target", `target: {volumes: [{name: v, hostPath: {path: /}}]}`, `unknown field "spec.target.volumes"`),
		Entry("securityContext in a pod, target", `target: {securityContext: {privileged: true}}`, `unknown field "spec.target.securityContext"`),
		Entry("namespace in a pod, target", `target: {namespace: kube-system}`, `unknown field "spec.target.namespace"`),
		Entry("env in a pod, target", `target: {env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}`, `unknown field "spec.target.env"`),
		Entry("annotations in a pod, target", `target: {annotations: {dapr.io/volume-mounts: "v:/v"}}`, `unknown field "spec.target.annotations"`),
		Entry("priorityClassName in a pod, target", `target: {priorityClassName: system-node-critical}`, `unknown field "spec.target.priorityClassName"`),
		Entry("hostAliases in a pod, target", `target: {hostAliases: [{ip: 10.0.0.1}]}`, `unknown field "spec.target.hostAliases"`),
		Entry("serviceAccountName in a pod, loadTester", `loadTester: {serviceAccountName: admin}`, `unknown field "spec.loadTester.serviceAccountName"`),
		Entry("hostNetwork in a pod, loadTester", `loadTester: {hostNetwork: true}`, `unknown field "spec.loadTester.hostNetwork"`),
		Entry("volumes in a pod, loadTester", `loadTester: {volumes: [{name: v, hostPath: {path: /}}]}`, `unknown field "spec.loadTester.volumes"`),
		Entry("an image of the load tester", "loadTester: {image: mine}", `unknown field "spec.loadTester.image"`),
		Entry("a pull secret in another namespace", "target: {imagePullSecrets: [{name: s, namespace: kube-system}]}", `unknown field "spec.target.imagePullSecrets[0].namespace"`),
		Entry("a target of root's", "target: {image: app, runAsUser: 0}", "spec.target.runAsUser", "greater than or equal to 1"),
		Entry("a target.port of 0", "target: {image: app, port: 0}", "spec.target.port", "greater than or equal to 1"),
		Entry("a target.port of the sidecar's", "target: {image: app, port: 3500}", "spec.target.port", "which Dapr's sidecar has in the same pod"),
		Entry("a target.port of the meter's", fmt.Sprintf("target: {image: app, port: %d}", measure.TargetUsagePort), "spec.target.port", "which is perfrun's meter's"),
		Entry("no threshold", "thresholds: {}", "spec.thresholds", "at least one of added, latency, errorRatio, sidecarCPU and sidecarMemory"),
		Entry("no percentile of added", "thresholds: {added: {}}", "spec.thresholds.added", "at least one of p50, p90 and p99"),
		Entry("a percentile that is not offered", "thresholds: {latency: {p95: 2ms}}", `unknown field "spec.thresholds.latency.p95"`),
		Entry("a threshold in words", "thresholds: {added: {p50: fast}}", "spec.thresholds.added.p50", "a limit on p50 must be between 1us and 1m, such as 500us, 2ms or 1.5s"),
		Entry("a threshold without unit", `thresholds: {added: {p90: "2"}}`, "spec.thresholds.added.p90", "a limit on p90 must be between 1us and 1m"),
		Entry("a threshold as a number", "thresholds: {added: {p90: 2}}", "spec.thresholds.added.p90", "must be of type string"),
		Entry("a threshold of 0", "thresholds: {latency: {p99: 0s}}", "spec.thresholds.latency.p99", "a limit on p99 must be between 1us and 1m"),
		Entry("a threshold below 0", "thresholds: {latency: {p99: -1ms}}", "spec.thresholds.latency.p99", "between 1us and 1m"),
		Entry("a threshold above the longest", "thresholds: {latency: {p99: 61s}}", "spec.thresholds.latency.p99", "between 1us and 1m"),
		Entry("a threshold below the shortest", "thresholds: {latency: {p99: 0.5us}}", "spec.thresholds.latency.p99", "between 1us and 1m"),
		Entry("an error ratio in percent", `thresholds: {errorRatio: "1%"}`, "spec.thresholds.errorRatio", `must be a decimal between 0 and 1 in quotes, such as "0.001"`),
		Entry("an error ratio above 1", `thresholds: {errorRatio: "2"}`, "spec.thresholds.errorRatio", "between 0 and 1"),
		Entry("an error ratio without quotes", `thresholds: {errorRatio: 0.1}`, "spec.thresholds.errorRatio", "must be of type string"),
		Entry("a sidecarCPU of 0", "thresholds: {sidecarCPU: 0}", "spec.thresholds.sidecarCPU", "number of CPUs above 0, such as 500m or 1"),
		Entry("an unparsable sidecarCPU", "thresholds: {sidecarCPU: half}", "spec.thresholds.sidecarCPU", "above 0"),
		Entry("a sidecarMemory below 0", "thresholds: {sidecarMemory: -1Mi}", "spec.thresholds.sidecarMemory", "number of bytes above 0, such as 256Mi"),
		Entry("too few pairs to judge added", "{pairs: 5, thresholds: {added: {p90: 2ms}}}", "spec.pairs", "at least 6 with thresholds on added, latency or sidecarCPU"),
		Entry("too few pairs to judge latency", "{pairs: 5, thresholds: {latency: {p90: 2ms}}}", "spec.pairs", "at least 6"),
		Entry("too few pairs to judge sidecarCPU", "{pairs: 5, thresholds: {sidecarCPU: 1}}", "spec.pairs", "at least 6"),
		Entry("an unknown field", "rpms: 1000", `unknown field "spec.rpms"`),
		Entry("an unknown field further down", "sidecar: {cpus: 1}", `unknown field "spec.sidecar.cpus"`),
	)

	DescribeTable("once it exists cannot be changed in",
		func(ctx context.Context, field, before, after string) {
			scenario := "scenario: Invocation\n"
			switch field {
			case "actors":
				scenario = "scenario: Actors\n"
			case "controlPlane":
				scenario = "scenario: ControlPlane\n"
			}
			unset := perfRun(scenario)
			with := perfRun(scenario + field + ": " + before)
			for _, change := range []struct {
				does string
				run  *unstructured.Unstructured
				to   string
			}{
				{"changing", with.DeepCopy(), scenario + field + ": " + after},
				{"removing", with.DeepCopy(), scenario},
				{"adding", unset.DeepCopy(), scenario + field + ": " + before},
			} {
				By(change.does)
				Expect(strict.Create(ctx, change.run)).To(Succeed())
				change.run.Object["spec"] = perfRun(change.to).Object["spec"]
				refused(strict.Update(ctx, change.run), "spec."+field+":", field+" "+mayNotChange)
			}
		},
		func(field, before, after string) string { return fmt.Sprintf("%s: %s to %s", field, before, after) },
		Entry(nil, "rps", "1000", "1001"),
		Entry(nil, "payload", "{size: 1Ki}", "{size: 2Ki}"),
		Entry(nil, "payload", "{size: 1Ki}", "{body: hello}"),
		Entry(nil, "payload", "{body: hello}", "{body: hallo}"),
		Entry(nil, "duration", "1m", "2m"),
		Entry(nil, "warmup", "10s", "20s"),
		Entry(nil, "connections", "[16]", "[16, 32]"),
		Entry(nil, "pairs", "6", "8"),
		Entry(nil, "invocation", "{target: GRPC}", "{caller: GRPC, target: GRPC}"),
		Entry(nil, "invocation", "{caller: GRPC, target: GRPC}", "{caller: GRPC, target: GRPC, proxying: true}"),
		Entry(nil, "baseline", "Direct", "None"),
		Entry(nil, "actors", "{ids: New}", "{ids: 100}"),
		Entry(nil, "actors", "{ids: 100}", "{ids: 200}"),
		Entry(nil, "controlPlane", "{pods: 5}", "{pods: 6}"),
		Entry(nil, "mTLS", "true", "false"),
		Entry(nil, "sampling", `"0.1"`, `"0.2"`),
		Entry(nil, "telemetry", "{export: true}", "{metrics: false}"),
		Entry(nil, "placement", "Any", "SameNode"),
		Entry(nil, "exclusive", "true", "false"),
		Entry(nil, "sidecar", "{cpu: 500m}", "{cpu: 600m}"),
		Entry(nil, "sidecar", "{cpu: 500m}", "{cpu: 500m, memory: 1Gi}"),
		Entry(nil, "thresholds", "{added: {p90: 2ms}}", "{added: {p90: 3ms}}"),
		Entry(nil, "thresholds", "{errorRatio: '0.1'}", "{errorRatio: '0.1', sidecarCPU: 1}"),
		Entry(nil, "loadTester", "{nodeSelector: {disk: ssd}}", "{nodeSelector: {disk: hdd}}"),
		Entry(nil, "loadTester", "{replicas: 2}", "{replicas: 4}"),
		Entry(nil, "target", "{resources: {limits: {cpu: 1}}}", "{resources: {limits: {cpu: 2}}}"),
		Entry(nil, "target", "{image: app}", "{image: app, port: 5000}"),
	)

	It("can change at any time how it is handled", func(ctx context.Context) {
		run := perfRun("rps: 10")
		Expect(strict.Create(ctx, run)).To(Succeed())
		for _, spec := range []string{"{rps: 10, cleanup: Never}", "{rps: 10, cleanup: OnSuccess, suspend: true}", "{rps: 10, suspend: false, activeDeadlineSeconds: 60}",
			"{rps: 10, activeDeadlineSeconds: 90, ttlSecondsAfterFinished: 0}", "{rps: 10, ttlSecondsAfterFinished: 3600}", "rps: 10"} {
			run.Object["spec"] = perfRun(spec).Object["spec"]
			Expect(strict.Update(ctx, run)).To(Succeed())
		}
	})

	It("fits into the annotation that a client-side kubectl apply makes", func() {
		text, err := os.ReadFile(filepath.Join(configDir, "crd", "bases", "perfrun.dev_perfruns.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(len(text)).To(BeNumerically("<", 256<<10))
	})
})
