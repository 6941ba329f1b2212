package metrics

import (
	"math"
	"slices"
	"strconv"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// Result is what is kept of a finished run. A status takes some 60 KiB of memory, a Result with one point less than 2. It does not change.
type Result struct {
	// Object whose result it is.
	Object Object
	// Completed is when the verdict was reached.
	Completed time.Time

	verdict, reason string
	// info are the values of what is told in perfrun_result_info.
	info      []string
	points    []point
	consumers []consumer
	steps     []step
}

// absent is a figure that a status leaves out. It gives no sample.
var absent = math.NaN()

// percentiles of the response time, in their order everywhere here.
var percentiles = [...]string{"p50", "p75", "p90", "p95", "p99", "p999"}

// addedPercentiles are those that a status has differences of.
var addedPercentiles = [...]string{"p50", "p90", "p99"}

type point struct {
	connections string
	arms        []arm
	added       [len(addedPercentiles)]interval
	perRequest  interval
}

type arm struct {
	name                    string
	percentiles             [len(percentiles)]float64
	mean, max, errors, rate float64
}

type interval struct{ value, low, high float64 }

var noInterval = interval{absent, absent, absent}

// consumer is a component in an arm, all its pods together.
type consumer struct {
	arm, component, kind string
	cpu, memory          float64
}

type step struct {
	name     string
	duration float64
	parts    []consumer
}

// ObjectOf is whose figures a run's are, and the UID of the schedule that it belongs to, if any.
func ObjectOf(run *v1alpha1.PerfRun) (of Object, schedule types.UID) {
	if owner := metav1.GetControllerOf(run); owner != nil && owner.Kind == kindSchedule {
		return Object{Namespace: run.Namespace, Kind: kindSchedule, Name: owner.Name}, owner.UID
	}
	return Object{Namespace: run.Namespace, Kind: "PerfRun", Name: run.Name}, ""
}

const kindSchedule = "PerfSchedule"

// ResultOf a finished run.
func ResultOf(run *v1alpha1.PerfRun, of Object) *Result {
	s := &run.Status
	r := &Result{Object: of, verdict: keep(s.Phase)}
	if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		r.reason = keep(c.Reason)
	}
	if s.CompletionTime != nil {
		r.Completed = s.CompletionTime.Time
	}
	var dapr, kubernetes, mtls, sampling string
	if e := s.Environment; e != nil {
		dapr, kubernetes, sampling = keep(e.Dapr), keep(e.Kubernetes), keep(e.Sampling)
		if e.MTLS != nil {
			mtls = strconv.FormatBool(*e.MTLS)
		}
	}
	r.info = []string{run.Name, string(run.UID), keep(run.Spec.Scenario), dapr, kubernetes, mtls, sampling}
	for i := range s.Results {
		r.points = append(r.points, pointOf(&s.Results[i]))
	}
	r.consumers = consumersOf(s.Usage)
	for i := range s.ControlPlaneResults {
		r.steps = append(r.steps, stepOf(&s.ControlPlaneResults[i]))
	}
	return r
}

// keep one of the many copies of a word.
func keep[S ~string](s S) string { return unique.Make(string(s)).Value() }

func pointOf(p *v1alpha1.PointResult) point {
	out := point{connections: keep(strconv.Itoa(int(p.Connections))), perRequest: noInterval}
	if p.Baseline != nil {
		out.arms = append(out.arms, armOf(v1alpha1.ArmBaseline, p.Baseline))
	}
	if p.Dapr != nil {
		out.arms = append(out.arms, armOf(v1alpha1.ArmDapr, p.Dapr))
	}
	a := p.Added
	if a == nil {
		a = &v1alpha1.Added{}
	}
	for i, l := range [...]*v1alpha1.AddedLatency{a.P50, a.P90, a.P99} {
		out.added[i] = noInterval
		if l != nil {
			out.added[i] = interval{l.Value.Seconds(), seconds(l.Low), seconds(l.High)}
		}
	}
	if c := a.CPUPer1000RPS; c != nil {
		out.perRequest = interval{c.Value.AsApproximateFloat64() / 1000, number(c.Low) / 1000, number(c.High) / 1000}
	}
	return out
}

func armOf(name v1alpha1.Arm, a *v1alpha1.ArmResult) arm {
	out := arm{name: string(name), mean: absent, max: absent, errors: absent, rate: decimal(a.AchievedRPS)}
	l := a.Latency
	if l == nil {
		l = &v1alpha1.LatencySummary{}
	} else {
		out.mean, out.max = l.Mean.Seconds(), l.Max.Seconds()
	}
	for i, p := range [...]*v1alpha1.Latency{l.P50, l.P75, l.P90, l.P95, l.P99, l.P999} {
		out.percentiles[i] = seconds(p)
	}
	if a.Requests > 0 {
		out.errors = float64(a.Errors) / float64(a.Requests)
	}
	return out
}

// consumersOf adds the pods of each component up. Where one of them could not be read there is no sum: it would be too small.
func consumersOf(usage []v1alpha1.Usage) []consumer {
	var out []consumer
	at := map[[2]string]int{}
	for i := range usage {
		u := &usage[i]
		one := consumer{arm: keep(u.Arm), component: keep(u.Component), cpu: number(u.CPU), memory: absent}
		if u.Memory != nil {
			one.kind, one.memory = keep(u.Memory.Kind), u.Memory.Mean.AsApproximateFloat64()
		}
		key := [2]string{one.arm, one.component}
		if j, ok := at[key]; ok {
			out[j].add(one)
			continue
		}
		at[key] = len(out)
		out = append(out, one)
	}
	// Without the room that append has left.
	return slices.Clone(out)
}

// add another pod: absent figures, which are not a number, make the sum absent.
func (c *consumer) add(other consumer) {
	c.cpu += other.cpu
	c.memory += other.memory
	if c.kind != other.kind {
		c.memory = absent
	}
}

func stepOf(r *v1alpha1.ControlPlaneResult) step {
	out := step{name: keep(r.Step), duration: r.Duration.Seconds()}
	at := map[v1alpha1.Component]int{}
	for i := range r.Parts {
		p := &r.Parts[i]
		one := consumer{component: keep(p.Component), cpu: number(p.CPU), memory: number(p.Memory)}
		if j, ok := at[p.Component]; ok {
			out.parts[j].add(one)
			continue
		}
		at[p.Component] = len(out.parts)
		out.parts = append(out.parts, one)
	}
	return out
}

func seconds(l *v1alpha1.Latency) float64 {
	if l == nil {
		return absent
	}
	return l.Seconds()
}

func number(q *resource.Quantity) float64 {
	if q == nil {
		return absent
	}
	return q.AsApproximateFloat64()
}

func decimal(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return absent
	}
	return f
}
