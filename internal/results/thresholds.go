package results

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/stats"
)

// figure is what a limit is compared with.
type figure struct {
	value float64
	// interval that the value is known to; both ends are the value where it is exact. nil: there is none, and missing says why.
	interval *stats.Interval
	missing  string
	// none: there is no value either.
	none bool
	// write the value and the interval's ends in the unit of the limit.
	write func(float64) string
}

// threshold is one limit at one point.
type threshold struct {
	name, text string
	limit      float64
	figure     figure
}

// thresholds judges every limit of the spec at every point.
func thresholds(spec *v1alpha1.Thresholds, points []point, both map[int]together) []v1alpha1.ThresholdResult {
	if spec == nil {
		return nil
	}
	var out []v1alpha1.ThresholdResult
	for _, p := range points {
		for _, t := range thresholdsAt(*spec, p, both) {
			out = append(out, t.judge(p.connections))
		}
	}
	return out
}

func thresholdsAt(spec v1alpha1.Thresholds, p point, both map[int]together) []threshold {
	var out []threshold
	latencies := func(prefix string, limits *v1alpha1.LatencyThresholds, at func(q float64) figure) {
		if limits == nil {
			return
		}
		for _, l := range []struct {
			name  string
			q     float64
			limit *v1alpha1.Latency
		}{{"p50", 0.5, limits.P50}, {"p90", 0.9, limits.P90}, {"p99", 0.99, limits.P99}} {
			if l.limit != nil {
				out = append(out, threshold{prefix + "." + l.name, l.limit.String(), float64(l.limit.Duration), at(l.q)})
			}
		}
	}
	latencies("added", spec.Added, func(q float64) figure { return addedFigure(p, q) })
	latencies("latency", spec.Latency, func(q float64) figure { return latencyFigure(p.dapr, q) })
	if spec.ErrorRatio != nil {
		limit, _ := strconv.ParseFloat(*spec.ErrorRatio, 64)
		out = append(out, threshold{"errorRatio", *spec.ErrorRatio, limit, errorFigure(p.allDapr)})
	}
	if spec.SidecarCPU != nil {
		out = append(out, threshold{"sidecarCPU", spec.SidecarCPU.String(), spec.SidecarCPU.AsApproximateFloat64(), cpuFigure(p.dapr, both)})
	}
	if spec.SidecarMemory != nil {
		out = append(out, threshold{"sidecarMemory", spec.SidecarMemory.String(), spec.SidecarMemory.AsApproximateFloat64(), memoryFigure(p.dapr, both)})
	}
	return out
}

// judge compares: an interval that lies wholly at or below the limit meets it, one wholly above misses it. With the limit inside, the
// next run might come to the other result, so nothing is decided.
func (t threshold) judge(connections int32) v1alpha1.ThresholdResult {
	f := t.figure
	out := v1alpha1.ThresholdResult{Threshold: t.name, Connections: connections, Limit: t.text, Outcome: v1alpha1.OutcomeUndecided, Message: f.missing}
	if f.none {
		return out
	}
	out.Figure = f.write(f.value)
	if f.interval == nil {
		return out
	}
	if f.interval.Low != f.interval.High {
		out.Low, out.High = f.write(f.interval.Low), f.write(f.interval.High)
	}
	switch {
	case f.interval.High <= t.limit:
		out.Outcome = v1alpha1.OutcomeMet
	case f.interval.Low > t.limit:
		out.Outcome = v1alpha1.OutcomeMissed
	default:
		out.Message = "the limit lies inside the interval; longer or more pairs narrow it"
	}
	return out
}

// medianFigure is the median of one value for each pair.
func medianFigure(values []float64, write func(float64) string, absent string) figure {
	if len(values) == 0 {
		return figure{none: true, missing: absent}
	}
	f := figure{value: stats.Median(values), write: write}
	f.bound(values)
	return f
}

// bound gives the figure the interval of the values' median.
func (f *figure) bound(values []float64) {
	interval, ok := stats.MedianInterval(values)
	if !ok {
		f.missing = noInterval(len(values))
		return
	}
	f.interval = &interval
}

