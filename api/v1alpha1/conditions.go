package v1alpha1

// Condition types of a PerfRun.
const (
	// ConditionSucceeded is the verdict: True Succeeded; False Failed, Inconclusive or Error, with the cause as reason; Unknown while the run goes on.
	ConditionSucceeded = "Succeeded"
	// ConditionMetricsServer says whether metrics-server's figures could be put beside the exact ones. It does not affect the verdict.
	ConditionMetricsServer = "MetricsServer"
	// ConditionRawData says whether the whole report could be kept in a ConfigMap. It does not affect the verdict.
	ConditionRawData = "RawData"
)

// Reasons of the condition Succeeded while it is Unknown.
const (
	// ReasonQueued: runs created earlier are not finished.
	ReasonQueued = "Queued"
	// ReasonPreparing: pods or sidecars are not ready yet and nothing is known to be wrong.
	ReasonPreparing = "Preparing"
	// ReasonMeasuring: the load runs.
	ReasonMeasuring = "Measuring"
	// ReasonCollecting: the load has ended and the report is being read.
	ReasonCollecting = "Collecting"
	// ReasonSuspended: spec.suspend holds the run, or has stopped it.
	ReasonSuspended = "Suspended"
	// ReasonDeleting: the PerfRun is to be deleted, and somebody's finalizer keeps it; its load has been stopped.
	ReasonDeleting = "Deleting"
)

// Reasons of the condition Succeeded that name an obstacle. While Unknown it may still go away; with False the deadline has passed and the verdict is Error.
const (
	// ReasonInvalidSpec: the spec asks for something impossible that the API server could not see.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonDaprNotInstalled: Dapr's CustomResourceDefinitions are missing.
	ReasonDaprNotInstalled = "DaprNotInstalled"
	// ReasonInjectorMissing: Dapr's sidecar injector is not registered or has no ready pod.
	ReasonInjectorMissing = "InjectorMissing"
	// ReasonDaprForbidden: the operator may not look at Dapr's control plane.
	ReasonDaprForbidden = "DaprForbidden"
	// ReasonSidecarNotInjected: a pod came up without Dapr's sidecar.
	ReasonSidecarNotInjected = "SidecarNotInjected"
	// ReasonUnschedulable: the scheduler finds no node for a pod.
	ReasonUnschedulable = "Unschedulable"
	// ReasonImagePull: an image cannot be pulled.
	ReasonImagePull = "ImagePull"
	// ReasonContainerFailing: a container does not start or crashes again and again.
	ReasonContainerFailing = "ContainerFailing"
	// ReasonPodsRefused: the API server refuses the run's pods (Pod Security, quota, an admission webhook).
	ReasonPodsRefused = "PodsRefused"
	// ReasonPodsNotReady: the pods run, but are not ready.
	ReasonPodsNotReady = "PodsNotReady"
	// ReasonPodsNotGone: pods of an attempt that spec.suspend stopped are still there.
	ReasonPodsNotGone = "PodsNotGone"
	// ReasonNameTaken: an object with a name that the run needs belongs to someone else.
	ReasonNameTaken = "NameTaken"
	// ReasonStateStoreMissing: there is no Component of the name in spec.actors.stateStore.
	ReasonStateStoreMissing = "StateStoreMissing"
	// ReasonStateStoreUnusable: that Component cannot keep the run's actors, or another one would keep them too.
	ReasonStateStoreUnusable = "StateStoreUnusable"
	// ReasonMetricsMissing: none of the control plane's pods shows its counters, in scenario ControlPlane.
	ReasonMetricsMissing = "MetricsMissing"
	// ReasonLoadTesterUnreachable: the load tester's pod is ready but does not answer the operator.
	ReasonLoadTesterUnreachable = "LoadTesterUnreachable"
)

