package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Phase is the stage of a run, for display; programs read the condition Succeeded instead.
//
//	Queued -> Preparing -> Measuring -> Collecting -> Succeeded | Failed | Inconclusive
//	   \__________\____________\____________\______-> Error
//	    \__________\____________\-> Suspended -> Queued
//
// +kubebuilder:validation:Enum=Queued;Preparing;Measuring;Collecting;Succeeded;Failed;Inconclusive;Error;Suspended
type Phase string

// The phases. Succeeded, Failed, Inconclusive and Error are verdicts and final.
const (
	// PhaseSuspended is held, or was stopped, by spec.suspend.
	PhaseSuspended Phase = "Suspended"
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

	// queuePosition is the place in the queue: 1 measures next. Absent unless the run is Queued. Places beyond the tenth are brought up to
	// date now and then only.
	// +optional
	QueuePosition int32 `json:"queuePosition,omitempty"`

	// startTime is when the run left the queue.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when the verdict was reached.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// settings are the values in force: the spec's, and the defaults for what it leaves out.
	// +optional
	Settings *Settings `json:"settings,omitempty"`

	// attempt identifies the measurement of this run, the one that counts. It is recorded before the load starts, so that nothing can start it twice.
	// +optional
	Attempt *Attempt `json:"attempt,omitempty"`

	// voidAttempts is the number of attempts that spec.suspend has stopped. Nothing of them counts.
	// +optional
	VoidAttempts int32 `json:"voidAttempts,omitempty"`

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

	// actorHosts has one entry for each of several actor hosts. Absent with one.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ActorHosts []HostCalls `json:"actorHosts,omitempty"`

	// rebalances has one entry for each change of the actor hosts, with spec.actors.rebalance.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Rebalances []Rebalance `json:"rebalances,omitempty"`

	// controlPlane is the total over all of Dapr's control-plane pods during the Dapr arm's blocks.
	// +optional
	ControlPlane *Total `json:"controlPlane,omitempty"`

	// controlPlaneReadings are the counters as each step of scenario ControlPlane began, and at its end.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	ControlPlaneReadings []ControlPlaneReading `json:"controlPlaneReadings,omitempty"`

	// controlPlaneResults has one entry for each step of scenario ControlPlane that is over.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	ControlPlaneResults []ControlPlaneResult `json:"controlPlaneResults,omitempty"`

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

	// telemetry is what the sidecars exported. Absent without spec.telemetry.export.
	// +optional
	Telemetry *Telemetry `json:"telemetry,omitempty"`

	// raw is where the whole report is kept: histograms and series of every block. Absent where it could not be; the condition RawData then says why.
	// +optional
	Raw *RawData `json:"raw,omitempty"`
}

// Settings are the values in force for a run, defaults resolved.
type Settings struct {
	// invocation is the path of service invocation, in scenario Invocation.
	// +optional
	Invocation *InvocationPath `json:"invocation,omitempty"`
	// actors are those that are called in scenario Actors.
	// +optional
	Actors *ActorsInForce `json:"actors,omitempty"`
	// controlPlane is what is brought up in scenario ControlPlane. With it, what is said here of a load is zero: none is sent.
	// +optional
	ControlPlane *ControlPlaneInForce `json:"controlPlane,omitempty"`
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
	// baseline is what the path through Dapr is compared with.
	Baseline BaselineKind `json:"baseline"`
	// mTLS is what is asked of the sidecars.
	MTLS bool `json:"mTLS"`
	// sampling is the traced fraction that the sidecars are configured with.
	Sampling string `json:"sampling"`
	// export: whether the sidecars export what they have sampled.
	Export bool `json:"export"`
	// metrics: whether the sidecars keep and serve metrics.
	Metrics bool `json:"metrics"`
	// placement of load tester and target.
	Placement Placement `json:"placement"`
	// exclusive: whether no other exclusive run measures at the same time. Absent where a build before this setting wrote the status.
	// +optional
	Exclusive bool `json:"exclusive"`
	// loadTesterReplicas is the number of load tester pods that the load is divided among.
	LoadTesterReplicas int32 `json:"loadTesterReplicas"`
	// sidecarCPU is each sidecar's CPU limit; "0": none.
	SidecarCPU resource.Quantity `json:"sidecarCPU"`
	// sidecarMemory is each sidecar's memory limit; "0": none.
	SidecarMemory resource.Quantity `json:"sidecarMemory"`
}

