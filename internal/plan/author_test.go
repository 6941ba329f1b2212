package plan

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// greedy sets every field that reaches a pod, with what somebody might try.
func greedy(s *v1alpha1.PerfRunSpec) {
	own := v1alpha1.PodSettings{
		Resources:        &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		NodeSelector:     map[string]string{"node-role.kubernetes.io/control-plane": ""},
		Tolerations:      []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}},
	}
	s.Target = &v1alpha1.TargetSettings{PodSettings: own, Image: ptr.To("example.org/app:1"), Args: []string{"--privileged", "$(POD_TOKEN)"},
		Port: ptr.To[int32](80), RunAsUser: ptr.To[int64](1)}
	s.LoadTester = &v1alpha1.LoadTesterSettings{PodSettings: own, Replicas: ptr.To[int32](2)}
	s.Sidecar = &v1alpha1.SidecarSettings{Image: ptr.To("example.org/daprd:1,dapr.io/volume-mounts=x:/y"), LogLevel: ptr.To("debug"),
		CPU: ptr.To(resource.MustParse("1")), Memory: ptr.To(resource.MustParse("1Gi"))}
	s.Telemetry = &v1alpha1.TelemetrySettings{Export: ptr.To(true), Metrics: ptr.To(false)}
	s.Payload = &v1alpha1.Payload{Body: ptr.To("{}")}
}

// authored are runs that between them make every kind of object.
func authored() map[string]*v1alpha1.PerfRun {
	out := map[string]*v1alpha1.PerfRun{
		"invocation": run(greedy),
		"actors": actorsRun(greedy, func(s *v1alpha1.PerfRunSpec) {
			s.Actors = &v1alpha1.ActorsSettings{Type: ptr.To("T"), Method: ptr.To("m")}
		}),
		"rebalance": actorsRun(greedy, func(s *v1alpha1.PerfRunSpec) {
			s.Actors = &v1alpha1.ActorsSettings{Rebalance: ptr.To(true), StateStore: ptr.To("shared")}
		}),
		"java": actorsRun(func(s *v1alpha1.PerfRunSpec) {
			s.Actors = &v1alpha1.ActorsSettings{Host: ptr.To(v1alpha1.ActorHostJava)}
		}),
		"fleet": run(func(s *v1alpha1.PerfRunSpec) {
			greedy(s)
			s.Scenario, s.Target.Image = v1alpha1.ScenarioControlPlane, nil
		}),
	}
	out["invocation"].Name = "../" + strings.Repeat("x", 60) + ".kube-system"
	return out
}

// all that a run creates, whatever fields Objects gets.
func all(t *testing.T, o Objects) (out []client.Object) {
	t.Helper()
	for _, field := range reflect.ValueOf(o).Fields() {
		if field.Kind() == reflect.Slice {
			for i := range field.Len() {
				out = append(out, field.Index(i).Interface().(client.Object))
			}
		} else if !field.IsNil() {
			out = append(out, field.Interface().(client.Object))
		}
	}
	return out
}

func deployments(t *testing.T, o Objects) (out []*appsv1.Deployment) {
	t.Helper()
	for _, object := range all(t, o) {
		if d, ok := object.(*appsv1.Deployment); ok {
			out = append(out, d)
		}
	}
	return out
}

// fields are the names of all that is set in v, at any depth but that of the lists and maps in opaque.
func fields(t *testing.T, v any, opaque ...string) []string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	found := sets.New[string]()
	var walk func(prefix string, node any)
	walk = func(prefix string, node any) {
		switch node := node.(type) {
		case map[string]any:
			for key, value := range node {
				name := strings.TrimPrefix(prefix+"."+key, ".")
				if slices.Contains(opaque, name) {
					found.Insert(name)
					continue
				}
				walk(name, value)
			}
		case []any:
			for _, value := range node {
				walk(prefix, value)
			}
		default:
			found.Insert(prefix)
		}
	}
	walk("", tree)
	return sets.List(found)
}

// TestAPodHasNothingThatItsAuthorMayNotAskFor: whatever a spec says, these fields of a pod are all that there are. No volumes, so no host path and
// no Secret; no service account, and no token of the one that the namespace has by default; nothing of the host's; no environment from
// anywhere else; no port of the node's.
func TestAPodHasNothingThatItsAuthorMayNotAskFor(t *testing.T) {
	seen := sets.New[string]()
	for name, r := range authored() {
		for _, d := range deployments(t, ObjectsOf(r, r.Spec.EffectiveSettings(), operator())) {
			spec := d.Spec.Template.Spec
			seen.Insert(fields(t, spec, "affinity", "topologySpreadConstraints", "nodeSelector", "tolerations", "imagePullSecrets", "containers.resources")...)
			if ptr.Deref(spec.AutomountServiceAccountToken, true) || !*spec.SecurityContext.RunAsNonRoot {
				t.Errorf("%s: %s: %+v", name, d.Name, spec)
			}
			for _, c := range spec.Containers {
				want := &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true), RunAsNonRoot: ptr.To(true),
					RunAsUser: c.SecurityContext.RunAsUser, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
				if diff := cmp.Diff(want, c.SecurityContext); diff != "" {
					t.Errorf("%s: %s of %s: %s", name, c.Name, d.Name, diff)
				}
			}
		}
	}
	want := []string{
		"affinity", "automountServiceAccountToken",
		"containers.args", "containers.env.name", "containers.env.value", "containers.image", "containers.imagePullPolicy", "containers.name",
		"containers.ports.containerPort", "containers.ports.name", "containers.ports.protocol",
		"containers.readinessProbe.httpGet.path", "containers.readinessProbe.httpGet.port", "containers.readinessProbe.periodSeconds",
		"containers.readinessProbe.tcpSocket.port", "containers.resources", "containers.securityContext.allowPrivilegeEscalation",
		"containers.securityContext.capabilities.drop", "containers.securityContext.readOnlyRootFilesystem",
		"containers.securityContext.runAsNonRoot", "containers.securityContext.runAsUser", "containers.terminationMessagePolicy",
		"enableServiceLinks", "imagePullSecrets", "nodeSelector", "securityContext.runAsNonRoot", "securityContext.seccompProfile.type",
		"shareProcessNamespace", "terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints",
	}
	if diff := cmp.Diff(want, sets.List(seen)); diff != "" {
		t.Errorf("the fields of a run's pods (-expected +found); a new one needs a look at what an author gains by it:\n%s", diff)
	}
}

