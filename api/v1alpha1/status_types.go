package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Phase is the stage of a run, for display; programs read the condition Succeeded instead.
//
//	Queued -> Preparing -> Measuring -> Collecting -> Succeeded | Failed | Inconclusive
//	   \__________\____________\____________\______-> Error
//
// +kubebuilder:validation:Enum=Queued;Preparing;Measuring;Collecting;Succeeded;Failed;Inconclusive;Error
type Phase string

// The phases. The last four are verdicts and final.
const (
	// PhaseQueued waits for the runs created before it to finish.
	PhaseQueued Phase = "Queued"
	// PhasePreparing creates the pods and waits until they, their sidecars and the control plane's counters can be used.
	PhasePreparing Phase = "Preparing"
	// PhaseMeasuring lets the load tester run the blocks.
	PhaseMeasuring Phase = "Measuring"
	// PhaseCollecting turns the load tester's report into results.
	PhaseCollecting Phase = "Collecting"
	// PhaseSucceeded is the verdict of a run that was measured under the declared conditions, with all thresholds met.
	PhaseSucceeded Phase = "Succeeded"
	// PhaseFailed is the verdict of a run that was measured under the declared conditions and missed a threshold; status.thresholds says which.
	PhaseFailed Phase = "Failed"
	// PhaseInconclusive is the verdict of a run that was measured, but not under the declared conditions, or whose figures do not decide
	// a threshold; status.reasons says why.
	PhaseInconclusive Phase = "Inconclusive"
	// PhaseError is the verdict of a run that could not be measured.
	PhaseError Phase = "Error"
)

// PerfRunStatus is what a run has come to.
type PerfRunStatus struct {
	// phase is the stage of the run, for display.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// conditions: Succeeded (the verdict; Unknown while the run goes on, its message then says what is awaited),
	// MetricsServer (whether metrics-server's figures could be put beside the exact ones) and RawData (whether the whole
	// report could be kept, see raw).
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// startTime is when the run left the queue.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when the verdict was reached.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// settings are the values in force: the spec's, and the defaults for what it leaves out.
	// +optional
	Settings *Settings `json:"settings,omitempty"`

	// attempt identifies the one measurement of this run. It is recorded before the load starts, so that nothing can start it twice.
	// +optional
	Attempt *Attempt `json:"attempt,omitempty"`

	// progress of the measurement.
	// +optional
	Progress *Progress `json:"progress,omitempty"`

	// environment is what the figures hold for, as observed.
	// +optional
	Environment *Environment `json:"environment,omitempty"`

	// results has one entry for each point, in the order of spec.connections.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Results []PointResult `json:"results,omitempty"`

	// usage has one entry for each arm and each component's pod: CPU and memory over exactly the arm's measured blocks.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=200
	Usage []Usage `json:"usage,omitempty"`

	// controlPlane is the total over all of Dapr's control-plane pods during the Dapr arm's blocks.
	// +optional
	ControlPlane *Total `json:"controlPlane,omitempty"`

	// summary repeats a few figures for `kubectl get`.
	// +optional
	Summary *Summary `json:"summary,omitempty"`

	// thresholds has one entry for each of spec.thresholds at each point.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=144
	Thresholds []ThresholdResult `json:"thresholds,omitempty"`

	// reasons say why the run is Inconclusive, one sentence with its figure each.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Reasons []Reason `json:"reasons,omitempty"`

	// invalidBlocks broke a rule that was fixed beforehand (docs/measurement.md). They are left out of results and usage, and their pairs
	// out of what is added; if that leaves too few pairs at a point, the run is Inconclusive and all blocks of that point are counted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	InvalidBlocks []InvalidBlock `json:"invalidBlocks,omitempty"`

	// warnings tell what a reader of the figures should know. They do not affect the verdict.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Warnings []Reason `json:"warnings,omitempty"`

	// raw is where the whole report is kept: histograms and series of every block. Absent where it could not be; the condition RawData then says why.
	// +optional
	Raw *RawData `json:"raw,omitempty"`
}

