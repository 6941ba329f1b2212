package v1alpha1

import "k8s.io/utils/ptr"

// Protocol is what an application speaks to its sidecar.
//
// +kubebuilder:validation:Enum=HTTP;GRPC
type Protocol string

// The protocols.
const (
	// ProtocolHTTP is HTTP/1.1. The default.
	ProtocolHTTP Protocol = "HTTP"
	// ProtocolGRPC is gRPC without TLS.
	ProtocolGRPC Protocol = "GRPC"
)

// Invocation is the path of service invocation.
//
// +kubebuilder:validation:XValidation:rule="!has(self.proxying) || !self.proxying || (has(self.caller) && self.caller == 'GRPC' && has(self.target) && self.target == 'GRPC')",fieldPath=".proxying",message="invocation.proxying is how a gRPC client calls a gRPC server: it needs caller GRPC and target GRPC"
type Invocation struct {
	// caller is what the load tester speaks: to its sidecar, and in the baseline to the target. HTTP: Dapr's invoke API.
	// GRPC: Dapr's InvokeService; its baseline is the call of AppCallback/OnInvoke that it ends in. Default HTTP.
	// +optional
	Caller *Protocol `json:"caller,omitempty"`

	// target is what the target's sidecar speaks to the target. GRPC: AppCallback/OnInvoke. Default HTTP.
	// +optional
	Target *Protocol `json:"target,omitempty"`

	// proxying lets the load tester call a gRPC service of the target's own, which the sidecars pass on without looking into
	// it, instead of InvokeService, which Dapr deprecates. Needs caller GRPC and target GRPC. Default false.
	// +optional
	Proxying *bool `json:"proxying,omitempty"`
}

// InvocationPath is the path in force.
type InvocationPath struct {
	// caller is what the load tester speaks.
	Caller Protocol `json:"caller"`
	// target is what the target's sidecar speaks to the target.
	Target Protocol `json:"target"`
	// proxying: whether the sidecars pass on a gRPC service of the target's own.
	Proxying bool `json:"proxying"`
	// display is the path as text.
	Display string `json:"display"`
}

// Path is what the load tester and the target speak: the path of service invocation, and HTTP where actors are called.
func (s *Settings) Path() InvocationPath {
	if s.Invocation == nil {
		return (*Invocation)(nil).effective()
	}
	return *s.Invocation
}

// effective resolves the defaults.
func (i *Invocation) effective() InvocationPath {
	out := InvocationPath{Caller: ProtocolHTTP, Target: ProtocolHTTP}
	if i != nil {
		out.Caller = ptr.Deref(i.Caller, out.Caller)
		out.Target = ptr.Deref(i.Target, out.Target)
		out.Proxying = ptr.Deref(i.Proxying, false)
	}
	out.Display = out.Caller.display() + " to " + out.Target.display()
	if out.Proxying {
		out.Display += ", proxied"
	}
	return out
}

func (p Protocol) display() string {
	if p == ProtocolGRPC {
		return "gRPC"
	}
	return string(p)
}
