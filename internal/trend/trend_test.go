package trend

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

var start = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

// measuredRun is the i-th night's: added p90 of so many microseconds, and a caller's sidecar of so many MiB.
func measuredRun(i, p90, mebi int, mutate ...func(*v1alpha1.PerfRun)) *v1alpha1.PerfRun {
	// Results that alternate by 2% either way.
	p90 += p90 * (1 - 2*(i%2)) / 50
	added := func(us int) *v1alpha1.AddedLatency {
		l := v1alpha1.NewLatency(time.Duration(us) * time.Microsecond)
		return &v1alpha1.AddedLatency{Value: l, Low: &l, High: &l, Pairs: 6}
	}
	arm := func(us int) *v1alpha1.ArmResult {
		p50, p90 := v1alpha1.NewLatency(time.Duration(us)*time.Microsecond), v1alpha1.NewLatency(time.Duration(2*us)*time.Microsecond)
		return &v1alpha1.ArmResult{Latency: &v1alpha1.LatencySummary{P50: &p50, P90: &p90}}
	}
	when := metav1.NewTime(start.AddDate(0, 0, i))
	run := &v1alpha1.PerfRun{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("run-%d", i), CreationTimestamp: when},
		Spec:       v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioInvocation},
		Status: v1alpha1.PerfRunStatus{
			Phase: v1alpha1.PhaseSucceeded, StartTime: &when,
			Environment: &v1alpha1.Environment{Kubernetes: "v1.36.3", Dapr: "1.17.0", Sampling: fmt.Sprint(i), Nodes: &v1alpha1.Nodes{LoadTester: "n1", Target: "n2"}},
			Results: []v1alpha1.PointResult{{Connections: 16, Added: &v1alpha1.Added{P90: added(p90)},
				Baseline: arm(400), Dapr: arm(1400)}},
			Usage: []v1alpha1.Usage{
				{Component: v1alpha1.ComponentCallerSidecar, Arm: v1alpha1.ArmDapr, CPUPer1000RPS: ptr.To(resource.MustParse("200m")),
					Memory: &v1alpha1.Memory{Kind: v1alpha1.MemoryResident, Mean: *resource.NewQuantity(int64(mebi)<<20, resource.BinarySI)}},
				{Component: v1alpha1.ComponentCallerSidecar, Arm: v1alpha1.ArmBaseline},
			},
		},
	}
	for _, m := range mutate {
		m(run)
	}
	return run
}

func dapr(version string) func(*v1alpha1.PerfRun) {
	return func(r *v1alpha1.PerfRun) { r.Status.Environment.Dapr = version }
}

func seriesOf(t *testing.T, runs ...*v1alpha1.PerfRun) *v1alpha1.PerfSeries {
	t.Helper()
	s := &v1alpha1.PerfSeries{}
	for _, run := range runs {
		if added, err := Add(s, run); err != nil || !added {
			t.Fatalf("adding %s: %v, %v", run.Name, added, err)
		}
	}
	return s
}