// Settings are the values in force for a run, defaults resolved.
type Settings struct {
	// rps is the rate of requests per second.
	RPS int32 `json:"rps"`
	// payloadBytes is the size of each request's body in bytes.
	PayloadBytes int64 `json:"payloadBytes"`
	// duration is the measured time of each arm at each point.
	Duration metav1.Duration `json:"duration"`
	// warmup is the discarded time of each arm before each point.
	Warmup metav1.Duration `json:"warmup"`
	// connections are the points.
	// +listType=atomic
	Connections []int32 `json:"connections"`
	// pairs is the number of pairs of blocks at each point.
	Pairs int32 `json:"pairs"`
	// mTLS is what is asked of the sidecars.
	MTLS bool `json:"mTLS"`
	// sampling is the traced fraction that the sidecars are configured with.
	Sampling string `json:"sampling"`
	// placement of load tester and target.
	Placement Placement `json:"placement"`
	// sidecarCPU is each sidecar's CPU limit; "0": none.
	SidecarCPU resource.Quantity `json:"sidecarCPU"`
	// sidecarMemory is each sidecar's memory limit; "0": none.
	SidecarMemory resource.Quantity `json:"sidecarMemory"`
}

// Attempt identifies one measurement.
type Attempt struct {
	// id is unique to this attempt.
	ID string `json:"id"`
	// loadTester is the pod, by name, that this attempt belongs to.
	LoadTester string `json:"loadTester"`
	// instance is the load tester process that this attempt belongs to. Another process refuses it: a restart has lost the measurement.
	Instance string `json:"instance"`
	// target is the target's pod, by name, that the attempt began with.
	Target string `json:"target"`
	// restarts are the restart counts at the start, by POD/CONTAINER, of the run's containers and the control plane's.
	// +optional
	Restarts map[string]int32 `json:"restarts,omitempty"`
	// startTime is when the attempt was recorded.
	StartTime metav1.Time `json:"startTime"`
}

// Progress of a measurement.
type Progress struct {
	// block is the number of measured blocks that are complete.
	Block int32 `json:"block"`
	// blocks is the number of measured blocks of the whole run.
	Blocks int32 `json:"blocks"`
	// percent of the load's time that has passed, warm-ups included.
	Percent int32 `json:"percent"`
	// display is the percentage as text.
	Display string `json:"display"`
	// activity says what is going on now: which arm, at how many connections.
	// +optional
	Activity string `json:"activity,omitempty"`
	// estimatedCompletion is when the load is expected to end.
	// +optional
	EstimatedCompletion *metav1.Time `json:"estimatedCompletion,omitempty"`
}

// Environment is what the figures hold for.
type Environment struct {
	// kubernetes is the API server's version.
	// +optional
	Kubernetes string `json:"kubernetes,omitempty"`
	// dapr is the version that the load tester's sidecar reports of itself.
	// +optional
	Dapr string `json:"dapr,omitempty"`
	// mTLS: whether the target's sidecar was seen to speak TLS to other sidecars.
	// +optional
	MTLS *bool `json:"mTLS,omitempty"`
	// sampling is the fraction of requests that arrived at the target marked as sampled, over the Dapr arm's blocks.
	// +optional
	Sampling string `json:"sampling,omitempty"`
	// nodes that the two pods ran on.
	// +optional
	Nodes *Nodes `json:"nodes,omitempty"`
	// images of the containers, as the kubelet resolved them.
	// +optional
	Images *Images `json:"images,omitempty"`
}

// Nodes names where the two pods ran.
type Nodes struct {
	// loadTester is the load tester's node.
	LoadTester string `json:"loadTester"`
	// target is the target's node.
	Target string `json:"target"`
}

// Images names what ran.
type Images struct {
	// perfrun is the image of load tester and target.
	Perfrun string `json:"perfrun"`
	// sidecar is the image of the Dapr sidecars.
	Sidecar string `json:"sidecar"`
}

// PointResult is what one point came to.
type PointResult struct {
	// connections is the number of client connections of this point.
	Connections int32 `json:"connections"`
	// baseline is the arm straight to the target, without Dapr.
	// +optional
	Baseline *ArmResult `json:"baseline,omitempty"`
	// dapr is the arm through both sidecars.
	// +optional
	Dapr *ArmResult `json:"dapr,omitempty"`
	// added is the latency that Dapr adds.
	// +optional
	Added *Added `json:"added,omitempty"`
}

