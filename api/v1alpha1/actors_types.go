package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// ActorHost is an application that hosts actors.
// +kubebuilder:validation:Enum=Go;Java
type ActorHost string

const (
	// ActorHostGo is perfrun's own application, which speaks Dapr's actor protocol itself.
	ActorHostGo ActorHost = "Go"
	// ActorHostJava is made with Dapr's Java SDK, as the host of the published test is.
	ActorHostJava ActorHost = "Java"
)

// ActorsSettings says which actors are called, and where their state would be kept.
//
// +kubebuilder:validation:XValidation:rule="!has(self.rebalance) || !self.rebalance || has(self.stateStore)",fieldPath=".rebalance",message="actors.rebalance needs actors.stateStore, a state store that all hosts share: the one that perfrun makes is in each sidecar's own memory"
// +kubebuilder:validation:XValidation:rule="!has(self.rebalance) || !self.rebalance || !has(self.ids) || type(self.ids) == int",fieldPath=".ids",message="actors.ids must be a number with actors.rebalance: fresh actors are on no host that they could leave"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas == 1 || has(self.stateStore)",fieldPath=".replicas",message="actors.replicas above 1 needs actors.stateStore, a state store that all hosts share: the one that perfrun makes is in each sidecar's own memory"
type ActorsSettings struct {
	// host of the actors. Go: perfrun's own application, which speaks Dapr's actor protocol itself, so that the sidecar is what is
	// measured. Java: one made with Dapr's Java SDK, as in the published test, from the image that the operator knows for it.
	// Default Go; target.image puts another in its place.
	// +optional
	Host *ActorHost `json:"host,omitempty"`

	// ids are the actors that are called. New: a fresh one with each request, so that each request activates an actor, as in the
	// published test. A number from 1 to 10000: so many actors, in turn, all of them activated before the load. Default New.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 10000 : self == 'New'",message="actors.ids must be New or a number of actors between 1 and 10000"
	IDs *intstr.IntOrString `json:"ids,omitempty"`

	// type of the actors. No other host in the namespace may serve it, or that one would take a part of the requests.
	// Default a type of the run's own, NAME-actor.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$')`,message="actors.type must be letters, digits, '.', '_' and '-', such as Counter"
	Type *string `json:"type,omitempty"`

	// method that is called. perfrun's own host answers any with the request's body. Default echo.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$')`,message="actors.method must be letters, digits, '.', '_' and '-', such as echo"
	Method *string `json:"method,omitempty"`

	// stateStore names a Component in the PerfRun's namespace to host the actors with: a state store with actorStateStore "true" that
	// the target's app id (NAME-target) may use. Unset: perfrun makes one for the run, in the memory of the target's sidecar.
	// With replicas above 1 it must be set.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	StateStore *string `json:"stateStore,omitempty"`

	// replicas is the number of hosts, pods of the target among which placement divides the actors; from 1 to 16. Default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	Replicas *int32 `json:"replicas,omitempty"`

	// rebalance: whether it is measured what a host that joins and one that leaves do to the calls, instead of what calls take. In each pair,
	// one block has a host added to the replicas a quarter after its beginning, the next one has it removed. Default false.
	// With it, ids are a number of warm actors (default 100), stateStore must be set, pairs are 2 by default and blocks last 10s at least.
	// +optional
	Rebalance *bool `json:"rebalance,omitempty"`
}

// ActorsInForce are the values in force for the actors of a run, defaults resolved.
type ActorsInForce struct {
	// host of the actors; absent where it is target.image.
	// +optional
	Host ActorHost `json:"host,omitempty"`
	// ids are the actors that are called: New, or a number of warm ones.
	// +kubebuilder:validation:XIntOrString
	IDs intstr.IntOrString `json:"ids"`
	// type of the actors, where the spec names one.
	// +optional
	Type string `json:"type,omitempty"`
	// method that is called.
	Method string `json:"method"`
	// stateStore is the Component that the spec names.
	// +optional
	StateStore string `json:"stateStore,omitempty"`
	// replicas is the number of hosts.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// rebalance: whether hosts join and leave.
	// +optional
	Rebalance bool `json:"rebalance,omitempty"`
}

// HostCalls is what reached one of several actor hosts.
type HostCalls struct {
	// pod of the host, by name.
	Pod string `json:"pod"`
	// node that it ran on.
	Node string `json:"node"`
	// calls that reached it, over the Dapr arm's blocks. Absent where they were not counted: only perfrun's own application counts them.
	// +optional
	Calls *int64 `json:"calls,omitempty"`
}

// NewActors is the value of actors.ids for a fresh actor with each request.
const NewActors = "New"

// DefaultActorMethod is what an echo does.
const DefaultActorMethod = "echo"

// Fresh tells whether each request goes to an actor that no request went to before.
func (a ActorsInForce) Fresh() bool { return a.IDs.Type == intstr.String }

// Java tells whether the actors are hosted by the application made with Dapr's Java SDK. Nil settings name none.
func (a *ActorsInForce) Java() bool { return a != nil && a.Host == ActorHostJava }

// Hosts is the number of the target's pods: one, but for several actor hosts.
func (s *Settings) Hosts() int {
	if s.Actors == nil {
		return 1
	}
	return int(s.Actors.Replicas)
}

// Rebalances tells whether actor hosts join and leave.
func (s *Settings) Rebalances() bool { return s.Actors != nil && s.Actors.Rebalance }

func (s *PerfRunSpec) effectiveActors() *ActorsInForce {
	own := ptr.Deref(s.Actors, ActorsSettings{})
	ids := intstr.FromString(NewActors)
	if ptr.Deref(own.Rebalance, false) {
		ids = intstr.FromInt32(DefaultRebalancedActors)
	}
	host := ptr.Deref(own.Host, ActorHostGo)
	if s.Target.Foreign() {
		host = ""
	}
	return &ActorsInForce{
		Host:       host,
		IDs:        ptr.Deref(own.IDs, ids),
		Type:       ptr.Deref(own.Type, ""),
		Method:     ptr.Deref(own.Method, DefaultActorMethod),
		StateStore: ptr.Deref(own.StateStore, ""),
		Replicas:   ptr.Deref(own.Replicas, 1),
		Rebalance:  ptr.Deref(own.Rebalance, false),
	}
}
