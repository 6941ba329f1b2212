package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/metrics"
)

// Exporter tells Prometheus of the PerfRuns and PerfSchedules that there are. It sees runs on their way into the cache, which keeps nothing of what
// was measured (see cached), and forgets them when they are deleted: after a restart it knows what it knew before, but for what it counts.
type Exporter struct {
	// limit is for how many finished runs, and schedules, there are figures.
	limit int
	// elected is closed once this operator leads: of several, one tells.
	elected <-chan struct{}

	finished *prometheus.CounterVec
	queued   prometheus.Histogram

	mu        sync.Mutex
	runs      map[types.UID]*knownRun
	schedules map[types.UID][]metrics.Sample
	// latest results of schedules. They stay when history limits delete the run.
	latest map[types.UID]*metrics.Result
}

// knownRun is what is kept of a run.
type knownRun struct {
	metrics.Active
	schedule types.UID
	started  bool
	// result of a run that is finished and no schedule's.
	result *metrics.Result
}

// phases are all there are.
var phases = []v1alpha1.Phase{v1alpha1.PhaseSuspended, v1alpha1.PhaseQueued, v1alpha1.PhasePreparing, v1alpha1.PhaseMeasuring, v1alpha1.PhaseCollecting,
	v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed, v1alpha1.PhaseInconclusive, v1alpha1.PhaseError}

var (
	runsDesc   = prometheus.NewDesc("perfrun_runs", "Number of PerfRuns by phase. Those in phase Queued are the queue.", []string{"phase"}, nil)
	hiddenDesc = prometheus.NewDesc("perfrun_results_hidden", "Number of results whose figures are left out, by --metrics-runs: the oldest.", nil, nil)
	// familyDescs are those of internal/metrics.
	familyDescs = func() map[*metrics.Family]*prometheus.Desc {
		out := map[*metrics.Family]*prometheus.Desc{}
		for _, f := range metrics.Families {
			out[f] = prometheus.NewDesc(f.Name, f.Help, f.Labels, nil)
		}
		return out
	}()
)

// NewExporter has figures of so many finished runs.
func NewExporter(limit int) *Exporter {
	m := &Exporter{limit: max(limit, 0), runs: map[types.UID]*knownRun{}, schedules: map[types.UID][]metrics.Sample{}, latest: map[types.UID]*metrics.Result{},
		finished: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "perfrun_runs_finished_total",
			Help: "Number of PerfRuns that have come to a verdict since the operator started."}, []string{"verdict"}),
		queued: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "perfrun_queue_seconds",
			Help:    "How long PerfRuns waited from their creation until they left the queue.",
			Buckets: []float64{1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600}}),
	}
	for _, phase := range phases {
		if phase.Finished() {
			m.finished.WithLabelValues(string(phase))
		}
	}
	return m
}

// SetupWithManager begins to watch, and registers the metrics.
func (m *Exporter) SetupWithManager(ctx context.Context, mgr ctrl.Manager, registry prometheus.Registerer) error {
	m.elected = mgr.Elected()
	for object, handler := range map[client.Object]toolscache.ResourceEventHandlerFuncs{
		&v1alpha1.PerfRun{}:      {DeleteFunc: m.runGone},
		&v1alpha1.PerfSchedule{}: {AddFunc: m.scheduleSeen, UpdateFunc: func(_, now any) { m.scheduleSeen(now) }, DeleteFunc: m.scheduleGone},
	} {
		informer, err := mgr.GetCache().GetInformer(ctx, object)
		if err == nil {
			_, err = informer.AddEventHandler(handler)
		}
		if err != nil {
			return fmt.Errorf("watching %T for the metrics: %w", object, err)
		}
	}
	if err := registry.Register(m); err != nil {
		return fmt.Errorf("registering the metrics of runs and schedules: %w", err)
	}
	return nil
}

// cached sees a run before the cache drops what was measured. Without an Exporter it only does the latter.
func (m *Exporter) cached(object any) (any, error) {
	if run, ok := object.(*v1alpha1.PerfRun); ok && m != nil {
		m.runSeen(run)
	}
	return cached(object)
}