// Reasons of the condition Succeeded when it is final.
const (
	// ReasonMeasured: measured under the declared conditions, all thresholds met. True.
	ReasonMeasured = "Measured"
	// ReasonThresholdMissed: measured under the declared conditions, and a figure lies above its limit. Failed.
	ReasonThresholdMissed = "ThresholdMissed"
	// ReasonThresholdUndecided: a limit lies inside the interval of its figure, or there is no interval to judge it on. Inconclusive.
	ReasonThresholdUndecided = "ThresholdUndecided"
	// ReasonMTLSMismatch: the sidecars were seen to do the opposite of spec.mTLS. Error, before any load.
	ReasonMTLSMismatch = "MTLSMismatch"
	// ReasonLoadTesterLost: a load tester restarted or its pod went away; what it had measured is lost. Error.
	ReasonLoadTesterLost = "LoadTesterLost"
	// ReasonDeadlineExceeded: the run was not measured within spec.activeDeadlineSeconds; the message says what it was doing. Error.
	ReasonDeadlineExceeded = "DeadlineExceeded"
	// ReasonStepFailed: the operator could not do what was next until the deadline; the message has the API server's answer. Error.
	ReasonStepFailed = "StepFailed"
	// ReasonOperatorUpgraded: a load tester speaks another version of its contract with the operator, which was upgraded meanwhile. Error.
	ReasonOperatorUpgraded = "OperatorUpgraded"
	// ReasonPathNotWorking: one of the two paths answered no request during warm-up. Error.
	ReasonPathNotWorking = "PathNotWorking"
	// ReasonActorHostMissing: no host took on the actor type. Error, before any load.
	ReasonActorHostMissing = "ActorHostMissing"
	// ReasonMeasurementFailed: the load tester could not run the plan. Error.
	ReasonMeasurementFailed = "MeasurementFailed"
	// ReasonRequestErrors: more than 1% of an arm's requests failed; also the reason of an invalid block. Inconclusive.
	ReasonRequestErrors = "RequestErrors"
	// ReasonRestarted: a container of the run restarted during the measurement; also the reason of the blocks that it falls into. Inconclusive.
	ReasonRestarted = "Restarted"
	// ReasonPodMoved: the target's pod was replaced by another during the measurement; also the reason of the blocks from then on. Inconclusive.
	ReasonPodMoved = "PodMoved"
	// ReasonRebalanceUnfinished: an actor host had not joined or left by the end of its block, or was told to too late. Inconclusive.
	ReasonRebalanceUnfinished = "RebalanceUnfinished"
	// ReasonWrongNodes: load tester and target ran on other nodes than spec.placement asks for. Inconclusive.
	ReasonWrongNodes = "WrongNodes"
	// ReasonControlPlaneUnread: a pod of the control plane restarted, came or went, or did not show its counters, in scenario ControlPlane. Inconclusive.
	ReasonControlPlaneUnread = "ControlPlaneUnread"
	// ReasonClusterShared: another run that is not exclusive measured at the same time. Inconclusive, but only a warning for a run that is
	// not exclusive itself.
	ReasonClusterShared = "ClusterShared"
	// ReasonSamplingMismatch: the sidecars sampled another fraction of requests than spec.sampling. Inconclusive.
	ReasonSamplingMismatch = "SamplingMismatch"
)

// Reasons of invalid blocks; of the condition Succeeded too, when they leave too few pairs (Inconclusive), the most frequent one then.
const (
	// ReasonCPUStolen: the hypervisor gave more than 1% of a node's CPU time to others.
	ReasonCPUStolen = "CPUStolen"
	// ReasonLoadTesterBusy: the load tester used more than half of the CPU that it may use.
	ReasonLoadTesterBusy = "LoadTesterBusy"
	// ReasonLoadTesterLate: 1% of the requests were sent more than 10 ms after they were due and could have been sent.
	ReasonLoadTesterLate = "LoadTesterLate"
	// ReasonRequestsSkipped: more than 0.1% of the requests could not be sent before the block's deadline.
	ReasonRequestsSkipped = "RequestsSkipped"
	// ReasonStartSkew: the load testers began the block more than 100 ms apart.
	ReasonStartSkew = "StartSkew"
	// ReasonRateShortfall: less than 99% of the declared rate was achieved.
	ReasonRateShortfall = "RateShortfall"
)

// Reasons of warnings. They do not affect the verdict.
const (
	// ReasonDrift: the median response time of an arm differs by more than 5% between thirds of the measurement.
	ReasonDrift = "Drift"
	// ReasonThrottled: a sidecar was held back by its CPU limit in more than 10% of the periods in which it ran.
	ReasonThrottled = "Throttled"
	// ReasonMetricsServerDisagrees: a component's CPU by metrics-server differs by more than 10% from what the exact counters allow for.
	ReasonMetricsServerDisagrees = "MetricsServerDisagrees"
	// ReasonSamplingUnknown: the target is not perfrun's own application, so nobody counted how many requests arrived sampled.
	ReasonSamplingUnknown = "SamplingUnknown"
	// ReasonTracesLost: what arrived at the trace sink is not known, or not what the sidecars were to export.
	ReasonTracesLost = "TracesLost"
	// ReasonReplicasDisagree: a load tester's percentile differs from that of all of them by more than 10%, and not by chance.
	ReasonReplicasDisagree = "ReplicasDisagree"
	// ReasonBlocksNotListed: more blocks are invalid than status.invalidBlocks holds.
	ReasonBlocksNotListed = "BlocksNotListed"
)

// Reasons of the condition MetricsServer.
const (
	// ReasonAvailable: metrics-server answers.
	ReasonAvailable = "Available"
	// ReasonMetricsServerMissing: the API metrics.k8s.io is not served.
	ReasonMetricsServerMissing = "MetricsServerMissing"
)

// Reasons of the condition RawData. With ReasonNameTaken, too, it is False.
const (
	// ReasonKept: status.raw names the ConfigMap. True.
	ReasonKept = "Kept"
	// ReasonRetrying: the API server did not take the ConfigMap, but may soon. Unknown.
	ReasonRetrying = "Retrying"
	// ReasonNotWritten: the API server does not take the ConfigMap; the message holds its reason, such as a quota. False.
	ReasonNotWritten = "NotWritten"
	// ReasonTooLarge: the histograms of so many blocks do not fit into a ConfigMap. False.
	ReasonTooLarge = "TooLarge"
)

// Finished tells whether the phase is a verdict.
func (p Phase) Finished() bool {
	return p == PhaseSucceeded || p == PhaseFailed || p == PhaseInconclusive || p == PhaseError
}
