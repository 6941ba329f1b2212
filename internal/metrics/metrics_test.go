package metrics

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/test/fixture"
)

// measured is a run as a cluster has it.
func measured(t testing.TB) *v1alpha1.PerfRun { return fixture.Run(t, "succeeded.yaml") }

func resultOf(run *v1alpha1.PerfRun) *Result {
	of, _ := ObjectOf(run)
	return ResultOf(run, of)
}

// lines of samples, as Prometheus has them.
func lines(samples []Sample) (out []string) {
	for _, s := range samples {
		var labels []string
		for i, name := range s.Family.Labels {
			labels = append(labels, fmt.Sprintf("%s=%q", name, s.Labels[i]))
		}
		out = append(out, fmt.Sprintf("%s{%s} %.6g", s.Family.Name, strings.Join(labels, ","), s.Value))
	}
	slices.Sort(out)
	return out
}

func TestMeasuredRun(t *testing.T) {
	run := measured(t)
	got := lines(resultOf(run).Samples())
	const of = `namespace="default",kind="PerfRun",name="calm"`
	for _, want := range []string{
		`perfrun_result_info{OF,run="calm",uid="e59044f5-5279-46d6-b36f-900b39de993d",scenario="Invocation",dapr="1.18.0",kubernetes="v1.36.3",mtls="true",sampling="0.087"} 1`,
		`perfrun_verdict{OF,verdict="Succeeded",reason="Measured"} 1`,
		`perfrun_completed_timestamp_seconds{OF} 1.79529e+09`,
		`perfrun_latency_seconds{OF,connections="4",arm="Baseline",percentile="p50"} 0.000299`,
		`perfrun_latency_seconds{OF,connections="4",arm="Dapr",percentile="p99"} 0.223231`,
		`perfrun_latency_mean_seconds{OF,connections="4",arm="Dapr"} 0.015825`,
		`perfrun_latency_max_seconds{OF,connections="4",arm="Dapr"} 0.300543`,
		`perfrun_error_ratio{OF,connections="4",arm="Dapr"} 0`,
		`perfrun_achieved_requests_per_second{OF,connections="4",arm="Baseline"} 97.3`,
		`perfrun_added_latency_seconds{OF,connections="4",percentile="p50"} 0.002886`,
		// 2061m of CPU for each 1000 requests per second.
		`perfrun_added_cpu_per_request_seconds{OF,connections="4"} 0.002061`,
		`perfrun_cpu_cores{OF,arm="Dapr",component="callerSidecar"} 0.093`,
		// Three pods: 15m, 15m and 13m; 106, 98 and 96 MiB.
		`perfrun_cpu_cores{OF,arm="Dapr",component="scheduler"} 0.043`,
		`perfrun_memory_bytes{OF,arm="Dapr",component="scheduler",memory="Resident"} 3.14573e+08`,
	} {
		if want = strings.Replace(want, "OF", of, 1); !slices.Contains(got, want) {
			t.Errorf("%s is missing of\n%s", want, strings.Join(got, "\n"))
		}
	}
	for _, without := range []string{
		// Too few pairs for an interval, too few requests for a percentile.
		"_low_", "_high_", `percentile="p999"`, "control_plane",
	} {
		if i := slices.IndexFunc(got, func(line string) bool { return strings.Contains(line, without) }); i >= 0 {
			t.Errorf("a figure that the status does not have: %s", got[i])
		}
	}
}

