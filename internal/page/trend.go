package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/chart"
	"perfrun.dev/perfrun/internal/markup"
	"perfrun.dev/perfrun/internal/trend"
)

// Trend adds what is to be read of a schedule: whether a figure is worse, since when and by how much, and how each figure went. link is the
// address of a run, or empty where it has none any more.
func Trend(to *markup.Builder, schedule *v1alpha1.PerfSchedule, series *v1alpha1.PerfSeries, link func(run string) string) error {
	b := builder{to}
	b.Element("h1", "", "PerfSchedule "+schedule.Namespace+"/"+schedule.Name)
	b.regressed(schedule)
	b.facts(scheduleFacts(schedule))
	b.changes(schedule.Status.Changes, link)
	b.steps(schedule.Status.Steps, link)
	figures := trendFigures(schedule, series)
	if len(figures) > 0 {
		b.Add("<section>")
		b.Element("h2", "", "How the figures went")
		for i, f := range figures {
			b.Figure(f.Draw(fmt.Sprintf("trend-%d", i+1)))
		}
		b.Element("p", "soft", "Of all other figures those are shown that have changed. All are in PerfSeries "+series.Name+".")
		b.Add("</section>")
	}
	b.lastResults(schedule.Status.Results, link)
	return nil
}

func (b builder) regressed(schedule *v1alpha1.PerfSchedule) {
	class, word, message := "inconclusive", "Not known yet", "No run has finished yet."
	if c := meta.FindStatusCondition(schedule.Status.Conditions, v1alpha1.ConditionRegressed); c != nil {
		message = c.Message
		switch c.Status {
		case metav1.ConditionTrue:
			class, word = "failed", "Regressed"
		case metav1.ConditionFalse:
			class, word = "succeeded", "Not regressed"
		}
	}
	b.Add(`<p class="reason">`)
	b.Element("span", "verdict "+class, word)
	b.Text(message)
	b.Add("</p>")
	if c := meta.FindStatusCondition(schedule.Status.Conditions, v1alpha1.ConditionAccepted); c != nil && (c.Status == metav1.ConditionFalse || c.Reason == v1alpha1.ReasonSuspended) {
		b.Add(`<p class="reason">`)
		b.Element("strong", "", c.Reason)
		b.Text(": " + c.Message)
		b.Add("</p>")
	}
}

func scheduleFacts(s *v1alpha1.PerfSchedule) []fact {
	zone := "Etc/UTC"
	if s.Status.Settings != nil {
		zone = s.Status.Settings.TimeZone
	}
	at := func(t *metav1.Time) string {
		if t == nil {
			return "-"
		}
		return t.UTC().Format("2006-01-02 15:04")
	}
	all := []fact{{"Schedule", s.Spec.Schedule, zone}, {"Next run", at(s.Status.NextScheduleTime), "UTC"}, {"Last run", at(s.Status.LastScheduleTime), "UTC"}}
	if s.Status.Series != nil {
		all = append(all, fact{"Results", fmt.Sprint(s.Status.Series.Results), "kept in PerfSeries " + s.Status.Series.Name})
	}
	return append(all, fact{"Skipped", fmt.Sprint(s.Status.Skipped), "because another run was not finished"}, fact{"Missed", fmt.Sprint(s.Status.Missed), "for any other reason"})
}

func linked(run string, link func(string) string) string {
	if to := link(run); to != "" {
		return markup.Link(to, run)
	}
	return markup.Escape(run)
}

func (b builder) changes(all []v1alpha1.FigureChange, link func(string) string) {
	if len(all) == 0 {
		return
	}
	g := markup.Grid{Label: "Changes", Head: []string{"Figure", "Change", "Before", "After", "By", "Since run", "Time", "Results"},
		Numbers: []bool{2: true, 3: true, 7: true}}
	for _, c := range all {
		class := map[v1alpha1.Direction]string{v1alpha1.DirectionRegression: "failed", v1alpha1.DirectionImprovement: "succeeded"}[c.Direction]
		g.Rows = append(g.Rows, []string{markup.Escape(figureName(c.Metric, c.Connections)), `<strong class="` + class + `">` + markup.Escape(string(c.Direction)) + "</strong>",
			markup.Escape(c.Before), markup.Escape(c.After), markup.Escape(trend.Percent(c.Size)), linked(c.Since, link), minute(c.Time.Time), fmt.Sprint(c.Results)})
	}
	b.Add("<section>")
	b.Element("h2", "", "Changes")
	b.Grid(g)
	b.Add("</section>")
}

