package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	commonv1 "github.com/dapr/dapr/pkg/proto/common/v1"
	runtimev1 "github.com/dapr/dapr/pkg/proto/runtime/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

func over(caller, target v1alpha1.Protocol, proxying bool) func(*v1alpha1.PerfRunSpec) {
	return func(s *v1alpha1.PerfRunSpec) {
		s.Invocation = &v1alpha1.Invocation{Caller: &caller, Target: &target, Proxying: &proxying}
		s.Payload = &v1alpha1.Payload{Body: ptr.To(`{"a":1}`)}
	}
}

func planOf(r *v1alpha1.PerfRun) *measure.Plan {
	attempt := v1alpha1.Attempt{ID: AttemptID(0), LoadTesters: []v1alpha1.LoadTester{{Instance: "i"}}}
	return Measurements(r, r.Spec.EffectiveSettings(), attempt, Pods{LoadTesters: []*corev1.Pod{{}}, Targets: []*corev1.Pod{{}}})[0]
}

// said is what a request carries, read back.
func said(t *testing.T, p *measure.Plan, arm measure.Arm) string {
	t.Helper()
	e := p.Endpoints[arm]
	if e.Call == nil {
		return e.Method + " " + string(p.Body)
	}
	if len(p.Body) != 0 {
		t.Errorf("a plan for gRPC has a body of %d bytes besides", len(p.Body))
	}
	read := func(m proto.Message) {
		if err := proto.Unmarshal(e.Call.Message, m); err != nil {
			t.Errorf("%s: %v", e.URL, err)
		}
	}
	invoked := func(r *commonv1.InvokeRequest) string {
		return fmt.Sprintf("%s %s %s %s", r.GetHttpExtension().GetVerb(), r.GetMethod(), r.GetContentType(), r.GetData().GetValue())
	}
	switch {
	case strings.HasSuffix(e.URL, "/InvokeService"):
		var m runtimev1.InvokeServiceRequest
		read(&m)
		return m.GetId() + ": " + invoked(m.GetMessage())
	case strings.HasSuffix(e.URL, "/OnInvoke"):
		var m commonv1.InvokeRequest
		read(&m)
		return invoked(&m)
	default:
		var m wrapperspb.BytesValue
		read(&m)
		return fmt.Sprint(e.Call.Metadata["dapr-app-id"], ": ", string(m.GetValue()))
	}
}

