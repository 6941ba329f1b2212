package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Scenario names what is measured.
//
// +kubebuilder:validation:Enum=Invocation;Actors;ControlPlane
type Scenario string

// The scenarios.
const (
	// ScenarioInvocation is Dapr service invocation, over the path in spec.invocation.
	ScenarioInvocation Scenario = "Invocation"
	// ScenarioActors is calls of actors' methods: HTTP from the load tester to its sidecar, and HTTP from the target's sidecar to the target,
	// which hosts the actors.
	ScenarioActors Scenario = "Actors"
	// ScenarioControlPlane brings pods with sidecars up and takes them down, and measures what that takes of Dapr's control plane. No load is sent.
	ScenarioControlPlane Scenario = "ControlPlane"
)

// Placement says on which nodes the load tester and the target run.
//
// +kubebuilder:validation:Enum=DifferentNode;SameNode;Any
type Placement string

// The placements.
const (
	// PlacementDifferentNode puts load tester and target on two nodes, as the published tests do. The default.
	PlacementDifferentNode Placement = "DifferentNode"
	// PlacementSameNode puts both on one node, so that no network lies between them.
	PlacementSameNode Placement = "SameNode"
	// PlacementAny leaves it to the scheduler.
	PlacementAny Placement = "Any"
)

// BaselineKind says what the path through Dapr is compared with.
//
// +kubebuilder:validation:Enum=Direct;None
type BaselineKind string

// The baselines.
const (
	// BaselineDirect sends the same requests straight to the target's Service. The default.
	BaselineDirect BaselineKind = "Direct"
	// BaselineNone measures the path through Dapr alone: nothing is known of what Dapr adds.
	BaselineNone BaselineKind = "None"
)

// Cleanup says when the objects that a run created are deleted after it has finished.
//
// +kubebuilder:validation:Enum=Always;OnSuccess;Never
type Cleanup string

// The choices of clean-up. Whatever is left goes with the PerfRun, by owner references.
const (
	// CleanupAlways deletes them whatever the verdict. The default.
	CleanupAlways Cleanup = "Always"
	// CleanupOnSuccess keeps them for a look unless the run Succeeded.
	CleanupOnSuccess Cleanup = "OnSuccess"
	// CleanupNever keeps them, idle, until the PerfRun is deleted.
	CleanupNever Cleanup = "Never"
)