func (m *Exporter) runSeen(run *v1alpha1.PerfRun) {
	m.mu.Lock()
	defer m.mu.Unlock()
	status := &run.Status
	former, known := m.runs[run.UID]
	if known && former.Phase.Finished() {
		// A verdict is final, and the cache may pass on what it has once more, without figures.
		return
	}
	now := &knownRun{Active: metrics.Active{Phase: cmp.Or(status.Phase, v1alpha1.PhaseQueued)}, started: status.StartTime != nil}
	now.Object, now.schedule = metrics.ObjectOf(run)
	if status.Progress != nil {
		now.Progress = float64(status.Progress.Percent) / 100
	}
	if now.Phase.Finished() {
		m.finish(now, metrics.ResultOf(run, now.Object))
	}
	m.runs[run.UID] = now
	if !known {
		return
	}
	if now.Phase.Finished() {
		m.finished.WithLabelValues(string(now.Phase)).Inc()
	}
	// One that was stopped and goes on had left the queue before.
	if now.started && !former.started && status.VoidAttempts == 0 {
		m.queued.Observe(status.StartTime.Sub(run.CreationTimestamp.Time).Seconds())
	}
}

func (m *Exporter) finish(run *knownRun, result *metrics.Result) {
	if run.schedule == "" {
		run.result = result
	} else if former := m.latest[run.schedule]; former == nil || !result.Completed.Before(former.Completed) {
		m.latest[run.schedule] = result
	}
}

func (m *Exporter) runGone(object any) {
	run, ok := last(object).(*v1alpha1.PerfRun)
	if !ok {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	// Of a schedule that went before its run nothing stays either.
	if known := m.runs[run.UID]; known != nil && m.schedules[known.schedule] == nil {
		delete(m.latest, known.schedule)
	}
	delete(m.runs, run.UID)
}

func (m *Exporter) scheduleSeen(object any) {
	if s, ok := object.(*v1alpha1.PerfSchedule); ok {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.schedules[s.UID] = metrics.ScheduleSamples(s)
	}
}

func (m *Exporter) scheduleGone(object any) {
	if s, ok := last(object).(*v1alpha1.PerfSchedule); ok {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.schedules, s.UID)
		delete(m.latest, s.UID)
	}
}

// last state of what was deleted, which an informer may not have seen go.
func last(object any) any {
	if tombstone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return object
}

// Describe is for the registry.
func (m *Exporter) Describe(out chan<- *prometheus.Desc) {
	m.finished.Describe(out)
	m.queued.Describe(out)
	out <- runsDesc
	out <- hiddenDesc
	for _, desc := range familyDescs {
		out <- desc
	}
}

// Collect is for the registry, at each scrape.
func (m *Exporter) Collect(out chan<- prometheus.Metric) {
	select {
	case <-m.elected:
	default:
		return
	}
	m.finished.Collect(out)
	m.queued.Collect(out)
	m.mu.Lock()
	defer m.mu.Unlock()
	number := map[v1alpha1.Phase]int{}
	var active []metrics.Active
	var ofRuns, ofSchedules []*metrics.Result
	for _, run := range m.runs {
		number[run.Phase]++
		switch run.Phase {
		case v1alpha1.PhasePreparing, v1alpha1.PhaseMeasuring, v1alpha1.PhaseCollecting:
			active = append(active, run.Active)
		}
		if run.result != nil {
			ofRuns = append(ofRuns, run.result)
		}
	}
	for schedule, samples := range m.schedules {
		tell(out, samples)
		if result := m.latest[schedule]; result != nil {
			ofSchedules = append(ofSchedules, result)
		}
	}
	for _, phase := range phases {
		out <- prometheus.MustNewConstMetric(runsDesc, prometheus.GaugeValue, float64(number[phase]), string(phase))
	}
	tell(out, metrics.ActiveSamples(active))
	shown := slices.Concat(newest(ofRuns, m.limit), newest(ofSchedules, m.limit))
	out <- prometheus.MustNewConstMetric(hiddenDesc, prometheus.GaugeValue, float64(len(ofRuns)+len(ofSchedules)-len(shown)))
	for _, result := range shown {
		tell(out, result.Samples())
	}
}

func tell(out chan<- prometheus.Metric, samples []metrics.Sample) {
	for _, s := range samples {
		kind := prometheus.GaugeValue
		if s.Family.Counter {
			kind = prometheus.CounterValue
		}
		out <- prometheus.MustNewConstMetric(familyDescs[s.Family], kind, s.Value, s.Labels...)
	}
}

// newest results, at most limit: a result has some 70 series at one point, and Prometheus keeps each of them in memory.
func newest(results []*metrics.Result, limit int) []*metrics.Result {
	slices.SortFunc(results, func(a, b *metrics.Result) int {
		return cmp.Or(b.Completed.Compare(a.Completed), cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	return results[:min(len(results), limit)]
}
