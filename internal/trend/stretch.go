package trend

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/changepoint"
)

// stretch is all results of one environment and the same settings. They need not follow each other: where two nodes take turns, so do two stretches.
type stretch struct {
	environment, settings map[string]string
	// results of the series by their index, in the order of time.
	results []int
	series  *v1alpha1.PerfSeries
	// found are the changes of each figure, looked for once.
	found map[figure]levels
}

// figure is what is followed over a stretch.
type figure struct {
	metric      string
	connections int32
}

// levels are a figure's values over a stretch.
type levels struct {
	// at are the indices in the series of the results that have the figure.
	at      []int
	values  []float64
	changes []changepoint.Change
}

// stretches in the order in which they began. of tells for each result of the series which it is part of; -1: none, it is not to be compared.
func stretches(series *v1alpha1.PerfSeries, ignoreNodes bool) (all []*stretch, of []int) {
	environments := lookup(series.Environments, ignoreNodes)
	settings := lookup(series.Settings, false)
	known := map[string]int{}
	of = make([]int, len(series.Results))
	for i, r := range series.Results {
		of[i] = -1
		if !measured(r.Verdict) || len(r.Figures) == 0 {
			continue
		}
		key := digestOf(environments[r.Environment]) + digestOf(settings[r.Settings])
		at, found := known[key]
		if !found {
			at = len(all)
			known[key] = at
			all = append(all, &stretch{environment: environments[r.Environment], settings: settings[r.Settings], series: series, found: map[figure]levels{}})
		}
		of[i] = at
		all[at].results = append(all[at].results, i)
	}
	return all, of
}

func lookup(contexts []v1alpha1.SeriesContext, ignoreNodes bool) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, c := range contexts {
		values := map[string]string{}
		for k, v := range c.Values {
			if !ignoreNodes || !strings.HasPrefix(k, "nodes.") {
				values[k] = v
			}
		}
		out[c.Digest] = values
	}
	return out
}

// figures of the stretch's latest result, in its order.
func (s *stretch) figures() []figure {
	var out []figure
	for _, f := range s.series.Results[s.results[len(s.results)-1]].Figures {
		out = append(out, figure{f.Metric, f.Connections})
	}
	return out
}

func (s *stretch) levels(f figure, o changepoint.Options) levels {
	if known, ok := s.found[f]; ok {
		return known
	}
	var out levels
	for _, i := range s.results {
		for _, candidate := range s.series.Results[i].Figures {
			if candidate.Metric != f.metric || candidate.Connections != f.connections {
				continue
			}
			if value, err := Value(f.metric, candidate.Value); err == nil {
				out.at, out.values = append(out.at, i), append(out.values, value)
			}
		}
	}
	out.changes = changepoint.Detect(out.values, o)
	s.found[f] = out
	return out
}

// first is the level that the stretch began with, and lastBefore the one that it had just before a result of the series.
func (l levels) first() []float64 {
	if len(l.changes) == 0 {
		return l.values
	}
	return l.values[:l.changes[0].Index]
}

func (l levels) lastBefore(result int) []float64 {
	end, _ := slices.BinarySearch(l.at, result)
	start := 0
	for _, c := range l.changes {
		if c.Index < end {
			start = c.Index
		}
	}
	return l.values[start:end]
}

// end of the i-th change's level.
func (l levels) end(i int) int {
	if i+1 < len(l.changes) {
		return l.changes[i+1].Index
	}
	return len(l.values)
}

func changesOf(s *stretch, o changepoint.Options) []v1alpha1.FigureChange {
	var out []v1alpha1.FigureChange
	for _, f := range s.figures() {
		l := s.levels(f, o)
		for i, c := range l.changes {
			since := s.series.Results[l.at[c.Index]]
			direction := v1alpha1.DirectionRegression
			if c.After < c.Before {
				direction = v1alpha1.DirectionImprovement
			}
			out = append(out, v1alpha1.FigureChange{
				Metric: f.metric, Connections: f.connections, Direction: direction,
				Before: Format(f.metric, c.Before), After: Format(f.metric, c.After), Size: sizeOf(c),
				Since: since.Run, Time: since.Time, Results: int32(l.end(i) - c.Index),
			})
		}
	}
	return out
}

func sizeOf(c changepoint.Change) v1alpha1.Size {
	return v1alpha1.Size{Value: decimal(c.Size), Low: decimal(c.Low), High: decimal(c.High)}
}

func decimal(v float64) string { return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64) }

// stepTo compares a stretch with the one that came before its first result.
func stepTo(s, former *stretch, o changepoint.Options) v1alpha1.EnvironmentStep {
	began := s.results[0]
	since := s.series.Results[began]
	step := v1alpha1.EnvironmentStep{Since: since.Run, Time: since.Time,
		Causes: bounded(append(Differences("", former.environment, s.environment), Differences("settings.", former.settings, s.settings)...))}
	type sized struct {
		v1alpha1.StepComparison
		size float64
	}
	var all []sized
	for _, f := range s.figures() {
		c, ok := changepoint.Compare(former.levels(f, o).lastBefore(began), s.levels(f, o).first())
		if !ok || c.Low <= 0 && c.High >= 0 || max(c.Size, -c.Size) < o.MinChange {
			continue
		}
		all = append(all, sized{v1alpha1.StepComparison{Metric: f.metric, Connections: f.connections,
			Before: Format(f.metric, c.Before), After: Format(f.metric, c.After), Size: sizeOf(c)}, max(c.Size, -c.Size)})
	}
	slices.SortStableFunc(all, func(a, b sized) int { return cmp.Compare(b.size, a.size) })
	for _, c := range all[:min(len(all), maxComparisons)] {
		step.Comparisons = append(step.Comparisons, c.StepComparison)
	}
	return step
}

// Differences between two contexts, by path.
func Differences(prefix string, before, after map[string]string) []string {
	var out []string
	for k, v := range after {
		if old, found := before[k]; !found {
			out = append(out, fmt.Sprintf("%s%s is %s, was not set", prefix, k, v))
		} else if old != v {
			out = append(out, fmt.Sprintf("%s%s %s -> %s", prefix, k, old, v))
		}
	}
	for k, v := range before {
		if _, found := after[k]; !found {
			out = append(out, fmt.Sprintf("%s%s is not set, was %s", prefix, k, v))
		}
	}
	slices.Sort(out)
	return out
}

func bounded(causes []string) []string {
	if len(causes) <= maxCauses {
		return causes
	}
	more := len(causes) - maxCauses + 1
	return append(causes[:maxCauses-1:maxCauses-1], fmt.Sprintf("and %d more", more))
}
