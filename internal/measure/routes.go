package measure

import "time"

// The load tester's HTTP contract. Every call but GET /healthz needs "Authorization: Bearer TOKEN" (see Signer).
//
//	GET    /healthz                 200 once it serves; no token
//	GET    /v1/info                 Info
//	POST   /v1/runs                 Plan -> 201 Progress; 200 Progress if this attempt is known already;
//	                                409 if another attempt was posted before, or if Instance is another process's; 400 with the faults
//	GET    /v1/runs/ATTEMPT         Progress; 404 if unknown
//	POST   /v1/runs/ATTEMPT/windows []Window, added to the report, duplicates (component, pod, end) ignored -> 204
//	GET    /v1/runs/ATTEMPT/report  Report once Done; 409 before
//	DELETE /v1/runs/ATTEMPT         stops the load within a request's timeout, what was recorded is void -> 204
//
// Errors are JSON: {"error": "sentence"}.
const (
	PathHealth = "/healthz"
	PathInfo   = "/v1/info"
	PathRuns   = "/v1/runs"
)

// Sizes that the load tester accepts in a request's body.
const (
	// MaxPlanBytes: 4096 blocks and a base64 body of 1 MiB fit well.
	MaxPlanBytes = 4 << 20
	// MaxWindowsBytes holds thousands of windows.
	MaxWindowsBytes = 1 << 20
)

// LoadTesterPort is where the load tester serves its contract.
const LoadTesterPort = 8080

// The target's ports and paths.
const (
	// TargetPort is the application: it answers every request with its own body.
	TargetPort = 8080
	// TargetGRPCPort is the application over gRPC.
	TargetGRPCPort = 8082
	// EchoService is the application's own gRPC service.
	EchoService = "perfrun.v1.Echo"
	// EchoMethod is its only method, which answers google.protobuf.BytesValue with itself.
	EchoMethod = "Echo"
	// TargetPath is the application's path; through Dapr it is the method.
	TargetPath = "/echo"
	// TargetUsagePort is the meter's, which serves what the pod's processes have used. Applications of others are in the same pod: the port is
	// one that hardly any of them has.
	TargetUsagePort = 18081
	// TargetUsagePath answers with PodUsage: the processes of the target's pod.
	TargetUsagePath = "/usage"
	// TargetTracesPort is perfrun's own application's, apart from the measured path.
	TargetTracesPort = 18082
	// TargetTracesPath answers with Traces.
	TargetTracesPath = "/traces"
)

// The trace sink's ports and paths.
const (
	// SinkPort takes OTLP over gRPC; it is the port that OpenTelemetry has registered for it.
	SinkPort = 4317
	// SinkCountsPort serves what has arrived.
	SinkCountsPort = 8080
	// SinkCountsPath answers with Exported.
	SinkCountsPath = "/counts"
)

// Exported is what a run's trace sink has received from its sidecars since it started.
type Exported struct {
	// Instance is drawn afresh by each process.
	Instance string `json:"instance"`
	// Spans received.
	Spans int64 `json:"spans"`
	// Traces are the spans without a parent: one for each request that was sampled.
	Traces int64 `json:"traces"`
	// Bytes of the messages that they came in, without gRPC's own.
	Bytes int64 `json:"bytes"`
}

// Traces are what the target's application has received: requests with a trace context, and those of them that were marked as sampled.
type Traces struct {
	Traced  int64 `json:"traced"`
	Sampled int64 `json:"sampled"`
}

// PodUsage is what a pod's processes have used, as read from /proc in the pod, containers told apart by their cgroup.
type PodUsage struct {
	// App is the sum over all processes that are neither the sandbox's nor the Dapr sidecar's nor the meter's.
	App Usage `json:"app"`
	// Sidecar is the Dapr sidecar; nil if the pod has none.
	Sidecar *Usage `json:"sidecar,omitempty"`
	// Node is the whole node that the pod runs on; nil if it could not be read.
	Node *NodeCPU `json:"node,omitempty"`
}

// NodeCPU is the cumulative time of all CPUs of a node, in seconds.
type NodeCPU struct {
	// Total of all states, idle included.
	Total float64 `json:"total"`
	// Steal is what the hypervisor gave to others while a CPU had something to do.
	Steal float64 `json:"steal"`
}

// Usage is the cumulative CPU and the present memory of one container or process.
type Usage struct {
	// CPUSeconds is user and system time.
	CPUSeconds float64 `json:"cpuSeconds"`
	// Resident memory in bytes.
	Resident int64 `json:"resident"`
	// Anonymous memory in bytes, 0 if unknown.
	Anonymous int64 `json:"anonymous,omitempty"`
	// Started is when the oldest of a container's processes began, in hundredths of a second after its node's boot: where it changes, the
	// container was restarted. 0 if unknown.
	Started int64 `json:"started,omitempty"`
	// Throttling of a container; nil where the kernel does not tell.
	Throttling *Throttling `json:"throttling,omitempty"`
}

// Throttling is what a CPU limit has done to a container since it began. The kernel grants the limit anew in each period of 100 ms.
type Throttling struct {
	// Periods in which the container ran at all.
	Periods int64 `json:"periods"`
	// Throttled periods: those in which it used its share up before the end, and was held back.
	Throttled int64 `json:"throttled"`
	// Time that it was held back, that of several CPUs added up.
	Time time.Duration `json:"time"`
}