func TestIntervals(t *testing.T) {
	run := measured(t)
	at := func(d time.Duration) v1alpha1.Latency { return v1alpha1.NewLatency(d) }
	run.Status.Results[0].Added = &v1alpha1.Added{
		P99:           &v1alpha1.AddedLatency{Value: at(-35 * time.Microsecond), Low: ptr.To(at(-time.Millisecond)), High: ptr.To(at(2 * time.Millisecond))},
		CPUPer1000RPS: &v1alpha1.AddedCPU{Value: resource.MustParse("861m"), Low: ptr.To(resource.MustParse("830m")), High: ptr.To(resource.MustParse("884m"))},
	}
	var got []string
	for _, line := range lines(ResultOf(run, Object{}).Samples()) {
		if strings.Contains(line, "_added_") {
			got = append(got, strings.Replace(line, `namespace="",kind="",name="",`, "", 1))
		}
	}
	want := []string{
		`perfrun_added_cpu_per_request_high_seconds{connections="4"} 0.000884`,
		`perfrun_added_cpu_per_request_low_seconds{connections="4"} 0.00083`,
		`perfrun_added_cpu_per_request_seconds{connections="4"} 0.000861`,
		`perfrun_added_latency_high_seconds{connections="4",percentile="p99"} 0.002`,
		`perfrun_added_latency_low_seconds{connections="4",percentile="p99"} -0.001`,
		`perfrun_added_latency_seconds{connections="4",percentile="p99"} -3.5e-05`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A sum that lacks a pod would be too small, and memory of two kinds has no sum.
func TestNoSumOfSomePods(t *testing.T) {
	usage := func(pod string, cpu string, kind v1alpha1.MemoryKind) v1alpha1.Usage {
		u := v1alpha1.Usage{Component: v1alpha1.ComponentApp, Arm: v1alpha1.ArmDapr, Pod: pod, Memory: &v1alpha1.Memory{Kind: kind, Mean: resource.MustParse("1Mi")}}
		if cpu != "" {
			u.CPU = ptr.To(resource.MustParse(cpu))
		}
		return u
	}
	for name, c := range map[string]struct {
		usage []v1alpha1.Usage
		want  []string
	}{
		"all read": {[]v1alpha1.Usage{usage("a", "1", v1alpha1.MemoryResident), usage("b", "500m", v1alpha1.MemoryResident)},
			[]string{"perfrun_cpu_cores 1.5", "perfrun_memory_bytes 2097152"}},
		"one without CPU": {[]v1alpha1.Usage{usage("a", "1", v1alpha1.MemoryResident), usage("b", "", v1alpha1.MemoryResident), usage("c", "1", v1alpha1.MemoryResident)},
			[]string{"perfrun_memory_bytes 3145728"}},
		"two kinds of memory": {[]v1alpha1.Usage{usage("a", "1", v1alpha1.MemoryResident), usage("b", "1", v1alpha1.MemoryWorkingSet), usage("c", "1", v1alpha1.MemoryResident)},
			[]string{"perfrun_cpu_cores 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := writer{}
			for _, consumer := range consumersOf(c.usage) {
				w.add(cpu, consumer.cpu, consumer.arm, consumer.component)
				w.add(memory, consumer.memory, consumer.arm, consumer.component, consumer.kind)
			}
			if diff := cmp.Diff(c.want, named(w.out)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func named(samples []Sample) (out []string) {
	for _, s := range samples {
		out = append(out, fmt.Sprintf("%s %s", s.Family.Name, strconv.FormatFloat(s.Value, 'f', -1, 64)))
	}
	return out
}

func TestControlPlane(t *testing.T) {
	run := &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cp"}}
	run.Status = v1alpha1.PerfRunStatus{Phase: v1alpha1.PhaseError, ControlPlaneResults: []v1alpha1.ControlPlaneResult{{
		Step: v1alpha1.StepUp, Duration: metav1.Duration{Duration: 12 * time.Second}, Parts: []v1alpha1.PartUsage{
			{Component: v1alpha1.ComponentScheduler, Pod: "s-0", CPU: ptr.To(resource.MustParse("20m")), Memory: ptr.To(resource.MustParse("1Mi"))},
			{Component: v1alpha1.ComponentScheduler, Pod: "s-1", CPU: ptr.To(resource.MustParse("30m")), Memory: ptr.To(resource.MustParse("1Mi"))},
			{Component: v1alpha1.ComponentSentry, Pod: "sentry", Note: "not read"},
		}}}}
	const of = `{namespace="ns",kind="PerfRun",name="cp",`
	want := []string{
		`perfrun_control_plane_cpu_cores` + of + `step="Up",component="scheduler"} 0.05`,
		`perfrun_control_plane_memory_bytes` + of + `step="Up",component="scheduler"} 2.09715e+06`,
		`perfrun_control_plane_step_seconds` + of + `step="Up"} 12`,
		`perfrun_result_info` + of + `run="cp",uid="",scenario="",dapr="",kubernetes="",mtls="",sampling=""} 1`,
		`perfrun_verdict` + of + `verdict="Error",reason=""} 1`,
	}
	if diff := cmp.Diff(want, lines(resultOf(run).Samples())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestActiveRuns(t *testing.T) {
	a, b := Object{"ns", "PerfRun", "a"}, Object{"ns", "PerfRun", "b"}
	got := lines(ActiveSamples([]Active{
		{a, v1alpha1.PhaseMeasuring, 0.5}, {a, v1alpha1.PhaseMeasuring, 0.25}, {a, v1alpha1.PhasePreparing, 0}, {b, v1alpha1.PhaseCollecting, 1}}))
	want := []string{
		`perfrun_active{namespace="ns",kind="PerfRun",name="a",phase="Measuring"} 2`,
		`perfrun_active{namespace="ns",kind="PerfRun",name="a",phase="Preparing"} 1`,
		`perfrun_active{namespace="ns",kind="PerfRun",name="b",phase="Collecting"} 1`,
		`perfrun_progress_ratio{namespace="ns",kind="PerfRun",name="a"} 0.25`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSchedule(t *testing.T) {
	at := func(seconds int64) *metav1.Time { return ptr.To(metav1.Unix(seconds, 0)) }
	schedule := &v1alpha1.PerfSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "nightly"}, Status: v1alpha1.PerfScheduleStatus{
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue}, {Type: v1alpha1.ConditionRegressed, Status: metav1.ConditionTrue}},
		Active:     []string{"nightly-1"}, LastScheduleTime: at(100), NextScheduleTime: at(200), LastSuccessfulTime: at(50), Missed: 3, Skipped: 2,
		Series: &v1alpha1.SeriesReference{Results: 41},
		Changes: []v1alpha1.FigureChange{
			{Metric: "added.p99", Connections: 16, Size: v1alpha1.Size{Value: "0.25"}}, {Metric: "callerSidecar.memory", Size: v1alpha1.Size{Value: "-0.1"}},
			// An older change of the first.
			{Metric: "added.p99", Connections: 16, Size: v1alpha1.Size{Value: "0.5"}},
		}}}
	const of = `{namespace="ns",name="nightly"`
	want := []string{
		`perfrun_schedule_accepted` + of + `} 1`, `perfrun_schedule_active_runs` + of + `} 1`,
		`perfrun_schedule_change_ratio` + of + `,metric="added.p99",connections="16"} 0.25`,
		`perfrun_schedule_change_ratio` + of + `,metric="callerSidecar.memory",connections=""} -0.1`,
		`perfrun_schedule_last_success_timestamp_seconds` + of + `} 50`, `perfrun_schedule_last_timestamp_seconds` + of + `} 100`,
		`perfrun_schedule_missed_total` + of + `} 3`, `perfrun_schedule_next_timestamp_seconds` + of + `} 200`, `perfrun_schedule_regressed` + of + `} 1`,
		`perfrun_schedule_results` + of + `} 41`, `perfrun_schedule_skipped_total` + of + `} 2`, `perfrun_schedule_suspended` + of + `} 0`,
	}
	if diff := cmp.Diff(want, lines(ScheduleSamples(schedule))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// Nothing is known yet.
	fresh := lines(ScheduleSamples(&v1alpha1.PerfSchedule{Spec: v1alpha1.PerfScheduleSpec{Suspend: ptr.To(true)}, Status: v1alpha1.PerfScheduleStatus{
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionRegressed, Status: metav1.ConditionUnknown}}}}))
	const none = `{namespace="",name=""} `
	want = []string{`perfrun_schedule_active_runs` + none + `0`, `perfrun_schedule_missed_total` + none + `0`, `perfrun_schedule_results` + none + `0`,
		`perfrun_schedule_skipped_total` + none + `0`, `perfrun_schedule_suspended` + none + `1`}
	if diff := cmp.Diff(want, fresh); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// All label values but the objects' names and what is in perfrun_result_info come from lists that the API fixes: nothing that a run makes up anew,
// such as a pod's name, becomes a label.
func TestLabelsAreBounded(t *testing.T) {
	pods := map[string]bool{}
	run := measured(t)
	for _, u := range run.Status.Usage {
		pods[u.Pod], pods[u.Node] = true, true
	}
	for _, s := range resultOf(run).Samples() {
		if len(s.Labels) != len(s.Family.Labels) {
			t.Fatalf("%s has labels %v for %v", s.Family.Name, s.Labels, s.Family.Labels)
		}
		for i, value := range s.Labels {
			if pods[value] || (s.Family != resultInfo && value == string(run.UID)) {
				t.Errorf("%s has %s=%q", s.Family.Name, s.Family.Labels[i], value)
			}
		}
	}
}

// What is kept of a thousand runs: at most 2 KiB each.
func TestResultIsSmall(t *testing.T) {
	const number = 1000
	run := measured(t)
	kept := make([]*Result, number)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range kept {
		// Names are each run's own.
		copied := run.DeepCopy()
		copied.Name = strings.Clone(run.Name)
		kept[i] = resultOf(copied)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / number
	t.Logf("%d bytes each, %d samples", each, len(kept[0].Samples()))
	if each > 2048 {
		t.Errorf("%d bytes are kept of each result", each)
	}
	runtime.KeepAlive(kept)
}

// docs/prometheus.md has a line for each family, with its labels.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/prometheus.md")
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, f := range Families {
		common := ofObject
		if strings.HasPrefix(f.Name, "perfrun_schedule_") {
			common = ofSchedule
		}
		own := f.Labels[len(common):]
		row := "| `" + f.Name + "` | gauge |"
		if f.Counter {
			row = "| `" + f.Name + "` | counter |"
		}
		if len(own) > 0 {
			row += " `" + strings.Join(own, "`, `") + "` |"
		}
		if !strings.Contains(string(text), row) {
			missing = append(missing, row)
		}
	}
	if len(missing) > 0 {
		t.Errorf("docs/prometheus.md lacks\n%s", strings.Join(missing, "\n"))
	}
}
