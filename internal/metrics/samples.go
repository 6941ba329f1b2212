package metrics

import (
	"math"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// Samples of a result. A figure that the status leaves out has none.
func (r *Result) Samples() []Sample {
	w := writer{object: r.Object}
	w.add(resultInfo, 1, r.info...)
	w.add(verdict, 1, r.verdict, r.reason)
	if !r.Completed.IsZero() {
		w.add(completed, float64(r.Completed.Unix()))
	}
	for i := range r.points {
		w.point(&r.points[i])
	}
	for _, c := range r.consumers {
		w.add(cpu, c.cpu, c.arm, c.component)
		w.add(memory, c.memory, c.arm, c.component, c.kind)
	}
	for _, s := range r.steps {
		w.add(stepDuration, s.duration, s.name)
		for _, c := range s.parts {
			w.add(stepCPU, c.cpu, s.name, c.component)
			w.add(stepMemory, c.memory, s.name, c.component)
		}
	}
	return w.out
}

type writer struct {
	object Object
	out    []Sample
}

func (w *writer) add(f *Family, value float64, labels ...string) {
	if !math.IsNaN(value) {
		w.out = append(w.out, w.object.sample(f, value, labels...))
	}
}

func (w *writer) point(p *point) {
	for i := range p.arms {
		a := &p.arms[i]
		for j, percentile := range percentiles {
			w.add(latency, a.percentiles[j], p.connections, a.name, percentile)
		}
		w.add(latencyMean, a.mean, p.connections, a.name)
		w.add(latencyMax, a.max, p.connections, a.name)
		w.add(errors, a.errors, p.connections, a.name)
		w.add(rate, a.rate, p.connections, a.name)
	}
	for i, percentile := range addedPercentiles {
		w.add(added, p.added[i].value, p.connections, percentile)
		w.add(addedLow, p.added[i].low, p.connections, percentile)
		w.add(addedHigh, p.added[i].high, p.connections, percentile)
	}
	w.add(perRequest, p.perRequest.value, p.connections)
	w.add(perRequestLow, p.perRequest.low, p.connections)
	w.add(perRequestHigh, p.perRequest.high, p.connections)
}

// Active is a run that has the cluster.
type Active struct {
	Object Object
	Phase  v1alpha1.Phase
	// Progress of the load, from 0 to 1.
	Progress float64
}

// ActiveSamples of all runs that have the cluster. Several of one schedule are counted together, since they differ in no label.
func ActiveSamples(runs []Active) []Sample {
	type phase struct {
		Object
		v1alpha1.Phase
	}
	number, least := map[phase]float64{}, map[Object]float64{}
	for _, run := range runs {
		number[phase{run.Object, run.Phase}]++
		if run.Phase != v1alpha1.PhaseMeasuring {
			continue
		}
		if former, ok := least[run.Object]; !ok || run.Progress < former {
			least[run.Object] = run.Progress
		}
	}
	var out []Sample
	for of, n := range number {
		out = append(out, of.sample(active, n, string(of.Phase)))
	}
	for of, ratio := range least {
		out = append(out, of.sample(progress, ratio))
	}
	return out
}