// Attempt identifies one measurement.
type Attempt struct {
	// id is unique to this attempt.
	ID string `json:"id"`
	// loadTesters are the load testers that this attempt belongs to, in the order of their shares of the schedule.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	LoadTesters []LoadTester `json:"loadTesters"`
	// target is the target's pod, by name, that the attempt began with; with several actor hosts, the first of them.
	Target string `json:"target"`
	// targets are the pods of several actor hosts that the attempt began with. Absent with one.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Targets []string `json:"targets,omitempty"`
	// restarts are the restart counts at the start, by POD/CONTAINER, of the run's containers and the control plane's.
	// +optional
	Restarts map[string]int32 `json:"restarts,omitempty"`
	// startTime is when the attempt was recorded.
	StartTime metav1.Time `json:"startTime"`
	// loadStartTime is the moment from which several load testers count when each block begins. Absent with one, which begins at once.
	// +optional
	LoadStartTime *metav1.Time `json:"loadStartTime,omitempty"`
	// endTime is when the load was seen to have ended. Absent before that.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
}

// Hosts are the target's pods that the attempt began with.
func (a *Attempt) Hosts() []string { return oneOr(a.Target, a.Targets) }

// LoadTester is one of an attempt's load testers.
type LoadTester struct {
	// pod that it runs in, by name.
	Pod string `json:"pod"`
	// instance is the process. Another one refuses the attempt: a restart has lost the measurement.
	Instance string `json:"instance"`
	// clockOffset is by how much its clock was seen to be ahead of the operator's, and by how much later by that clock its blocks therefore
	// begin; "0s" where that was less than what the way of the question and the answer may explain. Absent with one load tester, unless actor
	// hosts join and leave, whose moments are by the operator's clock.
	// +optional
	ClockOffset *Latency `json:"clockOffset,omitempty"`
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
	// latest is each arm's latest measured block, to look at while the load runs. Absent with several load testers, before the first block and when the load has ended.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	Latest []BlockLatency `json:"latest,omitempty"`
}

// BlockLatency is what one block's response times came to.
type BlockLatency struct {
	// arm of the block.
	Arm Arm `json:"arm"`
	// connections that it was measured at.
	Connections int32 `json:"connections"`
	// p50 is the median. A percentile with fewer than 10 samples beyond it is left out.
	// +optional
	P50 *Latency `json:"p50,omitempty"`
	// p99 is the 99th percentile.
	// +optional
	P99 *Latency `json:"p99,omitempty"`
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
	// sampling is the fraction of requests that arrived at the target marked as sampled, over the Dapr arm's blocks. Absent where it was
	// not observed: only perfrun's own application counts them.
	// +optional
	Sampling string `json:"sampling,omitempty"`
	// nodes that the run's pods ran on.
	// +optional
	Nodes *Nodes `json:"nodes,omitempty"`
	// images of the containers.
	// +optional
	Images *Images `json:"images,omitempty"`
	// sharedWith are the PerfRuns, as namespace/name, that prepared or measured while this one measured; at most the first 16.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	SharedWith []string `json:"sharedWith,omitempty"`
}

// MaxSharedWith is the most that status.environment.sharedWith holds.
const MaxSharedWith = 16

// Nodes names where the pods ran.
type Nodes struct {
	// loadTester is the load tester's node; with several, that of the first.
	LoadTester string `json:"loadTester"`
	// loadTesters are the nodes of several load testers, in the order of status.attempt.loadTesters. Absent with one.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	LoadTesters []string `json:"loadTesters,omitempty"`
	// target is the target's node; with several actor hosts, that of the first.
	Target string `json:"target"`
	// targets are the nodes of several actor hosts, in the order of status.attempt.targets. Absent with one.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Targets []string `json:"targets,omitempty"`
}

// OfLoadTesters are the load testers' nodes, however many there are.
func (n Nodes) OfLoadTesters() []string { return oneOr(n.LoadTester, n.LoadTesters) }

// OfTargets are the nodes of the target's pods, however many there are.
func (n Nodes) OfTargets() []string { return oneOr(n.Target, n.Targets) }

func oneOr(one string, several []string) []string {
	if len(several) == 0 {
		return []string{one}
	}
	return several
}

// Images names what ran.
type Images struct {
	// perfrun is the image of the load tester and the target's meter.
	Perfrun string `json:"perfrun"`
	// target is the image of the application under test.
	Target string `json:"target"`
	// sidecar is the image of the Dapr sidecars.
	Sidecar string `json:"sidecar"`
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

// Summary repeats a few figures for display.
type Summary struct {
	// sidecarCPU is the vCPU of both sidecars together during the Dapr arm; with several load testers, of all sidecars.
	// +optional
	SidecarCPU string `json:"sidecarCPU,omitempty"`
	// sidecarMemory is the mean memory of both sidecars together during the Dapr arm; with several load testers, of all sidecars.
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

// RawData names a file in a ConfigMap of the PerfRun's namespace. `kubectl perfrun raw` reads it.
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