func TestPaths(t *testing.T) {
	const http, grpc = v1alpha1.ProtocolHTTP, v1alpha1.ProtocolGRPC
	const (
		httpDirect  = "http://invoke-target.bench:8080/echo POST {\"a\":1}"
		httpDapr    = "http://127.0.0.1:3500/v1.0/invoke/invoke-target/method/echo POST {\"a\":1}"
		onInvoke    = "grpc://invoke-target.bench:8082/dapr.proto.runtime.v1.AppCallback/OnInvoke POST echo application/json {\"a\":1}"
		invokeDapr  = "grpc://127.0.0.1:50001/dapr.proto.runtime.v1.Dapr/InvokeService invoke-target: POST echo application/json {\"a\":1}"
		echoDirect  = "grpc://invoke-target.bench:8082/perfrun.v1.Echo/Echo : {\"a\":1}"
		echoDapr    = "grpc://127.0.0.1:50001/perfrun.v1.Echo/Echo invoke-target: {\"a\":1}"
		appPortHTTP = "8080 http"
		appPortGRPC = "8082 grpc"
		onlyHTTP    = "http traces; http"
		fromHTTP    = "http traces grpc; http"
		fromGRPC    = "http traces grpc; grpc"
	)
	for _, tc := range []struct {
		caller, target     v1alpha1.Protocol
		proxying           bool
		baseline, dapr     string
		appPort, openPorts string
	}{
		{http, http, false, httpDirect, httpDapr, appPortHTTP, onlyHTTP},
		{http, grpc, false, httpDirect, httpDapr, appPortGRPC, fromHTTP},
		{grpc, http, false, onInvoke, invokeDapr, appPortHTTP, fromGRPC},
		{grpc, grpc, false, onInvoke, invokeDapr, appPortGRPC, fromGRPC},
		{grpc, grpc, true, echoDirect, echoDapr, appPortGRPC, fromGRPC},
	} {
		r := run(over(tc.caller, tc.target, tc.proxying))
		s := r.Spec.EffectiveSettings()
		t.Run(s.Invocation.Display, func(t *testing.T) {
			p := planOf(r)
			if err := p.Validate(); err != nil && strings.Contains(err.Error(), "arm") {
				t.Error(err)
			}
			for arm, want := range map[measure.Arm]string{measure.Baseline: tc.baseline, measure.Dapr: tc.dapr} {
				if got := p.Endpoints[arm].URL + " " + said(t, p, arm); got != want {
					t.Errorf("%s: %s", arm, cmp.Diff(want, got))
				}
			}
			objects := ObjectsOf(r, s, operator())
			template := objects.Target.Spec.Template
			if got := template.Annotations["dapr.io/app-port"] + " " + template.Annotations["dapr.io/app-protocol"]; got != tc.appPort {
				t.Errorf("the target's sidecar calls %s, want %s", got, tc.appPort)
			}
			container := template.Spec.Containers[0]
			var ports, served []string
			for _, p := range container.Ports {
				ports = append(ports, p.Name)
			}
			for _, p := range objects.Service.Spec.Ports {
				served = append(served, p.Name)
			}
			if got := strings.Join(ports, " ") + "; " + strings.Join(served, " "); got != tc.openPorts {
				t.Errorf("ports %s, want %s", got, tc.openPorts)
			}
			if listens := slices.Contains(container.Args, "--grpc-listen=:8082"); listens != strings.Contains(tc.openPorts, "traces grpc") {
				t.Errorf("arguments %v", container.Args)
			}
		})
	}
}

// TestAnImageOverGRPC: its one port is the sidecar's and the Service's.
func TestAnImageOverGRPC(t *testing.T) {
	r := run(over(v1alpha1.ProtocolGRPC, v1alpha1.ProtocolGRPC, false), func(s *v1alpha1.PerfRunSpec) {
		s.Target = &v1alpha1.TargetSettings{Image: ptr.To("example.org/app:1"), Port: ptr.To[int32](9000)}
	})
	objects := ObjectsOf(r, r.Spec.EffectiveSettings(), operator())
	template := objects.Target.Spec.Template
	if got := template.Annotations["dapr.io/app-port"] + " " + template.Annotations["dapr.io/app-protocol"]; got != "9000 grpc" {
		t.Errorf("the image's sidecar calls %s", got)
	}
	open, served := template.Spec.Containers[0].Ports[0], objects.Service.Spec.Ports[0]
	if open.ContainerPort != 9000 || open.Name != served.TargetPort.StrVal || served.Port != measure.TargetGRPCPort {
		t.Errorf("port %+v behind %+v", open, served)
	}
}

// TestTheLargestPayloadIsAPlanThatIsTaken: over gRPC the body is in the messages of both arms.
func TestTheLargestPayloadIsAPlanThatIsTaken(t *testing.T) {
	r := run(over(v1alpha1.ProtocolGRPC, v1alpha1.ProtocolGRPC, false), func(s *v1alpha1.PerfRunSpec) {
		s.Payload = &v1alpha1.Payload{Size: ptr.To(resource.MustParse("1Mi"))}
		s.Connections = []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
		s.Pairs, s.Duration = ptr.To[int32](60), &metav1.Duration{Duration: time.Hour}
	})
	p := planOf(r)
	posted, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if len(posted) > measure.MaxPlanBytes {
		t.Errorf("the plan has %d bytes, the load tester takes %d", len(posted), measure.MaxPlanBytes)
	}
}
