package plan

import (
	"crypto/ed25519"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

var update = flag.Bool("update", false, "write the golden files anew")

func run(mutate ...func(*v1alpha1.PerfRunSpec)) *v1alpha1.PerfRun {
	r := &v1alpha1.PerfRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "invoke", UID: "0f0e0d0c-0000-4000-8000-000000000001"},
		Spec:       v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioInvocation},
	}
	for _, m := range mutate {
		m(&r.Spec)
	}
	return r
}

func actorsRun(mutate ...func(*v1alpha1.PerfRunSpec)) *v1alpha1.PerfRun {
	return run(append([]func(*v1alpha1.PerfRunSpec){func(s *v1alpha1.PerfRunSpec) { s.Scenario = v1alpha1.ScenarioActors }}, mutate...)...)
}

func operator() Operator {
	return Operator{Image: "example.org/perfrun:v1", JavaHostImage: "example.org/actor-host-java:v1", PublicKey: ed25519.PublicKey(make([]byte, ed25519.PublicKeySize))}
}

func TestObjectsAreRenderedAsReviewed(t *testing.T) {
	cases := map[string]*v1alpha1.PerfRun{
		"defaults": run(),
		"actors":   actorsRun(),
		"controlplane": run(func(s *v1alpha1.PerfRunSpec) {
			s.Scenario = v1alpha1.ScenarioControlPlane
		}),
		"java": actorsRun(func(s *v1alpha1.PerfRunSpec) {
			s.Actors = &v1alpha1.ActorsSettings{Host: ptr.To(v1alpha1.ActorHostJava), Type: ptr.To("DemoActor"), Method: ptr.To("noOp")}
		}),
		"everything": run(func(s *v1alpha1.PerfRunSpec) {
			s.Sampling = ptr.To("1")
			s.MTLS = ptr.To(false)
			s.Telemetry = &v1alpha1.TelemetrySettings{Export: ptr.To(true), Metrics: ptr.To(false)}
			s.Placement = ptr.To(v1alpha1.PlacementSameNode)
			s.Sidecar = &v1alpha1.SidecarSettings{CPU: ptr.To(resource.MustParse("0")), Memory: ptr.To(resource.MustParse("256Mi")),
				Image: ptr.To("example.org/daprd:1"), LogLevel: ptr.To("warn")}
			s.LoadTester = &v1alpha1.LoadTesterSettings{
				PodSettings: v1alpha1.PodSettings{
					Resources:        &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}},
					NodeSelector:     map[string]string{"pool": "bench"},
					Tolerations:      []corev1.Toleration{{Key: "bench", Operator: corev1.TolerationOpExists}},
					ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}},
				},
				Replicas: ptr.To[int32](2),
			}
			s.Target = &v1alpha1.TargetSettings{
				PodSettings: v1alpha1.PodSettings{Resources: &corev1.ResourceRequirements{
					Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")}}},
				Image: ptr.To("example.org/app:1"), Args: []string{"serve", "--fast"}, Port: ptr.To[int32](5000), RunAsUser: ptr.To[int64](1000),
			}
		}),
	}
	for name, r := range cases {
		t.Run(name, func(t *testing.T) {
			op := operator()
			op.CallsFrom = "perfrun-system"
			objects := ObjectsOf(r, r.Spec.EffectiveSettings(), op)
			var docs []string
			all := []any{objects.Configuration.Object, objects.Service, objects.Target, objects.LoadTester}
			if objects.Fleet != nil {
				all = []any{objects.Configuration.Object, objects.Fleet}
			}
			if objects.StateStore != nil {
				all = append(all, objects.StateStore.Object)
			}
			if objects.Sink != nil {
				all = append(all, objects.SinkService, objects.Sink)
			}
			for _, p := range objects.Policies {
				all = append(all, p)
			}
			for _, o := range all {
				doc, err := yaml.Marshal(o)
				if err != nil {
					t.Fatal(err)
				}
				docs = append(docs, string(doc))
			}
			golden(t, name+".yaml", strings.Join(docs, "---\n"))
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("differs from %s (-want +got); if that is meant: go test ./internal/plan -update\n%s", path, diff)
	}
}

func TestBlocksAlternateAndSplitTheDuration(t *testing.T) {
	s := run(func(s *v1alpha1.PerfRunSpec) {
		s.Connections = []int32{2, 8}
		s.Pairs = ptr.To[int32](3)
		s.Duration = &metav1.Duration{Duration: 30 * time.Second}
		s.Warmup = &metav1.Duration{Duration: 5 * time.Second}
	}).Spec.EffectiveSettings()
	var got []string
	for _, b := range Blocks(s) {
		kind := fmt.Sprint(b.Pair)
		if b.Warmup {
			kind = "warm-up"
		}
		got = append(got, fmt.Sprintf("%d/%d %s %s %s", b.Point, b.Connections, kind, b.Arm, b.Duration))
	}
	want := []string{
		"0/2 warm-up Baseline 5s", "0/2 warm-up Dapr 5s",
		"0/2 0 Baseline 10s", "0/2 0 Dapr 10s", "0/2 1 Dapr 10s", "0/2 1 Baseline 10s", "0/2 2 Baseline 10s", "0/2 2 Dapr 10s",
		"1/8 warm-up Baseline 5s", "1/8 warm-up Dapr 5s",
		"1/8 0 Baseline 10s", "1/8 0 Dapr 10s", "1/8 1 Dapr 10s", "1/8 1 Baseline 10s", "1/8 2 Baseline 10s", "1/8 2 Dapr 10s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutBaselineOnlyTheDaprArmIsDriven(t *testing.T) {
	s := run(func(s *v1alpha1.PerfRunSpec) { s.Baseline = ptr.To(v1alpha1.BaselineNone); s.Pairs = ptr.To[int32](3) }).Spec.EffectiveSettings()
	blocks := Blocks(s)
	if len(blocks) != 4 || !blocks[0].Warmup {
		t.Errorf("%+v", blocks)
	}
	for _, b := range blocks {
		if b.Arm != measure.Dapr {
			t.Errorf("%+v", b)
		}
	}
}

func TestCheckNamesTheFieldsAndTheWayOut(t *testing.T) {
	cases := []struct {
		name   string
		mutate func(*v1alpha1.PerfRunSpec)
		want   []string
	}{
		{"defaults", func(*v1alpha1.PerfRunSpec) {}, nil},
		{"short blocks", func(s *v1alpha1.PerfRunSpec) { s.Duration = &metav1.Duration{Duration: 5 * time.Second} },
			[]string{"spec.duration", "spec.pairs 6", "lengthen duration or lower pairs"}},
		{"too few requests for the connections", func(s *v1alpha1.PerfRunSpec) { s.RPS = ptr.To[int32](3) },
			[]string{"spec.rps 3", "spec.connections 16", "raise rps"}},
		{"connections that cannot be divided", func(s *v1alpha1.PerfRunSpec) {
			s.LoadTester = &v1alpha1.LoadTesterSettings{Replicas: ptr.To[int32](3)}
		}, []string{"spec.connections 16", "spec.loadTester.replicas 3"}},
		{"warm-up longer than the default duration", func(s *v1alpha1.PerfRunSpec) { s.Warmup = &metav1.Duration{Duration: 2 * time.Minute} },
			[]string{"spec.warmup 2m0s", "spec.duration 1m0s"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := Check(run(c.mutate).Spec.EffectiveSettings())
			if (err != nil) != (len(c.want) > 0) {
				t.Fatalf("got %v", err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

func TestNamesAreValidForEveryPerfRun(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"a", "invoke", "1-starts-with-a-digit", "dotted.name", strings.Repeat("long", 15), strings.Repeat("long", 15) + "x", strings.Repeat("y.", 120) + "z"} {
		r := run()
		r.Name = name
		n := NamesOf(r)
		for _, got := range []string{n.LoadTester, n.Target, n.Configuration, n.StateStore, n.Sink} {
			if errs := validation.IsDNS1035Label(got); len(errs) > 0 {
				t.Errorf("%s -> %s: %v", name, got, errs)
			}
			// Dapr's operator makes a Service of this name.
			if errs := validation.IsDNS1035Label(got + "-dapr"); len(errs) > 0 {
				t.Errorf("%s -> %s-dapr: %v", name, got, errs)
			}
			if other, ok := seen[got]; ok {
				t.Errorf("%s and %s share %s", name, other, got)
			}
			seen[got] = name
		}
	}
}

func TestMeasurementIsAPlanThatTheLoadTesterTakes(t *testing.T) {
	r := run()
	pods := Pods{
		LoadTesters: []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "lt"}, Status: corev1.PodStatus{PodIP: "10.0.0.1"}}},
		Targets:     []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "tg"}, Status: corev1.PodStatus{PodIP: "fd00::2"}}},
		ControlPlane: []corev1.Pod{
			{ObjectMeta: metav1.ObjectMeta{Name: "s-0", Labels: map[string]string{"app": "dapr-sentry"}}, Status: corev1.PodStatus{PodIP: "10.0.0.3"}},
			{ObjectMeta: metav1.ObjectMeta{Name: "starting", Labels: map[string]string{"app": "dapr-operator"}}},
			{ObjectMeta: metav1.ObjectMeta{Name: "dashboard", Labels: map[string]string{"app": "dapr-dashboard"}}, Status: corev1.PodStatus{PodIP: "10.0.0.4"}},
		},
	}
	attempt := v1alpha1.Attempt{ID: AttemptID(0), LoadTesters: []v1alpha1.LoadTester{{Pod: "lt", Instance: "i"}}}
	plans := Measurements(r, r.Spec.EffectiveSettings(), attempt, pods)
	p := plans[0]
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	if len(plans) != 1 || !p.Start.IsZero() || p.Offset != 0 || p.Instance != "i" {
		t.Errorf("%d plans, the first for %s, to begin at %s + %s", len(plans), p.Instance, p.Start, p.Offset)
	}
	want := map[measure.Arm]string{
		measure.Baseline: "http://invoke-target.bench:8080/echo",
		measure.Dapr:     "http://127.0.0.1:3500/v1.0/invoke/invoke-target/method/echo",
	}
	if diff := cmp.Diff(want, p.URLs()); diff != "" {
		t.Error(diff)
	}
	var urls []string
	for _, c := range p.Counters {
		urls = append(urls, c.Component+" "+c.URL)
	}
	wantURLs := []string{"loadTester ", "callerSidecar http://10.0.0.1:9090/metrics", "app http://[fd00::2]:18081/usage",
		"targetSidecar http://[fd00::2]:9090/metrics", "sentry http://10.0.0.3:9090/metrics"}
	if diff := cmp.Diff(wantURLs, urls); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"tg": "http://[fd00::2]:18082/traces"}, p.TracesURLs); diff != "" {
		t.Errorf("traces are read from %s", diff)
	}
	r.Spec.Target = &v1alpha1.TargetSettings{Image: ptr.To("example.org/app:1")}
	if p := Measurements(r, r.Spec.EffectiveSettings(), attempt, pods)[0]; len(p.TracesURLs) > 0 {
		t.Errorf("traces of another's application are read from %q", p.TracesURLs)
	}
	if len(p.Body) != 1024 || p.MTLSProbe != "[fd00::2]:50002" || !p.RequireMTLS {
		t.Errorf("body %d, probe %s, mTLS %v", len(p.Body), p.MTLSProbe, p.RequireMTLS)
	}
}

