package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// With several load testers, the requests are those of the pod itself.
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
	// restartReason is how the container ended before the last of its restarts, such as "OOMKilled (exit code 137)".
	// +optional
	RestartReason string `json:"restartReason,omitempty"`
	// limits of the container; absent: none.
	// +optional
	Limits *Limits `json:"limits,omitempty"`
	// throttling is how the container was held back by its CPU limit during the arm's blocks. Absent: it has no such limit, or the kernel
	// does not tell perfrun (docs/measurement.md).
	// +optional
	Throttling *Throttling `json:"throttling,omitempty"`
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

// Throttling is what a CPU limit did to a container. The kernel grants the limit anew in each period, of 100 ms unless the kubelet is told
// otherwise; a container that has used up its share stands still until the next one.
type Throttling struct {
	// periods in which the container ran at all.
	Periods int64 `json:"periods"`
	// throttledPeriods are those in which it used up its share and was held back.
	ThrottledPeriods int64 `json:"throttledPeriods"`
	// time that it was held back, that of several CPUs added up.
	Time metav1.Duration `json:"time"`
}

// CrossCheck is a component's usage from a second source.
type CrossCheck struct {
	// source of the figures.
	Source Source `json:"source"`
	// cpu by this source, mean vCPU.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// comparedCPU is the entry's own source over the same time as this source's cpu.
	// +optional
	ComparedCPU *resource.Quantity `json:"comparedCPU,omitempty"`
	// comparedLow is the least that comparedCPU can be, since metrics-server dates its windows up to 15 s too early (docs/measurement.md).
	// +optional
	ComparedLow *resource.Quantity `json:"comparedLow,omitempty"`
	// comparedHigh is the most that comparedCPU can be, likewise.
	// +optional
	ComparedHigh *resource.Quantity `json:"comparedHigh,omitempty"`
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
