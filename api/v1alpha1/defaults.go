package v1alpha1

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Defaults of a PerfRun. They repeat the published Dapr service invocation test (docs.dapr.io, "Service invocation performance"):
// 1000 requests/s, 1 KB, sidecars limited to 0.5 vCPU, mTLS, sampling 0.1; its harness uses 16 connections for 1 minute.
// Six pairs are the fewest for which a 95% interval of a median exists.
const (
	DefaultRPS          int32 = 1000
	DefaultPayloadBytes int64 = 1024
	DefaultDuration           = time.Minute
	DefaultWarmup             = 10 * time.Second
	DefaultConnections  int32 = 16
	DefaultPairs        int32 = 6
	DefaultSampling           = "0.1"
	DefaultSidecarCPU         = "500m"
)

// Defaults of scenario Actors where they differ. They repeat the published test of actor activation (docs.dapr.io, "Actors activation
// performance"): 500 requests/s and the body {}; its harness uses 8 connections.
const (
	DefaultActorsRPS         int32 = 500
	DefaultActorsBody              = "{}"
	DefaultActorsConnections int32 = 8
)

// EffectiveSettings resolves the defaults of a spec. It never changes the spec.
func (s *PerfRunSpec) EffectiveSettings() Settings {
	if s.Scenario == ScenarioControlPlane {
		return s.controlPlaneInForce()
	}
	rps, connections, pairs, baseline := DefaultRPS, DefaultConnections, DefaultPairs, BaselineDirect
	var actors *ActorsInForce
	var invocation *InvocationPath
	if s.Scenario == ScenarioActors {
		rps, connections, actors = DefaultActorsRPS, DefaultActorsConnections, s.effectiveActors()
		if !s.OwnApplication() || actors.Rebalance {
			// An SDK's host activates what is called, and waits for its sidecar to deactivate it: called directly, it would never be.
			baseline = BaselineNone
		}
		if actors.Rebalance {
			pairs = DefaultRebalancePairs
		}
	} else {
		invocation = ptr.To(s.Invocation.effective())
	}
	out := Settings{
		Invocation:   invocation,
		Actors:       actors,
		RPS:          ptr.Deref(s.RPS, rps),
		PayloadBytes: s.EffectivePayload().bytes(),
		Duration:     ptr.Deref(s.Duration, metav1.Duration{Duration: DefaultDuration}),
		Connections:  s.Connections,
		Pairs:        ptr.Deref(s.Pairs, pairs),
		Baseline:     ptr.Deref(s.Baseline, baseline),
		MTLS:         ptr.Deref(s.MTLS, true),
		Sampling:     ptr.Deref(s.Sampling, DefaultSampling),
		Metrics:      true,
		Placement:    ptr.Deref(s.Placement, PlacementDifferentNode),
		Exclusive:    ptr.Deref(s.Exclusive, true),
		SidecarCPU:   resource.MustParse(DefaultSidecarCPU),
	}
	if len(out.Connections) == 0 {
		out.Connections = []int32{connections}
	}
	out.Warmup = ptr.Deref(s.Warmup, metav1.Duration{Duration: min(DefaultWarmup, out.Duration.Duration)})
	out.LoadTesterReplicas = 1
	if s.LoadTester != nil {
		out.LoadTesterReplicas = ptr.Deref(s.LoadTester.Replicas, out.LoadTesterReplicas)
	}
	if s.Telemetry != nil {
		out.Metrics = ptr.Deref(s.Telemetry.Metrics, out.Metrics)
		out.Export = ptr.Deref(s.Telemetry.Export, out.Export)
	}
	s.Sidecar.limit(&out)
	return out
}

// controlPlaneInForce: nothing of a load is in force where none is sent.
func (s *PerfRunSpec) controlPlaneInForce() Settings {
	out := Settings{
		ControlPlane: s.ControlPlane.effective(),
		Duration:     ptr.Deref(s.Duration, metav1.Duration{Duration: DefaultDuration}),
		Connections:  []int32{},
		Baseline:     BaselineNone,
		MTLS:         true,
		Sampling:     "0",
		Metrics:      true,
		Placement:    PlacementAny,
		Exclusive:    ptr.Deref(s.Exclusive, true),
		SidecarCPU:   resource.MustParse(DefaultSidecarCPU),
	}
	s.Sidecar.limit(&out)
	return out
}

// limit puts the sidecars' own limits in force. Nil settings leave the defaults.
func (s *SidecarSettings) limit(out *Settings) {
	if s != nil {
		out.SidecarCPU = ptr.Deref(s.CPU, out.SidecarCPU)
		out.SidecarMemory = ptr.Deref(s.Memory, out.SidecarMemory)
	}
}

// EffectivePayload is the payload, where the spec has none the default body of its scenario; nil is DefaultPayloadBytes of text.
func (s *PerfRunSpec) EffectivePayload() *Payload {
	if s.Payload == nil && s.Scenario == ScenarioActors {
		return &Payload{Body: ptr.To(DefaultActorsBody)}
	}
	return s.Payload
}

func (p *Payload) bytes() int64 {
	switch {
	case p == nil:
		return DefaultPayloadBytes
	case p.Body != nil:
		return int64(len(*p.Body))
	case p.Size != nil:
		return p.Size.Value()
	default:
		return DefaultPayloadBytes
	}
}

// OwnApplication tells whether the application under test is perfrun's own, which counts the requests that arrive sampled and keeps
// nothing of an actor.
func (s *PerfRunSpec) OwnApplication() bool {
	return !s.Target.Foreign() && (s.Actors == nil || ptr.Deref(s.Actors.Host, ActorHostGo) == ActorHostGo)
}

// Foreign tells whether the application under test is not perfrun's own. Nil settings name none.
func (t *TargetSettings) Foreign() bool { return t != nil && t.Image != nil }