// ArmResult is what one arm came to at one point, all of its blocks merged.
type ArmResult struct {
	// requests that were sent and answered or failed.
	Requests int64 `json:"requests"`
	// errors is the number of requests without a 2xx answer. They are not in the latencies.
	Errors int64 `json:"errors"`
	// errorCodes counts the errors by HTTP status; -1 stands for no answer at all (connection or timeout).
	// +optional
	ErrorCodes map[string]int64 `json:"errorCodes,omitempty"`
	// skipped requests were due within a block but could not be sent before its deadline.
	// +optional
	Skipped int64 `json:"skipped,omitempty"`
	// achievedRPS is the rate of successful answers per second, over the last four fifths of each block's schedule: a backlog that
	// grows lowers it, one that is there all along does not.
	AchievedRPS string `json:"achievedRPS"`
	// latency is the response time: from the moment at which a request was due to the last byte of its answer.
	// +optional
	Latency *LatencySummary `json:"latency,omitempty"`
	// serviceTime is from the moment at which a request was really sent. The gap to latency is the time that requests waited for a connection.
	// +optional
	ServiceTime *LatencySummary `json:"serviceTime,omitempty"`
}

// LatencySummary describes a distribution of latencies. A percentile with fewer than 10 samples beyond it is left out.
type LatencySummary struct {
	// mean latency.
	Mean Latency `json:"mean"`
	// p50 is the median.
	// +optional
	P50 *Latency `json:"p50,omitempty"`
	// p75 is the 75th percentile.
	// +optional
	P75 *Latency `json:"p75,omitempty"`
	// p90 is the 90th percentile.
	// +optional
	P90 *Latency `json:"p90,omitempty"`
	// p95 is the 95th percentile.
	// +optional
	P95 *Latency `json:"p95,omitempty"`
	// p99 is the 99th percentile.
	// +optional
	P99 *Latency `json:"p99,omitempty"`
	// p999 is the 99.9th percentile.
	// +optional
	P999 *Latency `json:"p999,omitempty"`
	// max is the largest.
	Max Latency `json:"max"`
}

// Added is what Dapr adds in each pair of blocks, the median over the pairs. An added percentile is Dapr's percentile minus the
// baseline's: the difference of two percentiles, not a percentile of differences.
type Added struct {
	// p50 is the added median.
	// +optional
	P50 *AddedLatency `json:"p50,omitempty"`
	// p90 is the added 90th percentile.
	// +optional
	P90 *AddedLatency `json:"p90,omitempty"`
	// p99 is the added 99th percentile.
	// +optional
	P99 *AddedLatency `json:"p99,omitempty"`
	// cpuPer1000RPS is the CPU of both sidecars together, for each 1000 successful requests per second.
	// +optional
	CPUPer1000RPS *AddedCPU `json:"cpuPer1000RPS,omitempty"`
}

// AddedLatency is one added percentile.
type AddedLatency struct {
	// value is the median over the pairs.
	Value Latency `json:"value"`
	// low is the lower end of the 95% interval over the pairs; absent with fewer than 6 pairs.
	// +optional
	Low *Latency `json:"low,omitempty"`
	// high is the upper end of the 95% interval over the pairs; absent with fewer than 6 pairs.
	// +optional
	High *Latency `json:"high,omitempty"`
	// detectable is the smallest true value that a run with an interval of this width tells from none in 4 of 5 cases: 1.43 times the
	// interval's half-width. Where the interval holds 0, Dapr may still add as much as this. Absent without an interval.
	// +optional
	Detectable *Latency `json:"detectable,omitempty"`
	// pairs is the number of pairs that the value is the median of.
	Pairs int32 `json:"pairs"`
	// note says why there is no interval.
	// +optional
	Note string `json:"note,omitempty"`
}