func TestActorsAreCalledThroughTheSidecarAndDirectly(t *testing.T) {
	target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "tg"}, Status: corev1.PodStatus{PodIP: "10.0.0.2"}}
	tester := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "lt"}, Status: corev1.PodStatus{PodIP: "10.0.0.1"}}
	pods := Pods{LoadTesters: []*corev1.Pod{tester}, Targets: []*corev1.Pod{target}}
	attempt := v1alpha1.Attempt{ID: AttemptID(0), LoadTesters: []v1alpha1.LoadTester{{Pod: "lt", Instance: "i"}}}
	for name, c := range map[string]struct {
		run       *v1alpha1.PerfRun
		endpoints map[measure.Arm]measure.Endpoint
		actors    measure.Actors
	}{
		"defaults": {actorsRun(), map[measure.Arm]measure.Endpoint{
			measure.Baseline: {Method: "PUT", URL: "http://invoke-target.bench:8080/actors/invoke-actor/{actor}/method/echo"},
			measure.Dapr:     {Method: "PUT", URL: "http://127.0.0.1:3500/v1.0/actors/invoke-actor/{actor}/method/echo"},
		}, measure.Actors{Type: "invoke-actor"}},
		"everything": {actorsRun(func(s *v1alpha1.PerfRunSpec) {
			s.Actors = &v1alpha1.ActorsSettings{IDs: ptr.To(intstr.FromInt32(100)), Type: ptr.To("Counter"), Method: ptr.To("noOp"), StateStore: ptr.To("redis")}
		}), map[measure.Arm]measure.Endpoint{
			measure.Baseline: {Method: "PUT", URL: "http://invoke-target.bench:8080/actors/Counter/{actor}/method/noOp"},
			measure.Dapr:     {Method: "PUT", URL: "http://127.0.0.1:3500/v1.0/actors/Counter/{actor}/method/noOp"},
		}, measure.Actors{Type: "Counter", Warm: 100}},
	} {
		p := Measurements(c.run, c.run.Spec.EffectiveSettings(), attempt, pods)[0]
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c.actors.Hosts = map[string]string{"tg": "http://10.0.0.2:3501/v1.0/metadata"}
		if diff := cmp.Diff(c.endpoints, p.Endpoints) + cmp.Diff(&c.actors, p.Actors); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if string(p.Body) != "{}" || p.ContentType != "application/json" {
			t.Errorf("%s: body %q of type %s", name, p.Body, p.ContentType)
		}
	}
	if objects := ObjectsOf(actorsRun(func(s *v1alpha1.PerfRunSpec) { s.Actors = &v1alpha1.ActorsSettings{StateStore: ptr.To("redis")} }),
		(&v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioActors, Actors: &v1alpha1.ActorsSettings{StateStore: ptr.To("redis")}}).EffectiveSettings(), operator()); objects.StateStore != nil {
		t.Error("a state store is made though one is named")
	}
}

func TestPayload(t *testing.T) {
	for size := range int64(200) {
		if got := int64(len(body(nil, size))); got != size {
			t.Errorf("size %d: %d bytes", size, got)
		}
	}
	p := &v1alpha1.Payload{Body: ptr.To(`{"a":1}`)}
	if string(body(p, 7)) != `{"a":1}` || contentType(p) != "application/json" || contentType(nil) != "text/plain" {
		t.Error("a body is sent as given, and JSON is called JSON")
	}
}