func analyse(t *testing.T, s *v1alpha1.PerfSeries, mutate ...func(*v1alpha1.ScheduleSettings)) Findings {
	t.Helper()
	settings := v1alpha1.ScheduleSettings{MinChange: v1alpha1.DefaultMinChange}
	for _, m := range mutate {
		m(&settings)
	}
	out, err := Analyse(s, settings)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func nights(from, to, p90, mebi int, mutate ...func(*v1alpha1.PerfRun)) []*v1alpha1.PerfRun {
	var out []*v1alpha1.PerfRun
	for i := from; i < to; i++ {
		out = append(out, measuredRun(i, p90, mebi, mutate...))
	}
	return out
}

func join(parts ...[]*v1alpha1.PerfRun) []*v1alpha1.PerfRun {
	var out []*v1alpha1.PerfRun
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func TestAddKeepsWhatIsFollowed(t *testing.T) {
	s := seriesOf(t, measuredRun(0, 1000, 50))
	want := []v1alpha1.Figure{
		{Metric: "added.p90", Connections: 16, Value: "1.02ms", Low: "1.02ms", High: "1.02ms"},
		{Metric: "dapr.p50", Connections: 16, Value: "1.4ms"},
		{Metric: "baseline.p50", Connections: 16, Value: "400us"},
		{Metric: "callerSidecar.cpuPer1000RPS", Value: "200m"},
		{Metric: "callerSidecar.memory", Value: "50Mi"},
	}
	if diff := cmp.Diff(want, s.Results[0].Figures); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"kubernetes": "v1.36.3", "dapr": "1.17.0", "nodes.loadTester": "n1", "nodes.target": "n2"}, s.Environments[0].Values); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if again, err := Add(s, measuredRun(0, 1000, 50)); again || err != nil {
		t.Errorf("added twice: %v, %v", again, err)
	}
	if _, err := Add(s, measuredRun(2, 1000, 50)); err != nil {
		t.Fatal(err)
	}
	if _, err := Add(s, measuredRun(1, 1000, 50)); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, r := range s.Results {
		order = append(order, r.Run)
	}
	if diff := cmp.Diff([]string{"run-0", "run-1", "run-2"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if len(s.Environments) != 1 || len(s.Settings) != 1 {
		t.Errorf("%d environments and %d settings of equal runs", len(s.Environments), len(s.Settings))
	}
}

// 128 is what the API server takes of a result's figures, and 16 points what it takes of a run's connections.
func TestTheLargestRunFits(t *testing.T) {
	s := seriesOf(t, measuredRun(0, 1000, 50, func(r *v1alpha1.PerfRun) {
		added := r.Status.Results[0].Added
		added.P50, added.P99, added.CPUPer1000RPS = added.P90, added.P90, &v1alpha1.AddedCPU{Value: resource.MustParse("200m")}
		for len(r.Status.Results) < 16 {
			point := r.Status.Results[0]
			point.Connections = int32(len(r.Status.Results))
			r.Status.Results = append(r.Status.Results, point)
		}
		first := r.Status.Usage[0]
		for _, component := range components[1:] {
			other := first
			other.Component = component
			r.Status.Usage = append(r.Status.Usage, other)
		}
	}))
	if n := len(s.Results[0].Figures); n != 16*6+9*2 || n > 128 {
		t.Errorf("%d figures", n)
	}
}

func TestAddWithoutBaseline(t *testing.T) {
	s := seriesOf(t, measuredRun(0, 1000, 50, func(r *v1alpha1.PerfRun) {
		r.Status.Results[0].Added, r.Status.Results[0].Baseline = nil, nil
	}))
	want := []v1alpha1.Figure{{Metric: "dapr.p50", Connections: 16, Value: "1.4ms"}, {Metric: "dapr.p90", Connections: 16, Value: "2.8ms"}}
	if diff := cmp.Diff(want, s.Results[0].Figures[:2]); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

// A trigger that comes again gives its run the name of one whose result is known.
func TestAddTellsRunsOfTheSameNameApart(t *testing.T) {
	s := seriesOf(t, measuredRun(0, 1000, 50), measuredRun(1, 1000, 50, func(r *v1alpha1.PerfRun) { r.Name = "run-0" }))
	if len(s.Results) != 2 {
		t.Errorf("%d results of two runs", len(s.Results))
	}
}

func TestNeighboursAreOneEnvironment(t *testing.T) {
	beside := func(other string) func(*v1alpha1.PerfRun) {
		return func(r *v1alpha1.PerfRun) { r.Status.Environment.SharedWith = []string{other} }
	}
	s := seriesOf(t, measuredRun(0, 1000, 50), measuredRun(1, 1000, 50, beside("a/b")), measuredRun(2, 1000, 50, beside("a/c")))
	if len(s.Environments) != 2 {
		t.Errorf("environments: %v", s.Environments)
	}
}

// Results that lie on two steps of their unit, without noise between them, are not taken for two levels.
func TestFiguresKeepTheirNoise(t *testing.T) {
	for value, want := range map[float64]string{0.8614: "861m", 0.012344: "12344u", 0.0004: "400u"} {
		if got := Format("app.cpuPer1000RPS", value); got != want {
			t.Errorf("%v vCPU is %s, want %s", value, got, want)
		}
	}
	for value, want := range map[float64]string{105.4 * (1 << 20): "105Mi", 10.5 * (1 << 20): "10752Ki"} {
		if got := Format("app.memory", value); got != want {
			t.Errorf("%v bytes are %s, want %s", value, got, want)
		}
	}
}

func TestAddIsBounded(t *testing.T) {
	many := func(r *v1alpha1.PerfRun) {
		for c := int32(1); c <= 24; c++ {
			point := r.Status.Results[0]
			point.Connections = c
			r.Status.Results = append(r.Status.Results, point)
		}
	}
	s := &v1alpha1.PerfSeries{}
	for i := range MaxResults + 20 {
		if _, err := Add(s, measuredRun(i, 1000, 50, many, dapr(fmt.Sprint(i)))); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > maxBytes || len(text) < maxBytes/2 {
		t.Errorf("%d bytes", len(text))
	}
	if last := s.Results[len(s.Results)-1].Run; last != fmt.Sprintf("run-%d", MaxResults+19) {
		t.Errorf("the last is %s", last)
	}
	if len(s.Environments) != len(s.Results) {
		t.Errorf("%d environments of %d results", len(s.Environments), len(s.Results))
	}
}

func TestAnalyseTellsARegression(t *testing.T) {
	s := seriesOf(t, join(nights(0, 12, 1000, 50), nights(12, 17, 2000, 50))...)
	found := analyse(t, s)
	if len(found.Changes) != 1 {
		t.Fatalf("changes: %+v", found.Changes)
	}
	c := found.Changes[0]
	got := []string{c.Metric, fmt.Sprint(c.Connections), string(c.Direction), c.Before, c.After, c.Size.Value, c.Since, fmt.Sprint(c.Results)}
	if diff := cmp.Diff([]string{"added.p90", "16", "Regression", "1ms", "2.008ms", "1.008", "run-12", "5"}, got); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
	if found.Regressed != metav1.ConditionTrue || !strings.Contains(found.Message, "added.p90 at 16 connections went from 1ms to 2.008ms with run run-12") {
		t.Errorf("%s: %s", found.Regressed, found.Message)
	}
	if len(Fresh(s, nil, found.Changes)) != 1 || len(Fresh(s, found.Changes, found.Changes)) != 0 {
		t.Error("a change is new once")
	}
	if len(found.Results) != maxResults || found.Results[0].Run != "run-16" {
		t.Errorf("latest results: %d, %s first", len(found.Results), found.Results[0].Run)
	}
}

func TestVerdict(t *testing.T) {
	bad := func(phase v1alpha1.Phase) func(*v1alpha1.PerfRun) {
		return func(r *v1alpha1.PerfRun) { r.Status.Phase = phase }
	}
	accept := func(night int) func(*v1alpha1.ScheduleSettings) {
		return func(s *v1alpha1.ScheduleSettings) { s.AcceptedUntil = &metav1.Time{Time: start.AddDate(0, 0, night)} }
	}
	calm, slow := nights(0, 12, 1000, 50), nights(12, 20, 2000, 50)
	for _, c := range []struct {
		name     string
		runs     []*v1alpha1.PerfRun
		settings []func(*v1alpha1.ScheduleSettings)
		status   metav1.ConditionStatus
		reason   string
	}{
		{"nothing", nil, nil, metav1.ConditionUnknown, v1alpha1.ReasonTooFewResults},
		{"too few", nights(0, 9, 1000, 50), nil, metav1.ConditionUnknown, v1alpha1.ReasonTooFewResults},
		{"enough", nights(0, 10, 1000, 50), nil, metav1.ConditionFalse, v1alpha1.ReasonNoRegression},
		{"enough, but for verdicts that do not count", nights(0, 30, 1000, 50, bad(v1alpha1.PhaseInconclusive)), nil, metav1.ConditionUnknown, v1alpha1.ReasonTooFewResults},
		{"thresholds missed", nights(0, 30, 1000, 50, bad(v1alpha1.PhaseFailed)), nil, metav1.ConditionFalse, v1alpha1.ReasonNoRegression},
		{"worse", join(calm, slow), nil, metav1.ConditionTrue, v1alpha1.ReasonRegression},
		{"worse in memory", join(calm, nights(12, 20, 1000, 70)), nil, metav1.ConditionTrue, v1alpha1.ReasonRegression},
		{"better", join(slow, nights(20, 30, 1000, 50)), nil, metav1.ConditionFalse, v1alpha1.ReasonNoRegression},
		{"worse and back", join(calm, slow, nights(20, 28, 1000, 50)), nil, metav1.ConditionFalse, v1alpha1.ReasonNoRegression},
		{"worse and half way back", join(calm, slow, nights(20, 28, 1400, 50)), nil, metav1.ConditionTrue, v1alpha1.ReasonRegression},
		{"accepted", join(calm, slow), []func(*v1alpha1.ScheduleSettings){accept(12)}, metav1.ConditionFalse, v1alpha1.ReasonRegressionAccepted},
		{"accepted too early", join(calm, slow), []func(*v1alpha1.ScheduleSettings){accept(11)}, metav1.ConditionTrue, v1alpha1.ReasonRegression},
		{"worse once more than accepted", join(calm, slow, nights(20, 28, 3000, 50)), []func(*v1alpha1.ScheduleSettings){accept(13)}, metav1.ConditionTrue, v1alpha1.ReasonRegression},
		{"less than is to be reported", join(calm, slow), []func(*v1alpha1.ScheduleSettings){func(s *v1alpha1.ScheduleSettings) { s.MinChange = "1.5" }},
			metav1.ConditionFalse, v1alpha1.ReasonNoRegression},
		{"worse with another Dapr", join(calm, nights(12, 24, 2000, 50, dapr("1.18.0"))), nil, metav1.ConditionFalse, v1alpha1.ReasonNoRegression},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := analyse(t, seriesOf(t, c.runs...), c.settings...)
			if found.Regressed != c.status || found.Reason != c.reason {
				t.Errorf("%s %s: %s, want %s %s", found.Regressed, found.Reason, found.Message, c.status, c.reason)
			}
		})
	}
}

func TestStepsNameTheirCause(t *testing.T) {
	moved := func(r *v1alpha1.PerfRun) { r.Status.Environment.Nodes.Target = "n3" }
	faster := func(r *v1alpha1.PerfRun) { r.Spec.RPS = ptr.To[int32](2000) }
	s := seriesOf(t, join(nights(0, 12, 1000, 50), nights(12, 18, 2000, 50, dapr("1.18.0")), nights(18, 24, 2000, 50, dapr("1.18.0"), moved), nights(24, 30, 2000, 50, dapr("1.18.0"), moved, faster))...)
	found := analyse(t, s)
	var causes []string
	for _, step := range found.Steps {
		causes = append(causes, step.Since+": "+strings.Join(step.Causes, ", "))
	}
	want := []string{"run-24: settings.inForce.rps 1000 -> 2000", "run-18: nodes.target n2 -> n3", "run-12: dapr 1.17.0 -> 1.18.0"}
	if diff := cmp.Diff(want, causes); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if len(found.Changes) != 0 {
		t.Errorf("changes across environments: %+v", found.Changes)
	}
	upgrade := found.Steps[2].Comparisons
	if len(upgrade) != 1 || upgrade[0].Metric != "added.p90" || upgrade[0].Before != "1ms" || upgrade[0].After != "2ms" {
		t.Errorf("comparisons: %+v", upgrade)
	}
	together := analyse(t, s, func(s *v1alpha1.ScheduleSettings) { s.IgnoreNodes = true })
	if len(together.Steps) != 2 {
		t.Errorf("%d steps where nodes do not count", len(together.Steps))
	}
}

// Where two environments take turns, each is compared with itself.
func TestEnvironmentsThatTakeTurns(t *testing.T) {
	var runs []*v1alpha1.PerfRun
	for i := range 40 {
		p90, node := 1000, "n2"
		if i%4 >= 2 {
			p90, node = 3000, "n3"
		}
		runs = append(runs, measuredRun(i, p90, 50, func(r *v1alpha1.PerfRun) { r.Status.Environment.Nodes.Target = node }))
	}
	found := analyse(t, seriesOf(t, runs...))
	if len(found.Changes) != 0 || len(found.Steps) != 1 || found.Regressed != metav1.ConditionFalse {
		t.Errorf("%d changes, %d steps, %s", len(found.Changes), len(found.Steps), found.Message)
	}
}