// AddedCPU is the CPU that requests take in the sidecars.
type AddedCPU struct {
	// value is the median over the pairs, in vCPU.
	Value resource.Quantity `json:"value"`
	// low is the lower end of the 95% interval over the pairs; absent with fewer than 6 pairs.
	// +optional
	Low *resource.Quantity `json:"low,omitempty"`
	// high is the upper end of the 95% interval over the pairs; absent with fewer than 6 pairs.
	// +optional
	High *resource.Quantity `json:"high,omitempty"`
	// detectable is the smallest difference from another value that a run with an interval of this width tells from none in 4 of 5
	// cases: 1.43 times the interval's half-width. Absent without an interval.
	// +optional
	Detectable *resource.Quantity `json:"detectable,omitempty"`
	// pairs is the number of pairs that the value is the median of.
	Pairs int32 `json:"pairs"`
	// note says why there is no interval.
	// +optional
	Note string `json:"note,omitempty"`
}

// Component is whatever consumes CPU and memory.
//
// +kubebuilder:validation:Enum=app;loadTester;callerSidecar;targetSidecar;operator;sentry;injector;placement;scheduler
type Component string

// The components.
const (
	// ComponentApp is the application under test: the target's main container.
	ComponentApp Component = "app"
	// ComponentLoadTester is the load tester's main container.
	ComponentLoadTester Component = "loadTester"
	// ComponentCallerSidecar is the Dapr sidecar beside the load tester.
	ComponentCallerSidecar Component = "callerSidecar"
	// ComponentTargetSidecar is the Dapr sidecar beside the target.
	ComponentTargetSidecar Component = "targetSidecar"
	// ComponentOperator is dapr-operator, which gives the sidecars their configuration and components.
	ComponentOperator Component = "operator"
	// ComponentSentry is dapr-sentry, the certificate authority behind mTLS.
	ComponentSentry Component = "sentry"
	// ComponentInjector is dapr-sidecar-injector.
	ComponentInjector Component = "injector"
	// ComponentPlacement is dapr-placement, which spreads actors over their hosts.
	ComponentPlacement Component = "placement"
	// ComponentScheduler is dapr-scheduler, which fires jobs and actors' reminders.
	ComponentScheduler Component = "scheduler"
)

// Arm is one way to reach the target.
//
// +kubebuilder:validation:Enum=Baseline;Dapr
type Arm string

// The arms.
const (
	// ArmBaseline goes straight to the target's Service: no sidecar in the path, no encryption, no telemetry.
	ArmBaseline Arm = "Baseline"
	// ArmDapr goes through the caller's sidecar and the target's sidecar.
	ArmDapr Arm = "Dapr"
)

// Source says where a figure of usage was read.
//
// +kubebuilder:validation:Enum=proc;daprMetrics;metricsServer
type Source string

// The sources.
const (
	// SourceProc is /proc inside the run's own pods: cumulative CPU of the component's processes in ticks of 10 ms, and their memory.
	SourceProc Source = "proc"
	// SourceDaprMetrics is the component's own metrics endpoint: process_cpu_seconds_total and process_resident_memory_bytes.
	SourceDaprMetrics Source = "daprMetrics"
	// SourceMetricsServer is metrics-server: averages over windows of its own, about 15 s long.
	SourceMetricsServer Source = "metricsServer"
)

// MemoryKind says what a figure of memory counts. Kinds are not to be compared with each other.
//
// +kubebuilder:validation:Enum=Resident;WorkingSet
type MemoryKind string

// The kinds of memory.
const (
	// MemoryResident is every page in memory, pages of the program's own file included.
	MemoryResident MemoryKind = "Resident"
	// MemoryWorkingSet is the container's memory less the file pages that were not used lately; what metrics-server and the published tables show.
	MemoryWorkingSet MemoryKind = "WorkingSet"
)

