package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/trend"
)

// table is Markdown.
func (h *chronicle) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d runs of %s, of which %d could not be compared.\n\n", len(h.runs), describe(shortRuns()), h.spoilt)
	fmt.Fprintln(&b, "| what was done | reported | after so many results | begun with | before | after | difference (95% interval) |")
	fmt.Fprintln(&b, "|---|---|---|---|---|---|---|")
	if len(h.found) == 0 || h.found[0].by > 0 {
		fmt.Fprintf(&b, "| nothing, for %d results | nothing | | | | | |\n", len(h.calm))
	}
	for _, o := range h.found {
		c := o.change
		if o.after == 0 {
			fmt.Fprintf(&b, "| %s | **no %s of %s** | | | | | |\n", o.chapter, strings.ToLower(string(c.Direction)), c.Metric)
			continue
		}
		fmt.Fprintf(&b, "| %s | %s of %s | %d | %s | %s | %s | %s |\n", o.chapter, strings.ToLower(string(c.Direction)), c.Metric, o.after, began(o.off), c.Before, c.After, came(o))
	}
	fmt.Fprint(&b, "\nFrom run to run, before anything was done:\n\n| figure | level | standard deviation |\n|---|---|---|\n")
	for _, f := range h.calm[len(h.calm)-1].Figures {
		if level, deviation, ok := spread(h.calm, f); ok {
			fmt.Fprintf(&b, "| %s | %s | %.1f%% |\n", f.Metric, level, 100*deviation)
		}
	}
	return b.String()
}

func describe(p *v1alpha1.PerfSchedule) string {
	spec := p.Spec.RunTemplate.Spec
	return fmt.Sprintf("%d requests/s at %d connections, %s for each arm, load tester on %s, target on %s",
		*spec.RPS, spec.Connections[0], spec.Duration.Duration, loadTesterNode, targetNode)
}

func began(off int) string {
	if off == 0 {
		return "the first run after it"
	}
	return fmt.Sprintf("%+d runs beside it", off)
}

func came(o outcome) string {
	difference, ok := o.difference()
	if !ok {
		return trend.Percent(o.change.Size)
	}
	low, high := o.interval()
	return fmt.Sprintf("%s (%s to %s)", short(difference), short(low), short(high))
}

func short(d time.Duration) string { return v1alpha1.NewLatency(d).String() }

// spread of a figure's logarithm from result to result, about its geometric mean. ok is false where a result has none, or none above 0.
func spread(results []v1alpha1.RunResult, like v1alpha1.Figure) (level string, deviation float64, ok bool) {
	var logs []float64
	for _, r := range results {
		for _, f := range r.Figures {
			if f.Metric != like.Metric || f.Connections != like.Connections {
				continue
			}
			if v, ok := number(f); ok && v > 0 {
				logs = append(logs, math.Log(v))
			}
		}
	}
	if len(logs) != len(results) || len(logs) < 2 {
		return "", 0, false
	}
	var mean, square float64
	for _, l := range logs {
		mean += l / float64(len(logs))
	}
	for _, l := range logs {
		square += (l - mean) * (l - mean)
	}
	return written(like.Metric, math.Exp(mean)), math.Sqrt(square / float64(len(logs)-1)), true
}

const (
	cpu    = ".cpuPer1000RPS"
	memory = ".memory"
)

// isLatency: "200m" would be read as minutes.
func isLatency(metric string) bool {
	return !strings.HasSuffix(metric, cpu) && !strings.HasSuffix(metric, memory)
}

// number of seconds, vCPU or bytes.
func number(f v1alpha1.Figure) (float64, bool) {
	if isLatency(f.Metric) {
		d, err := time.ParseDuration(f.Value)
		return d.Seconds(), err == nil
	}
	q, err := resource.ParseQuantity(f.Value)
	return q.AsApproximateFloat64(), err == nil
}

func written(metric string, value float64) string {
	switch {
	case isLatency(metric):
		return short(time.Duration(value * float64(time.Second)))
	case strings.HasSuffix(metric, memory):
		return fmt.Sprintf("%.1fMi", value/(1<<20))
	default:
		return fmt.Sprintf("%.1fm", 1000*value)
	}
}
