package trend

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/changepoint"
)

// What a schedule's status holds at most.
const (
	maxResults     = 10
	maxChanges     = 32
	maxSteps       = 5
	maxCauses      = 32
	maxComparisons = 20
)

// Findings are what a series has come to.
type Findings struct {
	// Results are the latest, newest first.
	Results []v1alpha1.RunResult
	// Changes and Steps are newest first.
	Changes []v1alpha1.FigureChange
	Steps   []v1alpha1.EnvironmentStep
	// Regressed, Reason and Message are for the condition of that name.
	Regressed       metav1.ConditionStatus
	Reason, Message string
}

// Analyse says what changed in a series.
func Analyse(series *v1alpha1.PerfSeries, settings v1alpha1.ScheduleSettings) (Findings, error) {
	o := changepoint.Default()
	minChange, err := strconv.ParseFloat(settings.MinChange, 64)
	if err != nil {
		return Findings{}, fmt.Errorf("reading minChange: %w", err)
	}
	o.MinChange = minChange
	all, of := stretches(series, settings.IgnoreNodes)
	out := Findings{}
	for _, s := range all {
		out.Changes = append(out.Changes, changesOf(s, o)...)
		began := s.results[0]
		if former := before(of, began); former >= 0 {
			out.Steps = append(out.Steps, stepTo(s, all[former], o))
		}
	}
	slices.SortStableFunc(out.Changes, func(a, b v1alpha1.FigureChange) int { return b.Time.Compare(a.Time.Time) })
	slices.SortStableFunc(out.Steps, func(a, b v1alpha1.EnvironmentStep) int { return b.Time.Compare(a.Time.Time) })
	out.Changes = out.Changes[:min(len(out.Changes), maxChanges)]
	out.Steps = out.Steps[:min(len(out.Steps), maxSteps)]
	out.Results = slices.Clone(series.Results[max(0, len(series.Results)-maxResults):])
	slices.Reverse(out.Results)
	out.Regressed, out.Reason, out.Message = verdict(all, before(of, len(of)), settings.AcceptedUntil, o)
	return out, nil
}

// before is the stretch of the last comparable result before the i-th; -1 if there is none.
func before(of []int, i int) int {
	for i--; i >= 0; i-- {
		if of[i] >= 0 {
			return of[i]
		}
	}
	return -1
}

// verdict is about the stretch that goes on now.
func verdict(all []*stretch, current int, accepted *metav1.Time, o changepoint.Options) (status metav1.ConditionStatus, reason, message string) {
	if current < 0 {
		return metav1.ConditionUnknown, v1alpha1.ReasonTooFewResults, "no run has been measured under its declared conditions yet"
	}
	s := all[current]
	if n := len(s.results); n < 2*o.MinResults {
		return metav1.ConditionUnknown, v1alpha1.ReasonTooFewResults,
			fmt.Sprintf("%d of the %d results that it takes to compare are there in this environment and with these settings", n, 2*o.MinResults)
	}
	var worse, known []string
	for _, f := range s.figures() {
		w, sentence := judge(s, f, accepted, o)
		switch w {
		case worseNow:
			worse = append(worse, sentence)
		case worseAccepted:
			known = append(known, f.String())
		}
	}
	switch {
	case len(worse) > 0:
		return metav1.ConditionTrue, v1alpha1.ReasonRegression, strings.Join(worse, "; ")
	case len(known) > 0:
		return metav1.ConditionFalse, v1alpha1.ReasonRegressionAccepted, "worse, and accepted by detection.acceptedUntil: " + strings.Join(known, ", ")
	default:
		return metav1.ConditionFalse, v1alpha1.ReasonNoRegression, fmt.Sprintf("no figure is worse over %d results of this environment and these settings", len(s.results))
	}
}

type judgement int

const (
	notWorse judgement = iota
	worseNow
	worseAccepted
)

// judge compares a figure's level now with its reference: the level at first, the lowest since, or that of the last accepted change, whichever came last.
func judge(s *stretch, f figure, accepted *metav1.Time, o changepoint.Options) (judgement, string) {
	l := s.levels(f, o)
	if len(l.changes) == 0 {
		return notWorse, ""
	}
	reference, since, raised := l.changes[0].Before, -1, false
	for i, c := range l.changes {
		at := s.series.Results[l.at[c.Index]].Time
		switch {
		case accepted != nil && !at.After(accepted.Time):
			raised = raised || c.After > reference
			reference, since = c.After, -1
		case c.After <= reference:
			reference, since, raised = c.After, -1, false
		case since < 0:
			since = i
		}
	}
	now := l.changes[len(l.changes)-1].After
	if since >= 0 && now-reference > o.MinChange*max(reference, -reference) {
		run := s.series.Results[l.at[l.changes[since].Index]]
		return worseNow, fmt.Sprintf("%s went from %s to %s with run %s", f, Format(f.metric, reference), Format(f.metric, now), run.Run)
	}
	if raised {
		return worseAccepted, ""
	}
	return notWorse, ""
}

func (f figure) String() string {
	if f.connections == 0 {
		return f.metric
	}
	return fmt.Sprintf("%s at %d connections", f.metric, f.connections)
}

// Fresh are the changes that were not known before. One whose first run has moved by a few, as more results came in, is the same.
func Fresh(series *v1alpha1.PerfSeries, known, now []v1alpha1.FigureChange) []v1alpha1.FigureChange {
	position := map[string]int{}
	for i, r := range series.Results {
		position[r.Run] = i
	}
	near := changepoint.Default().MinResults
	var out []v1alpha1.FigureChange
	for _, c := range now {
		same := func(k v1alpha1.FigureChange) bool {
			at, there := position[k.Since]
			distance := at - position[c.Since]
			return k.Metric == c.Metric && k.Connections == c.Connections && k.Direction == c.Direction && there && max(distance, -distance) < near
		}
		if !slices.ContainsFunc(known, same) {
			out = append(out, c)
		}
	}
	return out
}

// Describe is a change in a sentence.
func Describe(c v1alpha1.FigureChange) string {
	return fmt.Sprintf("%s went from %s to %s (%s) with run %s", figure{c.Metric, c.Connections}, c.Before, c.After, Percent(c.Size), c.Since)
}

// Percent is a size in words.
func Percent(s v1alpha1.Size) string {
	one := func(text string) string {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return text
		}
		return fmt.Sprintf("%+.3g%%", 100*v)
	}
	return fmt.Sprintf("%s, 95%% from %s to %s", one(s.Value), one(s.Low), one(s.High))
}