// Usage is what one component's pod took during the blocks of one arm.
type Usage struct {
	// component that consumed.
	Component Component `json:"component"`
	// arm whose blocks the figures cover. During Baseline blocks the sidecars idle.
	Arm Arm `json:"arm"`
	// pod that the component ran in; control-plane pods are in Dapr's namespace.
	Pod string `json:"pod"`
	// node that the pod ran on.
	// +optional
	Node string `json:"node,omitempty"`
	// source of cpu and memory. Absent when the component could not be read; note then says why.
	// +optional
	Source Source `json:"source,omitempty"`
	// coverage is the fraction of the arm's measured time that lies between the counters' readings.
	// +optional
	Coverage string `json:"coverage,omitempty"`
	// cpu is the mean vCPU used.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// cpuPer1000RPS is cpu for each 1000 successful requests per second; only where the load is what drives it: app, load tester and the Dapr arm's sidecars.
	// +optional
	CPUPer1000RPS *resource.Quantity `json:"cpuPer1000RPS,omitempty"`
	// memory over the readings within the blocks.
	// +optional
	Memory *Memory `json:"memory,omitempty"`
	// anonymousMemory is the part of the resident memory that no file backs, mean over the readings.
	// +optional
	AnonymousMemory *resource.Quantity `json:"anonymousMemory,omitempty"`
	// restarts of the container since the measurement began.
	Restarts int32 `json:"restarts"`
	// limits of the container; absent: none.
	// +optional
	Limits *Limits `json:"limits,omitempty"`
	// crossChecks are the same figure from other sources.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	CrossChecks []CrossCheck `json:"crossChecks,omitempty"`
	// note says why a figure is missing.
	// +optional
	Note string `json:"note,omitempty"`
}

// Memory of a component.
type Memory struct {
	// kind of memory.
	Kind MemoryKind `json:"kind"`
	// mean of the readings.
	Mean resource.Quantity `json:"mean"`
	// max of the readings.
	Max resource.Quantity `json:"max"`
}

// Limits of a container.
type Limits struct {
	// cpu limit; absent: none.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// memory limit; absent: none.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// CrossCheck is a component's usage from a second source.
type CrossCheck struct {
	// source of the figures.
	Source Source `json:"source"`
	// cpu by this source, mean vCPU.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// comparedCPU is the entry's own source over the same time as this source's cpu. The two agree as well as this source knows
	// its own time: see docs/measurement.md for metrics-server.
	// +optional
	ComparedCPU *resource.Quantity `json:"comparedCPU,omitempty"`
	// memory by this source.
	// +optional
	Memory *Memory `json:"memory,omitempty"`
	// windows is the number of metrics-server windows that lie wholly within the measurement; both arms' blocks are within them.
	// +optional
	Windows int32 `json:"windows,omitempty"`
	// note says why a figure is missing.
	// +optional
	Note string `json:"note,omitempty"`
}

// Total of several pods.
type Total struct {
	// pods that were counted.
	Pods int32 `json:"pods"`
	// cpu is the sum of their mean vCPU.
	CPU resource.Quantity `json:"cpu"`
	// memory is the sum of their mean resident memory.
	Memory resource.Quantity `json:"memory"`
	// unread is the number of pods whose counters could not be read; they are not in the sums.
	// +optional
	Unread int32 `json:"unread,omitempty"`
}

// Summary repeats a few figures for display.
type Summary struct {
	// sidecarCPU is the vCPU of both sidecars together during the Dapr arm.
	// +optional
	SidecarCPU string `json:"sidecarCPU,omitempty"`
	// sidecarMemory is the mean memory of both sidecars together during the Dapr arm.
	// +optional
	SidecarMemory string `json:"sidecarMemory,omitempty"`
}

// Reason is one condition of the measurement that did not hold.
type Reason struct {
	// reason in CamelCase, from a fixed list.
	Reason string `json:"reason"`
	// message is a sentence with the figure.
	Message string `json:"message"`
}

// RawData names a file in a ConfigMap of the PerfRun's namespace. `perfrun raw` reads it.
type RawData struct {
	// configMap is the ConfigMap's name. It belongs to the PerfRun, is kept by clean-up and deleted with the PerfRun.
	ConfigMap string `json:"configMap"`
	// digest of the file as it is stored: SHA-256 of the value of the ConfigMap's only key.
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	Digest string `json:"digest"`
	// bytes is the length of the file.
	Bytes int64 `json:"bytes"`
	// seriesStep is the length of the intervals of the series in the file: 1s, or longer where that was too much for a ConfigMap; 0s: there was no room for series.
	SeriesStep metav1.Duration `json:"seriesStep"`
}