func (b builder) steps(all []v1alpha1.EnvironmentStep, link func(string) string) {
	for _, step := range all {
		b.Add("<section><h2>Another environment or other settings since run " + linked(step.Since, link) + "</h2>")
		b.Add(`<ul class="reasons">`)
		for _, cause := range step.Causes {
			b.Element("li", "", cause)
		}
		b.Add("</ul>")
		t := markup.Table{Label: "Comparison across run " + step.Since, Head: []string{"Figure", "Before", "After", "By"}}
		for _, c := range step.Comparisons {
			t.Rows = append(t.Rows, []string{figureName(c.Metric, c.Connections), c.Before, c.After, trend.Percent(c.Size)})
		}
		if len(t.Rows) > 0 {
			b.Table(t)
		} else {
			b.Element("p", "note", "No figure is known to differ.")
		}
		b.Add("</section>")
	}
}

func (b builder) lastResults(all []v1alpha1.RunResult, link func(string) string) {
	if len(all) == 0 {
		return
	}
	g := markup.Grid{Label: "Last results", Head: []string{"Run", "Time", "Verdict"}}
	for _, r := range all {
		class := strings.ToLower(string(r.Verdict))
		g.Rows = append(g.Rows, []string{linked(r.Run, link), minute(r.Time.Time), `<strong class="` + markup.Escape(class) + `">` + markup.Escape(string(r.Verdict)) + "</strong>"})
	}
	b.Add("<section>")
	b.Element("h2", "", "Last results")
	b.Grid(g)
	b.Add("</section>")
}

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

func figureName(metric string, connections int32) string {
	if connections == 0 {
		return metric
	}
	return fmt.Sprintf("%s, %d connections", metric, connections)
}

// followed is a figure of the results.
type followed struct {
	metric      string
	connections int32
}

// trendFigures are those of what Dapr adds, or of its latency where nothing is compared, and of whatever else has changed.
func trendFigures(schedule *v1alpha1.PerfSchedule, series *v1alpha1.PerfSeries) (all []drawing) {
	var seen []followed
	for _, r := range slices.Backward(series.Results) {
		for _, f := range r.Figures {
			if one := (followed{f.Metric, f.Connections}); !slices.Contains(seen, one) {
				seen = append(seen, one)
			}
		}
	}
	compared := slices.ContainsFunc(seen, func(f followed) bool { return strings.HasPrefix(f.metric, "added.p") })
	for _, f := range seen {
		changed := slices.ContainsFunc(schedule.Status.Changes, func(c v1alpha1.FigureChange) bool { return (followed{c.Metric, c.Connections}) == f })
		if !changed && !strings.HasPrefix(f.metric, "added.") && (compared || !strings.HasPrefix(f.metric, "dapr.p")) {
			continue
		}
		if d, ok := trendOf(f, schedule, series); ok {
			all = append(all, d)
		}
	}
	return all
}

// trendOf shows a figure of all results, and the levels before and after its changes.
func trendOf(f followed, schedule *v1alpha1.PerfSchedule, series *v1alpha1.PerfSeries) (chart.XY, bool) {
	unit, scale := unitOf(f.metric)
	c := chart.XY{
		Title: figureName(f.metric, f.connections),
		Description: "Each mark is one run, with its own 95% interval where it has one. Hollow marks are of runs that were not measured under the declared conditions. " +
			"Lines across are where the figure changed, and where the environment or the settings did.",
		Y: chart.Axis{Label: unit},
	}
	value := func(text string) *float64 {
		v, err := trend.Value(f.metric, text)
		if err != nil {
			return nil
		}
		return new(v * scale)
	}
	results := chart.Series{Name: "Result", Loose: true, Points: resultPoints(f, series, value)}
	if len(results.Points) == 0 {
		return c, false
	}
	first, last := results.Points[0].X, results.Points[len(results.Points)-1].X
	c.X = dateAxis(first, last)
	c.Series = []chart.Series{results}
	var edges []float64
	for _, step := range schedule.Status.Steps {
		if at := seconds(step.Time); at >= first {
			c.Marks = append(c.Marks, chart.Mark{At: at, Label: "environment"})
			edges = append(edges, at)
		}
	}
	levels := chart.Series{Name: "Level", Line: true, Bare: true}
	var changes []v1alpha1.FigureChange
	for _, change := range schedule.Status.Changes {
		if change.Metric == f.metric && change.Connections == f.connections && seconds(change.Time) >= first {
			changes = append(changes, change)
			c.Marks = append(c.Marks, chart.Mark{At: seconds(change.Time), Label: brief(change.Size), Bad: change.Direction == v1alpha1.DirectionRegression})
			edges = append(edges, seconds(change.Time))
		}
	}
	slices.Sort(edges)
	for _, change := range slices.Backward(changes) {
		at := seconds(change.Time)
		from := before(edges, at, first)
		// Where another change came before, its level is there already.
		if !slices.ContainsFunc(changes, func(c v1alpha1.FigureChange) bool { return seconds(c.Time) == from }) {
			levels.Points = append(levels.Points, level(value(change.Before), from, at)...)
		}
		levels.Points = append(levels.Points, level(value(change.After), at, after(edges, at, last))...)
	}
	if len(levels.Points) > 0 {
		c.Series = append(c.Series, levels)
	}
	return c, true
}