func noInterval(pairs int) string {
	return fmt.Sprintf("no interval: %d pair(s) have a figure, at least %d are needed", pairs, stats.MinForInterval)
}

// exactly is a figure that was counted and not estimated.
func exactly(value float64, write func(float64) string) figure {
	return figure{value: value, interval: &stats.Interval{Low: value, High: value}, write: write}
}

const (
	tooFewRequests = "too few requests: a percentile needs 10 beyond it in each block; raise rps or duration"
	notRead        = "the CPU and memory of both sidecars could not be read in any of the blocks"
)

func addedFigure(p point, q float64) figure {
	return medianFigure(differences(q, p.baseline, p.dapr), writeLatency, tooFewRequests)
}

// latencyFigure is the percentile of all requests of the arm, since a median over blocks would hide the one block in which the server
// stalled. Its interval is that of the median of the blocks' percentiles, widened to hold the figure: so a stall in one block can
// make the outcome Undecided, but never Met.
func latencyFigure(blocks []block, q float64) figure {
	all := stats.NewHistogram()
	var each []float64
	for _, b := range blocks {
		all.Merge(b.response)
		if d, ok := b.response.Quantile(q); ok {
			each = append(each, float64(d))
		}
	}
	d, ok := all.Quantile(q)
	if !ok {
		return figure{none: true, missing: tooFewRequests}
	}
	f := figure{value: float64(d), write: writeLatency}
	f.bound(each)
	if f.interval != nil {
		f.interval.Low, f.interval.High = min(f.interval.Low, f.value), max(f.interval.High, f.value)
	}
	return f
}

func errorFigure(blocks []block) figure {
	_, sent, share := failures(blocks)
	if sent == 0 {
		return figure{none: true, missing: "no request was sent"}
	}
	return exactly(share, writeRatio)
}

// failures counts the requests that failed and those that were sent, and divides them.
func failures(blocks []block) (failed, sent int64, share float64) {
	for _, b := range blocks {
		for _, n := range b.Errors {
			failed += n
		}
		sent += b.Succeeded
	}
	sent += failed
	return failed, sent, float64(failed) / float64(max(1, sent))
}

func cpuFigure(blocks []block, both map[int]together) figure {
	var each []float64
	for _, b := range blocks {
		if t, ok := both[b.index]; ok {
			each = append(each, t.cpu)
		}
	}
	return medianFigure(each, func(v float64) string { return milli(v).String() }, notRead)
}

// memoryFigure is the most that was seen: what a limit on memory is about.
func memoryFigure(blocks []block, both map[int]together) figure {
	most := -1.0
	for _, b := range blocks {
		if t, ok := both[b.index]; ok {
			most = max(most, t.memory)
		}
	}
	if most < 0 {
		return figure{none: true, missing: notRead}
	}
	return exactly(most, func(v float64) string { return mebi(v).String() })
}

func writeLatency(ns float64) string { return v1alpha1.NewLatency(time.Duration(ns)).String() }

// writeRatio keeps a millionth: a run seldom has more requests.
func writeRatio(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64) }

// outcomes are the thresholds with one outcome, as sentences.
func outcomes(results []v1alpha1.ThresholdResult, which v1alpha1.Outcome) []string {
	var out []string
	for _, t := range results {
		if t.Outcome == which {
			out = append(out, sentence(t))
		}
	}
	return out
}

func sentence(t v1alpha1.ThresholdResult) string {
	text := fmt.Sprintf("%s at %d connections", t.Threshold, t.Connections)
	if t.Figure != "" {
		text += " is " + t.Figure
	}
	if t.Low != "" {
		text += fmt.Sprintf(" (95%% interval %s to %s)", t.Low, t.High)
	}
	text += ", the limit is " + t.Limit
	if t.Message != "" {
		text += ": " + t.Message
	}
	return text
}

// unjudged takes the outcomes back: figures that hold for other conditions than the declared ones decide nothing.
func unjudged(results []v1alpha1.ThresholdResult) {
	for i := range results {
		results[i].Outcome, results[i].Message = v1alpha1.OutcomeUndecided, "not judged: the declared conditions did not hold"
	}
}
