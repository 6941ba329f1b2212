package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// ControlPlaneSettings says what the control plane is given to do in scenario ControlPlane.
type ControlPlaneSettings struct {
	// pods with a sidecar that are brought up all at once, and taken down again; from 1 to 500. Default 10.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	Pods *int32 `json:"pods,omitempty"`

	// actorHosts: whether each of the pods hosts a type of actors, which placement spreads anew as they come and go. Default true.
	// +optional
	ActorHosts *bool `json:"actorHosts,omitempty"`
}

// ControlPlaneInForce are the values in force for scenario ControlPlane, defaults resolved.
type ControlPlaneInForce struct {
	// pods that are brought up.
	Pods int32 `json:"pods"`
	// actorHosts: whether they host actors.
	ActorHosts bool `json:"actorHosts"`
}

// DefaultControlPlanePods are few enough for the smallest clusters. The published table does not say how many pods there were.
const DefaultControlPlanePods int32 = 10

func (c *ControlPlaneSettings) effective() *ControlPlaneInForce {
	own := ptr.Deref(c, ControlPlaneSettings{})
	return &ControlPlaneInForce{Pods: ptr.Deref(own.Pods, DefaultControlPlanePods), ActorHosts: ptr.Deref(own.ActorHosts, true)}
}

// ControlPlaneStep is one of the steps of scenario ControlPlane.
//
//	Idle -> Up -> Steady -> Down
//
// +kubebuilder:validation:Enum=Idle;Up;Steady;Down
type ControlPlaneStep string

// The steps.
const (
	// StepIdle lasts spec.duration: no pod of the run is there.
	StepIdle ControlPlaneStep = "Idle"
	// StepUp lasts until all pods are ready.
	StepUp ControlPlaneStep = "Up"
	// StepSteady lasts spec.duration: all pods are there and do nothing.
	StepSteady ControlPlaneStep = "Steady"
	// StepDown lasts until all pods are gone.
	StepDown ControlPlaneStep = "Down"
)

// ControlPlaneSteps are the steps in their order.
var ControlPlaneSteps = []ControlPlaneStep{StepIdle, StepUp, StepSteady, StepDown}

// ControlPlaneReading is what the control plane's own counters said at one moment: one as each step begins, and one at the end.
type ControlPlaneReading struct {
	// time of the reading.
	Time metav1.MicroTime `json:"time"`
	// pods of the run that were ready.
	Pods int32 `json:"pods"`
	// parts has one entry for each control-plane pod.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Parts []PartReading `json:"parts"`
}

// PartReading is what one control-plane pod's counters said.
type PartReading struct {
	// component that it is.
	Component Component `json:"component"`
	// pod by name, in Dapr's namespace.
	Pod string `json:"pod"`
	// cpuTime used since the process started.
	CPUTime metav1.Duration `json:"cpuTime"`
	// memory is its resident memory.
	Memory resource.Quantity `json:"memory"`
	// counters of requests that it has had since it started, by what they count.
	// +optional
	Counters map[string]int64 `json:"counters,omitempty"`
	// levels of what is connected to it now, by what they count.
	// +optional
	Levels map[string]int64 `json:"levels,omitempty"`
	// error is why it could not be read; the figures are then zero.
	// +optional
	Error string `json:"error,omitempty"`
}

// ControlPlaneResult is what the control plane took in one step.
type ControlPlaneResult struct {
	// step that the figures are of.
	Step ControlPlaneStep `json:"step"`
	// duration of the step.
	Duration metav1.Duration `json:"duration"`
	// pods of the run that were ready at its end.
	Pods int32 `json:"pods"`
	// parts has one entry for each control-plane pod.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Parts []PartUsage `json:"parts"`
	// total of those that could be read.
	Total Total `json:"total"`
}

// PartUsage is what one control-plane pod took in one step.
type PartUsage struct {
	// component that it is.
	Component Component `json:"component"`
	// pod by name, in Dapr's namespace.
	Pod string `json:"pod"`
	// cpu is the mean vCPU used.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// cpuTime used in the step.
	// +optional
	CPUTime *metav1.Duration `json:"cpuTime,omitempty"`
	// memory is the resident memory at the end of the step.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// work is what drove it: how much its own counters of requests went up in the step, and how many pods were connected to it at the end.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Work []Work `json:"work,omitempty"`
	// note says why figures are missing.
	// +optional
	Note string `json:"note,omitempty"`
}

// Work is an amount of what drives a part of the control plane.
type Work struct {
	// name of what is counted, such as "certificate requests".
	Name string `json:"name"`
	// amount of it.
	Amount int64 `json:"amount"`
}