// resultPoints are a figure's values over all results.
func resultPoints(f followed, series *v1alpha1.PerfSeries, value func(string) *float64) (all []chart.Point) {
	for _, r := range series.Results {
		for _, one := range r.Figures {
			if one.Metric != f.metric || one.Connections != f.connections {
				continue
			}
			if v := value(one.Value); v != nil {
				comparable := r.Verdict == v1alpha1.PhaseSucceeded || r.Verdict == v1alpha1.PhaseFailed
				all = append(all, chart.Point{X: seconds(r.Time), Y: *v, Low: value(one.Low), High: value(one.High), Hollow: !comparable})
			}
		}
	}
	return all
}

// level is a line across from one time to another.
func level(v *float64, from, to float64) []chart.Point {
	if v == nil {
		return nil
	}
	return []chart.Point{{X: from, Y: *v, Gap: true}, {X: to, Y: *v}}
}

// before and after are the nearest edges on both sides of a time.
func before(edges []float64, at, first float64) float64 {
	for _, e := range edges {
		if e < at {
			first = max(first, e)
		}
	}
	return first
}

func after(edges []float64, at, last float64) float64 {
	for _, e := range slices.Backward(edges) {
		if e > at {
			last = min(last, e)
		}
	}
	return last
}

func seconds(t metav1.Time) float64 { return float64(t.Unix()) }

// brief is the size of a change in a few characters.
func brief(s v1alpha1.Size) string {
	value, _, _ := strings.Cut(trend.Percent(s), ",")
	return value
}

// unitOf a figure, and the factor from that of trend.Value to it.
func unitOf(metric string) (string, float64) {
	switch {
	case strings.HasSuffix(metric, ".cpuPer1000RPS"):
		return "vCPU for each 1000 requests/s", 1
	case strings.HasSuffix(metric, ".memory"):
		return "MiB", 1.0 / (1 << 20)
	default:
		return "ms", 1e3
	}
}

// dateAxis has half a dozen ticks at whole days, hours or minutes.
func dateAxis(first, last float64) chart.Axis {
	steps := []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour,
		24 * time.Hour, 2 * 24 * time.Hour, 7 * 24 * time.Hour, 14 * 24 * time.Hour, 30 * 24 * time.Hour, 90 * 24 * time.Hour}
	const most = 7
	step := steps[len(steps)-1].Seconds()
	for _, s := range steps {
		if (last-first)/s.Seconds() < most {
			step = s.Seconds()
			break
		}
	}
	layout := "15:04"
	if step >= 24*3600 {
		layout = "2 Jan"
	}
	a := chart.Axis{Label: "time of the run, UTC, from " + time.Unix(int64(first), 0).UTC().Format("2 Jan 2006"), Pad: step / 2,
		Format: func(v float64) string { return minute(time.Unix(int64(v), 0)) }}
	for at := float64(int64(first/step)) * step; at <= last+step; at += step {
		if at >= first-step/2 && at <= last+step/2 {
			a.Ticks = append(a.Ticks, chart.Tick{At: at, Label: time.Unix(int64(at), 0).UTC().Format(layout)})
		}
	}
	return a
}
