package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/trend"
)

func change(metric, before, after string) v1alpha1.FigureChange {
	return v1alpha1.FigureChange{Metric: metric, Direction: v1alpha1.DirectionRegression, Before: before, After: after,
		Size: v1alpha1.Size{Value: "1", Low: "0.9", High: "1.2"}}
}

func TestVerdict(t *testing.T) {
	p50 := change("dapr.p50", "1ms", "2.1ms")
	for _, c := range []struct {
		name string
		outcome
		want string
	}{
		{"as expected", outcome{change: p50, expected: true, after: 5, by: time.Millisecond}, ""},
		{"never", outcome{change: p50, expected: true, by: time.Millisecond}, "was not reported"},
		{"too large", outcome{change: change("dapr.p50", "1ms", "4ms"), expected: true, after: 5, by: time.Millisecond}, "comes to 3ms"},
		{"at another run", outcome{change: p50, expected: true, after: 5, off: -1, by: time.Millisecond}, "-1 run(s) beside"},
		{"in calm", outcome{change: p50, after: 11}, "nothing was done"},
		{"what comes with the delay", outcome{change: change("added.p90", "1ms", "1.2ms"), after: 5, off: 1, by: time.Millisecond}, ""},
		{"what came long before it", outcome{change: p50, after: 1, off: -6, by: time.Millisecond}, "nothing was done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := verdict([]outcome{c.outcome})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// testdata is what the run of `make trend` in docs/regressions.md has saved: 10 results, 5 with a delay between the nodes, 5 with one between the sidecars.
func TestARealSeries(t *testing.T) {
	text, err := os.ReadFile("testdata/series.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var series v1alpha1.PerfSeries
	if err := yaml.UnmarshalStrict(text, &series); err != nil {
		t.Fatal(err)
	}
	h, n := &chronicle{}, 0
	for _, c := range chapters(options{calm: 10, within: 5, delay: time.Millisecond}) {
		for h.open(c); !h.done(); n++ {
			part := series
			part.Results = series.Results[:n+1]
			found, err := trend.Analyse(&part, v1alpha1.ScheduleSettings{MinChange: v1alpha1.DefaultMinChange})
			if err != nil {
				t.Fatal(err)
			}
			h.add(series.Results[n], found.Changes)
		}
		h.close()
	}
	if err := verdict(h.found); err != nil {
		t.Error(err)
	}
	if n != len(series.Results) {
		t.Errorf("%d of %d results", n, len(series.Results))
	}
	t.Log("\n" + h.table())
}

func TestSpread(t *testing.T) {
	results := func(metric string, values ...string) []v1alpha1.RunResult {
		var out []v1alpha1.RunResult
		for _, v := range values {
			out = append(out, v1alpha1.RunResult{Figures: []v1alpha1.Figure{{Metric: metric, Connections: 8, Value: v}}})
		}
		return out
	}
	for _, c := range []struct {
		metric string
		values []string
		want   string
	}{
		// Geometric means; "200m" is no duration.
		{"dapr.p50", []string{"1ms", "4ms"}, "2ms"},
		{"app.cpuPer1000RPS", []string{"100m", "400m"}, "200.0m"},
		{"app.memory", []string{"10Mi", "40Mi"}, "20.0Mi"},
	} {
		level, deviation, ok := spread(results(c.metric, c.values...), v1alpha1.Figure{Metric: c.metric, Connections: 8})
		// The logarithm of 4 divided by the square root of 2.
		if level != c.want || deviation < 0.980 || deviation > 0.981 || !ok {
			t.Errorf("%s: %s, %v, %v", c.metric, level, deviation, ok)
		}
	}
	if _, _, ok := spread(results("added.p50", "1ms", "-10us"), v1alpha1.Figure{Metric: "added.p50", Connections: 8}); ok {
		t.Error("what is below 0 has no logarithm")
	}
}
