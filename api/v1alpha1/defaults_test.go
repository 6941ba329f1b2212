package v1alpha1_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// published are the settings of the published Dapr service invocation test.
func published(change func(*v1alpha1.Settings)) v1alpha1.Settings {
	s := v1alpha1.Settings{
		Invocation:   &v1alpha1.InvocationPath{Caller: v1alpha1.ProtocolHTTP, Target: v1alpha1.ProtocolHTTP, Display: "HTTP to HTTP"},
		RPS:          1000,
		PayloadBytes: 1024,
		Duration:     metav1.Duration{Duration: time.Minute},
		Warmup:       metav1.Duration{Duration: 10 * time.Second},
		Connections:  []int32{16},
		Pairs:        6,
		Baseline:     v1alpha1.BaselineDirect,
		MTLS:         true,
		Sampling:     "0.1",
		Metrics:      true,
		Placement:    v1alpha1.PlacementDifferentNode,
		Exclusive:    true,
		SidecarCPU:   resource.MustParse("500m"),

		LoadTesterReplicas: 1,
	}
	if change != nil {
		change(&s)
	}
	return s
}

func TestEffectiveSettings(t *testing.T) {
	seconds := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Second} }
	quantity := func(s string) *resource.Quantity { return ptr.To(resource.MustParse(s)) }
	for name, test := range map[string]struct {
		spec v1alpha1.PerfRunSpec
		want v1alpha1.Settings
	}{
		"nothing set": {
			want: published(nil),
		},
		"empty parents": {
			spec: v1alpha1.PerfRunSpec{Invocation: &v1alpha1.Invocation{}, Payload: &v1alpha1.Payload{}, Connections: []int32{}, Sidecar: &v1alpha1.SidecarSettings{}, Telemetry: &v1alpha1.TelemetrySettings{}},
			want: published(nil),
		},
		"everything set": {
			spec: v1alpha1.PerfRunSpec{
				Invocation: &v1alpha1.Invocation{Caller: ptr.To(v1alpha1.ProtocolGRPC), Target: ptr.To(v1alpha1.ProtocolGRPC), Proxying: ptr.To(true)},
				RPS:        ptr.To[int32](500), Payload: &v1alpha1.Payload{Size: quantity("1Mi")}, Duration: seconds(90), Warmup: seconds(20),
				Connections: []int32{2, 4}, Pairs: ptr.To[int32](8), MTLS: ptr.To(false), Sampling: ptr.To("1"),
				Telemetry: &v1alpha1.TelemetrySettings{Export: ptr.To(true), Metrics: ptr.To(false)},
				Baseline:  ptr.To(v1alpha1.BaselineNone),
				Placement: ptr.To(v1alpha1.PlacementAny), Exclusive: ptr.To(false),
				Sidecar: &v1alpha1.SidecarSettings{CPU: quantity("2"), Memory: quantity("256Mi")},

				LoadTester: &v1alpha1.LoadTesterSettings{Replicas: ptr.To[int32](2)},
			},
			want: v1alpha1.Settings{
				Invocation: &v1alpha1.InvocationPath{Caller: v1alpha1.ProtocolGRPC, Target: v1alpha1.ProtocolGRPC, Proxying: true, Display: "gRPC to gRPC, proxied"},
				RPS:        500, PayloadBytes: 1 << 20, Duration: *seconds(90), Warmup: *seconds(20),
				Connections: []int32{2, 4}, Pairs: 8, MTLS: false, Sampling: "1", Export: true, Metrics: false,
				Baseline:   v1alpha1.BaselineNone,
				Placement:  v1alpha1.PlacementAny,
				SidecarCPU: resource.MustParse("2"), SidecarMemory: resource.MustParse("256Mi"),

				LoadTesterReplicas: 2,
			},
		},
		"one end of the path": {
			spec: v1alpha1.PerfRunSpec{Invocation: &v1alpha1.Invocation{Target: ptr.To(v1alpha1.ProtocolGRPC)}},
			want: published(func(s *v1alpha1.Settings) {
				s.Invocation.Target, s.Invocation.Display = v1alpha1.ProtocolGRPC, "HTTP to gRPC"
			}),
		},
		"a body counts in bytes, not characters": {
			spec: v1alpha1.PerfRunSpec{Payload: &v1alpha1.Payload{Body: ptr.To("größe")}},
			want: published(func(s *v1alpha1.Settings) { s.PayloadBytes = 7 }),
		},
		"an empty body": {
			spec: v1alpha1.PerfRunSpec{Payload: &v1alpha1.Payload{Body: ptr.To("")}},
			want: published(func(s *v1alpha1.Settings) { s.PayloadBytes = 0 }),
		},
		"an empty generated payload": {
			spec: v1alpha1.PerfRunSpec{Payload: &v1alpha1.Payload{Size: quantity("0")}},
			want: published(func(s *v1alpha1.Settings) { s.PayloadBytes = 0 }),
		},
		"a duration shorter than the default warm-up": {
			spec: v1alpha1.PerfRunSpec{Duration: seconds(6)},
			want: published(func(s *v1alpha1.Settings) { s.Duration, s.Warmup = *seconds(6), *seconds(6) }),
		},
		"no warm-up": {
			spec: v1alpha1.PerfRunSpec{Warmup: seconds(0)},
			want: published(func(s *v1alpha1.Settings) { s.Warmup = *seconds(0) }),
		},
		"actors": {
			spec: v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioActors},
			want: published(func(s *v1alpha1.Settings) {
				s.RPS, s.PayloadBytes, s.Connections = 500, 2, []int32{8}
				s.Invocation, s.Actors = nil, &v1alpha1.ActorsInForce{Host: v1alpha1.ActorHostGo, IDs: intstr.FromString("New"), Method: "echo", Replicas: 1}
			}),
		},
		"actors of an image": {
			spec: v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioActors, Actors: &v1alpha1.ActorsSettings{Type: ptr.To("Counter")},
				Target: &v1alpha1.TargetSettings{Image: ptr.To("host:1")}},
			want: published(func(s *v1alpha1.Settings) {
				s.RPS, s.PayloadBytes, s.Connections, s.Baseline = 500, 2, []int32{8}, v1alpha1.BaselineNone
				s.Invocation, s.Actors = nil, &v1alpha1.ActorsInForce{IDs: intstr.FromString("New"), Type: "Counter", Method: "echo", Replicas: 1}
			}),
		},
		"actors in Java": {
			spec: v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioActors, Actors: &v1alpha1.ActorsSettings{Host: ptr.To(v1alpha1.ActorHostJava)}},
			want: published(func(s *v1alpha1.Settings) {
				s.RPS, s.PayloadBytes, s.Connections, s.Baseline = 500, 2, []int32{8}, v1alpha1.BaselineNone
				s.Invocation, s.Actors = nil, &v1alpha1.ActorsInForce{Host: v1alpha1.ActorHostJava, IDs: intstr.FromString("New"), Method: "echo", Replicas: 1}
			}),
		},
		"rebalancing": {
			spec: v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioActors, Actors: &v1alpha1.ActorsSettings{Rebalance: ptr.To(true), StateStore: ptr.To("redis")}},
			want: published(func(s *v1alpha1.Settings) {
				s.RPS, s.PayloadBytes, s.Connections, s.Baseline, s.Pairs = 500, 2, []int32{8}, v1alpha1.BaselineNone, 2
				s.Invocation, s.Actors = nil, &v1alpha1.ActorsInForce{Host: v1alpha1.ActorHostGo, IDs: intstr.FromInt32(100), Method: "echo", StateStore: "redis", Replicas: 1, Rebalance: true}
			}),
		},
		"actors with everything set": {
			spec: v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioActors, RPS: ptr.To[int32](100), Connections: []int32{4},
				Payload: &v1alpha1.Payload{Size: quantity("1Ki")}, Actors: &v1alpha1.ActorsSettings{
					IDs: ptr.To(intstr.FromInt32(100)), Type: ptr.To("Counter"), Method: ptr.To("get"), StateStore: ptr.To("redis")}},
			want: published(func(s *v1alpha1.Settings) {
				s.RPS, s.Connections = 100, []int32{4}
				s.Invocation, s.Actors = nil, &v1alpha1.ActorsInForce{Host: v1alpha1.ActorHostGo, IDs: intstr.FromInt32(100), Type: "Counter", Method: "get", StateStore: "redis", Replicas: 1}
			}),
		},
		"no sidecar limits": {
			spec: v1alpha1.PerfRunSpec{Sidecar: &v1alpha1.SidecarSettings{CPU: quantity("0"), Memory: quantity("0")}},
			want: published(func(s *v1alpha1.Settings) { s.SidecarCPU = resource.MustParse("0") }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := test.spec.DeepCopy()
			if diff := cmp.Diff(test.want, test.spec.EffectiveSettings()); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, &test.spec); diff != "" {
				t.Errorf("the spec was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestFinished(t *testing.T) {
	for phase, want := range map[v1alpha1.Phase]bool{
		"":                         false,
		v1alpha1.PhaseQueued:       false,
		v1alpha1.PhasePreparing:    false,
		v1alpha1.PhaseMeasuring:    false,
		v1alpha1.PhaseCollecting:   false,
		v1alpha1.PhaseSucceeded:    true,
		v1alpha1.PhaseInconclusive: true,
		v1alpha1.PhaseError:        true,
	} {
		if got := phase.Finished(); got != want {
			t.Errorf("Phase(%q).Finished() = %t, want %t", phase, got, want)
		}
	}
}