// TestWhatARunCreatesStaysInItsNamespace: and belongs to the run, whatever it is called.
func TestWhatARunCreatesStaysInItsNamespace(t *testing.T) {
	for name, r := range authored() {
		op := operator()
		op.CallsFrom = "perfrun-system"
		o := ObjectsOf(r, r.Spec.EffectiveSettings(), op)
		for _, object := range append(all(t, o), RawData(r, "k", nil)) {
			switch object := object.(type) {
			case *corev1.Service:
				if object.Spec.Type != "" || object.Spec.ExternalName != "" || len(object.Spec.ExternalIPs) > 0 {
					t.Errorf("%s: %+v", name, object.Spec)
				}
			case *appsv1.Deployment:
				if object.Spec.Template.Namespace != "" {
					t.Errorf("%s: pods in %s", name, object.Spec.Template.Namespace)
				}
			}
			owners := object.GetOwnerReferences()
			if object.GetNamespace() != r.Namespace || len(owners) != 1 || owners[0].UID != r.UID || !dnsLabel.MatchString(object.GetName()) {
				t.Errorf("%s: %T %s/%s of %v", name, object, object.GetNamespace(), object.GetName(), owners)
			}
		}
	}
}

// TestAnnotationsAreOurs: what Dapr's injector is asked for, a volume for instance, is not for a spec to say. Its values come from settings of
// their own, each whole in the value of one annotation.
func TestAnnotationsAreOurs(t *testing.T) {
	seen := map[string]string{}
	for _, r := range authored() {
		for _, d := range deployments(t, ObjectsOf(r, r.Spec.EffectiveSettings(), operator())) {
			maps.Copy(seen, d.Spec.Template.Annotations)
		}
	}
	want := []string{"app-id", "app-port", "app-protocol", "config", "disable-builtin-k8s-secret-store", "enable-metrics", "enabled", "graceful-shutdown-seconds",
		"log-level", "sidecar-cpu-limit", "sidecar-cpu-request", "sidecar-image", "sidecar-memory-limit",
		"sidecar-readiness-probe-delay-seconds", "sidecar-readiness-probe-period-seconds"}
	var got []string
	for key := range seen {
		got = append(got, strings.TrimPrefix(key, "dapr.io/"))
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("annotations (-expected +found):\n%s", diff)
	}
}

// TestRequestsStayWithinTheRun: whatever a spec says, load goes to the run's own Service and to the load tester's own sidecar, and the load
// tester, which looks at that itself, takes the plan.
func TestRequestsStayWithinTheRun(t *testing.T) {
	const http, grpc = v1alpha1.ProtocolHTTP, v1alpha1.ProtocolGRPC
	runs := authored()
	delete(runs, "fleet")
	runs["mixed"], runs["grpc"], runs["proxying"] = run(over(grpc, http, false)), run(over(grpc, grpc, false)), run(over(grpc, grpc, true))
	for name, r := range runs {
		pod := &corev1.Pod{Status: corev1.PodStatus{PodIP: "10.0.0.7"}}
		dual := corev1.Pod{Status: corev1.PodStatus{PodIP: "fd00::7"}}
		dual.Labels = map[string]string{"app": "dapr-sentry"}
		attempt := v1alpha1.Attempt{ID: AttemptID(0), LoadTesters: []v1alpha1.LoadTester{{Instance: "a"}, {Instance: "b"}}}
		plans := Measurements(r, r.Spec.EffectiveSettings(), attempt,
			Pods{LoadTesters: []*corev1.Pod{pod, pod}, Targets: []*corev1.Pod{pod, pod}, Sink: pod, ControlPlane: []corev1.Pod{dual}})
		tester := ObjectsOf(r, r.Spec.EffectiveSettings(), operator()).LoadTester.Spec.Template.Spec.Containers[0]
		i := slices.IndexFunc(tester.Args, func(a string) bool { return strings.HasPrefix(a, "--target=") })
		service := strings.TrimPrefix(tester.Args[i], "--target=")
		if want := NamesOf(r).Target + "." + r.Namespace; service != want {
			t.Errorf("%s: the load tester may call %s, want %s", name, service, want)
		}
		for _, p := range plans {
			if err := p.Within(service); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