// PerfRunSpec is what to measure. Every field but scenario has a default that repeats the published Dapr test of the scenario;
// the values in force are echoed in status.settings. What is measured cannot be changed afterwards: create another PerfRun.
//
// The rules on change stand at PerfRun.spec: not here, because a schedule's template may change, and not on the fields, because a field's
// own rule is not run when the field is added or removed.
//
// +kubebuilder:validation:XValidation:rule="self.scenario != 'Actors' || !has(self.target) || !has(self.target.image) || has(self.actors) && has(self.actors.type)",fieldPath=".actors",message="actors.type must name the type that target.image hosts"
// +kubebuilder:validation:XValidation:rule="!has(self.actors) || !has(self.actors.host) || !has(self.target) || !has(self.target.image)",fieldPath=".actors",message="actors.host and target.image are both the host of the actors; leave one of them out"
// +kubebuilder:validation:XValidation:rule="!has(self.actors) || self.scenario == 'Actors'",fieldPath=".actors",message="actors takes scenario: Actors; leave it out, or change the scenario"
// +kubebuilder:validation:XValidation:rule="!has(self.actors) || !has(self.actors.replicas) || self.actors.replicas == 1 || !has(self.loadTester) || !has(self.loadTester.replicas) || self.loadTester.replicas == 1 || has(self.placement) && self.placement != 'DifferentNode'",fieldPath=".placement",message="placement DifferentNode (the default) cannot part several load testers from several actor hosts, since each kind spreads over all nodes; take placement: Any, or one replica of either"
// +kubebuilder:validation:XValidation:rule="!has(self.actors) || !has(self.actors.rebalance) || !self.actors.rebalance || !(has(self.thresholds) || has(self.connections) && self.connections.size() > 1 || has(self.baseline) && self.baseline == 'Direct' || has(self.loadTester) && has(self.loadTester.replicas) && self.loadTester.replicas > 1)",fieldPath=".actors",message="actors.rebalance is measured at one point, by one load tester, without a baseline and with results of its own: leave thresholds, baseline: Direct, loadTester.replicas and further connections out"
// +kubebuilder:validation:XValidation:rule="!has(self.invocation) || self.scenario == 'Invocation'",fieldPath=".invocation",message="invocation takes scenario: Invocation; leave it out, or change the scenario"
// +kubebuilder:validation:XValidation:rule="!has(self.controlPlane) || self.scenario == 'ControlPlane'",fieldPath=".controlPlane",message="controlPlane takes scenario: ControlPlane; leave it out, or change the scenario"
// +kubebuilder:validation:XValidation:rule="self.scenario != 'ControlPlane' || !(has(self.rps) || has(self.payload) || has(self.warmup) || has(self.connections) || has(self.pairs) || has(self.baseline) || has(self.mTLS) || has(self.sampling) || has(self.telemetry) || has(self.placement) || has(self.loadTester) || has(self.thresholds))",fieldPath=".scenario",message="scenario ControlPlane sends no load: of what is measured it takes only controlPlane, duration, sidecar, target and exclusive"
// +kubebuilder:validation:XValidation:rule="self.scenario != 'ControlPlane' || !has(self.target) || !has(self.target.image)",fieldPath=".target.image",message="scenario ControlPlane brings up perfrun's own application; leave target.image out"
// +kubebuilder:validation:XValidation:rule="!has(self.thresholds) || !has(self.pairs) || self.pairs >= 6 || !(has(self.thresholds.added) || has(self.thresholds.latency) || has(self.thresholds.sidecarCPU))",fieldPath=".pairs",message="pairs must be at least 6 with thresholds on added, latency or sidecarCPU: they are judged on an interval, and with fewer pairs there is none"
// +kubebuilder:validation:XValidation:rule="!has(self.thresholds) || !has(self.thresholds.added) || (has(self.baseline) ? self.baseline == 'Direct' : self.scenario != 'Actors' || (!has(self.target) || !has(self.target.image)) && (!has(self.actors) || !has(self.actors.host) || self.actors.host != 'Java'))",fieldPath=".baseline",message="thresholds.added needs baseline: Direct to compare with (actors of target.image and of host: Java have none by default); limit thresholds.latency instead"
// +kubebuilder:validation:XValidation:rule=`!has(self.warmup) || !self.warmup.matches(r'^(\d+(\.\d+)?(ms|[smh]))+$') || (has(self.duration) ? !self.duration.matches(r'^(\d+(\.\d+)?(ms|[smh]))+$') || duration(self.warmup) <= duration(self.duration) : duration(self.warmup) <= duration('1m'))`,fieldPath=".warmup",message="warmup must not be longer than duration (default 1m)"
// +kubebuilder:validation:XValidation:rule="!has(self.loadTester) || !has(self.loadTester.replicas) || (has(self.connections) ? self.connections.all(c, c % self.loadTester.replicas == 0) : (self.scenario == 'Actors' ? 8 : 16) % self.loadTester.replicas == 0)",fieldPath=".connections",message="connections (default [16], for Actors [8]) must be multiples of loadTester.replicas, so that each load tester has the same share of the load"
// +kubebuilder:validation:XValidation:rule=`!has(self.duration) || !self.duration.matches(r'^(\d+(\.\d+)?(ms|[smh]))+$') || duration(self.duration).getSeconds() >= (has(self.pairs) ? self.pairs : 6)`,fieldPath=".duration",message="duration must be at least 1s for each of the pairs (default 6)"
// +kubebuilder:validation:XValidation:rule="!has(self.target) || !has(self.target.image) || !has(self.invocation) || (has(self.invocation.caller) ? self.invocation.caller : 'HTTP') == (has(self.invocation.target) ? self.invocation.target : 'HTTP')",fieldPath=".invocation",message="invocation.caller and invocation.target must be the same with target.image: the baseline calls the image over the caller's protocol and its sidecar over the target's, and it has one port"
type PerfRunSpec struct {
	// scenario is what is measured. Invocation: service invocation. Actors: calls of actors' methods.
	// ControlPlane: what pods with sidecars, coming and going, take of Dapr's control plane.
	// +required
	Scenario Scenario `json:"scenario"`

	// invocation is the path of service invocation: which protocols the load tester and the target speak. Default HTTP to HTTP.
	// +optional
	Invocation *Invocation `json:"invocation,omitempty"`

	// actors says which actors are called in scenario Actors. Default: a fresh one with each request.
	// +optional
	Actors *ActorsSettings `json:"actors,omitempty"`

	// controlPlane says how many pods are brought up in scenario ControlPlane.
	// +optional
	ControlPlane *ControlPlaneSettings `json:"controlPlane,omitempty"`

	// rps is the rate of requests per second, held by every block of both arms; from 1 to 100000. Default 1000, for Actors 500.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	RPS *int32 `json:"rps,omitempty"`

	// payload is the body of each request; the target sends it back. Default 1Ki of text, for Actors the body {}.
	// +optional
	Payload *Payload `json:"payload,omitempty"`

	// duration is the measured time of each arm at each point, split evenly between the pairs of blocks;
	// from 2s to 24h, and at least 1s for each pair. In scenario ControlPlane it is the time of each of the steps Idle and Steady. Default 1m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^(\d+(\.\d+)?(ms|[smh]))+$') && duration(self) >= duration('2s') && duration(self) <= duration('24h')`,message="duration must be between 2s and 24h, such as 30s, 1m or 1m30s"
	Duration *metav1.Duration `json:"duration,omitempty"`

	// warmup is how long each arm is driven with the same load before its point is measured; its requests are discarded.
	// From 0s (only one request per connection) to 1h, and not longer than duration. Default 10s, or the duration where that is shorter.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^(\d+(\.\d+)?(ms|[smh]))+$') && duration(self) <= duration('1h')`,message="warmup must be between 0s and 1h, such as 10s"
	Warmup *metav1.Duration `json:"warmup,omitempty"`

	// connections lists the numbers of client connections to measure at: one point each, measured one after the other;
	// 1 to 16 points of 1 to 4096 connections. Default [16], for Actors [8].
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=4096
	Connections []int32 `json:"connections,omitempty"`

	// pairs is the number of pairs of blocks (one of each arm, order alternating) that each point is split into; from 1 to 60. Default 6.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	Pairs *int32 `json:"pairs,omitempty"`

	// baseline says what the path through Dapr is compared with. Direct: the same requests straight to the target. None: nothing; each pair
	// is then one block of the Dapr arm, and no added latency is known. Default Direct, but None for actors that target.image hosts: the
	// host's own runtime activates what is called, and would never deactivate what its sidecar does not know.
	// +optional
	Baseline *BaselineKind `json:"baseline,omitempty"`

	// mTLS says whether the two sidecars speak mutual TLS to each other. perfrun switches it for the run's own pods and leaves the cluster's
	// setting alone; it looks at the wire before the load, and ends the run with Error where it finds the other. Default true.
	// +optional
	MTLS *bool `json:"mTLS,omitempty"`

	// sampling is the fraction of requests that the sidecars trace, a decimal from 0 to 1. Default "0.1".
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^(0(\.\d+)?|1(\.0+)?)$')`,message="sampling must be a decimal between 0 and 1 in quotes, such as \"0.1\""
	Sampling *string `json:"sampling,omitempty"`

	// telemetry says what the sidecars do with what they sample, and whether they keep metrics.
	// +optional
	Telemetry *TelemetrySettings `json:"telemetry,omitempty"`

	// placement says on which nodes the load tester and the target run. Default DifferentNode.
	// +optional
	Placement *Placement `json:"placement,omitempty"`

	// sidecar configures the Dapr sidecars of the load tester and the target alike.
	// +optional
	Sidecar *SidecarSettings `json:"sidecar,omitempty"`

	// loadTester configures the pods that send the load.
	// +optional
	LoadTester *LoadTesterSettings `json:"loadTester,omitempty"`

	// target configures the pod that receives the load, and says what application it is.
	// +optional
	Target *TargetSettings `json:"target,omitempty"`

	// thresholds are limits that the results must keep at every point, or the verdict is Failed. Unset: nothing is judged.
	// +optional
	Thresholds *Thresholds `json:"thresholds,omitempty"`

	// exclusive says whether the run measures alone. true: exclusive runs measure one at a time in the cluster, in the order of their
	// creation. false: it waits for no run, and none waits for it; whatever measures at the same time, disturbs it and is disturbed by it,
	// and both name the other in status.environment.sharedWith. Default true.
	// +optional
	Exclusive *bool `json:"exclusive,omitempty"`

	// suspend holds a run that has not begun to measure, and stops one that measures: its load ends, what it created is deleted, and nothing
	// of that attempt counts. When it is unset or false again, the run takes its place in the queue by its creation, and starts afresh. A run
	// whose load has ended comes to its verdict all the same. May be changed at any time. Default false.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// cleanup says when the objects that the run created are deleted after it has finished. May be changed at any time. Default Always.
	// +optional
	Cleanup *Cleanup `json:"cleanup,omitempty"`

	// activeDeadlineSeconds is how long the run may take from when it leaves the queue, in seconds; from 1 to 604800, a week. One that has not
	// been measured by then ends with Error, reason DeadlineExceeded; one whose load has ended comes to its verdict. May be changed at any
	// time. Default none: each wait of a run has a deadline of its own.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	ActiveDeadlineSeconds *int32 `json:"activeDeadlineSeconds,omitempty"`

	// ttlSecondsAfterFinished is how long what cleanup has kept stays after the verdict, in seconds; from 0. The PerfRun stays, with its
	// results and its raw data: to delete an object that Git manages would be to have it made, and measured, again. May be changed at any
	// time. Default none: what is kept stays as long as the PerfRun.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// Payload is the body of each request: so many bytes of text, or a body given in full.
//
// +kubebuilder:validation:XValidation:rule="has(self.size) != has(self.body)",message="payload takes exactly one of size and body"
type Payload struct {
	// size is the number of bytes of generated text, from 0 to 1Mi.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).isInteger() && quantity(string(self)).asInteger() >= 0 && quantity(string(self)).asInteger() <= 1048576",message="payload.size must be a number of bytes between 0 and 1Mi, such as 1Ki or 512"
	Size *resource.Quantity `json:"size,omitempty"`

	// body is the whole body, at most 16384 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	Body *string `json:"body,omitempty"`
}

// Thresholds are upper limits, each judged at each point. Latencies and sidecarCPU are judged on their 95% interval over the pairs:
// one that lies wholly at or below the limit meets it, one wholly above misses it, and one with the limit inside decides nothing, which
// makes the run Inconclusive. They therefore need at least 6 pairs. errorRatio and sidecarMemory are judged on the figure itself.
//
// +kubebuilder:validation:XValidation:rule="has(self.added) || has(self.latency) || has(self.errorRatio) || has(self.sidecarCPU) || has(self.sidecarMemory)",message="thresholds must set at least one of added, latency, errorRatio, sidecarCPU and sidecarMemory"
type Thresholds struct {
	// added limits the latency that Dapr adds (results[].added).
	// +optional
	Added *LatencyThresholds `json:"added,omitempty"`

	// latency limits the response time through Dapr (results[].dapr.latency).
	// +optional
	Latency *LatencyThresholds `json:"latency,omitempty"`

	// errorRatio limits the fraction of the Dapr arm's requests that fail, a decimal from 0 to 1. Where it is set, it replaces the rule
	// that more than 1% of errors in the Dapr arm make a run Inconclusive.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^(0(\.\d+)?|1(\.0+)?)$')`,message="thresholds.errorRatio must be a decimal between 0 and 1 in quotes, such as \"0.001\""
	ErrorRatio *string `json:"errorRatio,omitempty"`

	// sidecarCPU limits the vCPU of both sidecars together in the Dapr arm's blocks.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).isGreaterThan(quantity('0'))",message="thresholds.sidecarCPU must be a number of CPUs above 0, such as 500m or 1"
	SidecarCPU *resource.Quantity `json:"sidecarCPU,omitempty"`

	// sidecarMemory limits the resident memory of both sidecars together, each at its largest in the Dapr arm's blocks.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).isGreaterThan(quantity('0'))",message="thresholds.sidecarMemory must be a number of bytes above 0, such as 256Mi"
	SidecarMemory *resource.Quantity `json:"sidecarMemory,omitempty"`
}

// LatencyThresholds are limits of percentiles, each from 1us to 1m; unset: that percentile is not judged.
//
// +kubebuilder:validation:XValidation:rule="has(self.p50) || has(self.p90) || has(self.p99)",message="at least one of p50, p90 and p99 must be set"
type LatencyThresholds struct {
	// p50 limits the median.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^(\d+(\.\d+)?(us|ms|s|m))+$') && duration(self) >= duration('1us') && duration(self) <= duration('1m')`,message="a limit on p50 must be between 1us and 1m, such as 500us, 2ms or 1.5s"
	P50 *Latency `json:"p50,omitempty"`
	// p90 limits the 90th percentile.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^(\d+(\.\d+)?(us|ms|s|m))+$') && duration(self) >= duration('1us') && duration(self) <= duration('1m')`,message="a limit on p90 must be between 1us and 1m, such as 500us, 2ms or 1.5s"
	P90 *Latency `json:"p90,omitempty"`
	// p99 limits the 99th percentile. A block needs 1000 requests for it.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^(\d+(\.\d+)?(us|ms|s|m))+$') && duration(self) >= duration('1us') && duration(self) <= duration('1m')`,message="a limit on p99 must be between 1us and 1m, such as 500us, 2ms or 1.5s"
	P99 *Latency `json:"p99,omitempty"`
}

// PerfRun measures what Dapr costs on this cluster: the latency that its sidecars add to a path, and the CPU and memory
// that each part of Dapr takes while the load runs.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pr,categories=all
// +kubebuilder:printcolumn:name="Scenario",type=string,JSONPath=`.spec.scenario`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Queue",type=integer,JSONPath=`.status.queuePosition`
// +kubebuilder:printcolumn:name="Done",type=string,JSONPath=`.status.progress.display`
// +kubebuilder:printcolumn:name="RPS",type=string,JSONPath=`.status.results[0].dapr.achievedRPS`
// +kubebuilder:printcolumn:name="P90",type=string,JSONPath=`.status.results[0].dapr.latency.p90`
// +kubebuilder:printcolumn:name="P99",type=string,JSONPath=`.status.results[0].dapr.latency.p99`
// +kubebuilder:printcolumn:name="Added P90",type=string,JSONPath=`.status.results[0].added.p90.value`
// +kubebuilder:printcolumn:name="Added P99",type=string,JSONPath=`.status.results[0].added.p99.value`
// +kubebuilder:printcolumn:name="Sidecar CPU",type=string,JSONPath=`.status.summary.sidecarCPU`
// +kubebuilder:printcolumn:name="Sidecar Memory",type=string,JSONPath=`.status.summary.sidecarMemory`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Path",type=string,priority=1,JSONPath=`.status.settings.invocation.display`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Succeeded")].message`
type PerfRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what to measure.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.scenario == oldSelf.scenario",fieldPath=".scenario",message="scenario cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.invocation) ? has(oldSelf.invocation) && self.invocation == oldSelf.invocation : !has(oldSelf.invocation)",fieldPath=".invocation",message="invocation cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.actors) ? has(oldSelf.actors) && self.actors == oldSelf.actors : !has(oldSelf.actors)",fieldPath=".actors",message="actors cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.controlPlane) ? has(oldSelf.controlPlane) && self.controlPlane == oldSelf.controlPlane : !has(oldSelf.controlPlane)",fieldPath=".controlPlane",message="controlPlane cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.rps) ? has(oldSelf.rps) && self.rps == oldSelf.rps : !has(oldSelf.rps)",fieldPath=".rps",message="rps cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.payload) ? has(oldSelf.payload) && self.payload == oldSelf.payload : !has(oldSelf.payload)",fieldPath=".payload",message="payload cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.duration) ? has(oldSelf.duration) && self.duration == oldSelf.duration : !has(oldSelf.duration)",fieldPath=".duration",message="duration cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.warmup) ? has(oldSelf.warmup) && self.warmup == oldSelf.warmup : !has(oldSelf.warmup)",fieldPath=".warmup",message="warmup cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.connections) ? has(oldSelf.connections) && self.connections == oldSelf.connections : !has(oldSelf.connections)",fieldPath=".connections",message="connections cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.pairs) ? has(oldSelf.pairs) && self.pairs == oldSelf.pairs : !has(oldSelf.pairs)",fieldPath=".pairs",message="pairs cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.baseline) ? has(oldSelf.baseline) && self.baseline == oldSelf.baseline : !has(oldSelf.baseline)",fieldPath=".baseline",message="baseline cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.mTLS) ? has(oldSelf.mTLS) && self.mTLS == oldSelf.mTLS : !has(oldSelf.mTLS)",fieldPath=".mTLS",message="mTLS cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.sampling) ? has(oldSelf.sampling) && self.sampling == oldSelf.sampling : !has(oldSelf.sampling)",fieldPath=".sampling",message="sampling cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.telemetry) ? has(oldSelf.telemetry) && self.telemetry == oldSelf.telemetry : !has(oldSelf.telemetry)",fieldPath=".telemetry",message="telemetry cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.placement) ? has(oldSelf.placement) && self.placement == oldSelf.placement : !has(oldSelf.placement)",fieldPath=".placement",message="placement cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.sidecar) ? has(oldSelf.sidecar) && self.sidecar == oldSelf.sidecar : !has(oldSelf.sidecar)",fieldPath=".sidecar",message="sidecar cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.loadTester) ? has(oldSelf.loadTester) && self.loadTester == oldSelf.loadTester : !has(oldSelf.loadTester)",fieldPath=".loadTester",message="loadTester cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.target) ? has(oldSelf.target) && self.target == oldSelf.target : !has(oldSelf.target)",fieldPath=".target",message="target cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.exclusive) ? has(oldSelf.exclusive) && self.exclusive == oldSelf.exclusive : !has(oldSelf.exclusive)",fieldPath=".exclusive",message="exclusive cannot be changed once the PerfRun exists; create another PerfRun"
	// +kubebuilder:validation:XValidation:rule="has(self.thresholds) ? has(oldSelf.thresholds) && self.thresholds == oldSelf.thresholds : !has(oldSelf.thresholds)",fieldPath=".thresholds",message="thresholds cannot be changed once the PerfRun exists; create another PerfRun"
	Spec PerfRunSpec `json:"spec"`

	// status is what has been measured so far. Written by perfrun alone.
	// +optional
	Status PerfRunStatus `json:"status,omitempty"`
}

// PerfRunList is a list of PerfRuns.
//
// +kubebuilder:object:root=true
type PerfRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PerfRun `json:"items"`
}
