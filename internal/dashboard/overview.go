package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/duration"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/markup"
)

// pageLength is how many finished runs one page has.
const pageLength = 100

// overview is all runs and schedules, or those of one namespace.
func (d *Dashboard) overview(r *http.Request) view {
	namespace := r.URL.Query().Get("namespace")
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	stamp := fmt.Sprint(d.store.now(), namespace, number)
	return view{stamp: stamp, tick: true, title: d.options.Cluster, write: func(_ context.Context, b *markup.Builder) error {
		o := d.look(namespace)
		b.Element("h1", "", "What Dapr costs on "+d.options.Cluster)
		b.Add(`<p id="said" role="status">`)
		b.Text(o.sentence())
		b.Add("</p>")
		o.filter(b)
		now := time.Now()
		o.underWayTable(b, now)
		o.schedulesTable(b, now)
		o.finishedTable(b, max(1, number), now)
		return nil
	}}
}

// looked is what an overview shows.
type looked struct {
	// listed: the API server has answered once.
	listed bool
	// namespace that is chosen, of all that something is in; empty: all.
	namespace  string
	namespaces []string
	underWay   []*v1alpha1.PerfRun
	finished   []*v1alpha1.PerfRun
	schedules  []*v1alpha1.PerfSchedule
}

func (d *Dashboard) look(namespace string) looked {
	o := looked{namespace: namespace, listed: d.store.state(runs).listed}
	note := func(in string) bool {
		if !slices.Contains(o.namespaces, in) {
			o.namespaces = append(o.namespaces, in)
		}
		return namespace == "" || namespace == in
	}
	for _, run := range all[*v1alpha1.PerfRun](d.store, runs) {
		switch {
		case !note(run.Namespace):
		case run.Status.Phase.Finished():
			o.finished = append(o.finished, run)
		default:
			o.underWay = append(o.underWay, run)
		}
	}
	for _, s := range all[*v1alpha1.PerfSchedule](d.store, schedules) {
		if note(s.Namespace) {
			o.schedules = append(o.schedules, s)
		}
	}
	if namespace != "" {
		note(namespace)
	}
	slices.Sort(o.namespaces)
	slices.SortStableFunc(o.underWay, func(a, b *v1alpha1.PerfRun) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
	slices.SortStableFunc(o.finished, func(a, b *v1alpha1.PerfRun) int { return ended(b).Compare(ended(a)) })
	return o
}

// order of what is not finished: what measures, then the queue, then what nobody has looked at yet and what is suspended.
func order(run *v1alpha1.PerfRun) int {
	switch run.Status.Phase {
	case v1alpha1.PhaseQueued:
		return int(run.Status.QueuePosition)
	case v1alpha1.PhaseSuspended:
		return 1 << 30
	case "":
		return 1 << 29
	default:
		return -1
	}
}

func ended(run *v1alpha1.PerfRun) time.Time {
	if run.Status.CompletionTime != nil {
		return run.Status.CompletionTime.Time
	}
	return run.CreationTimestamp.Time
}

// sentence that a change of phase changes, and progress does not: it is read aloud to those who have pages read to them.
func (o looked) sentence() string {
	if !o.listed {
		return "Nothing has been read yet."
	}
	var measuring []string
	waiting := 0
	for _, run := range o.underWay {
		if order(run) < 0 {
			measuring = append(measuring, run.Name)
		} else {
			waiting++
		}
	}
	const named = 3
	now := "No run is under way"
	switch n := len(measuring); {
	case n == 1:
		now = measuring[0] + " is under way"
	case n > named:
		now = fmt.Sprintf("%d runs are under way", n)
	case n > 1:
		now = strings.Join(measuring, ", ") + " are under way"
	}
	return fmt.Sprintf("%s, %d waiting, %d finished.", now, waiting, len(o.finished))
}

func (o looked) filter(b *markup.Builder) {
	if len(o.namespaces) < 2 && o.namespace == "" {
		return
	}
	b.Add(`<form method="get" action="/"><label for="namespace">Namespace</label> <select id="namespace" name="namespace"><option value="">all</option>`)
	for _, n := range o.namespaces {
		selected := ""
		if n == o.namespace {
			selected = " selected"
		}
		b.Addf(`<option value="%s"`+selected+`>%s</option>`, n, n)
	}
	b.Add(`</select> <button>Show</button></form>`)
}

func (o looked) underWayTable(b *markup.Builder, now time.Time) {
	if len(o.underWay) == 0 {
		if o.listed && len(o.finished) == 0 && len(o.schedules) == 0 {
			b.Add(`<section id="none"><h2>Nothing here yet</h2><p>`)
			b.Text("A run begins with kubectl apply -f perfrun.yaml; this page shows it as soon as it is there.")
			b.Add(`</p></section>`)
		}
		return
	}
	g := markup.Grid{Label: "Runs under way and waiting", Head: []string{"Run", "Phase", "Queue", "Progress", "Namespace", "Scenario", "Age"},
		Numbers: []bool{2: true, 6: true}}
	for _, run := range o.underWay {
		queue := ""
		if run.Status.QueuePosition > 0 {
			queue = strconv.Itoa(int(run.Status.QueuePosition))
		}
		g.IDs = append(g.IDs, "run-"+string(run.UID))
		g.Rows = append(g.Rows, []string{name("runs", run.Namespace, run.Name), markup.Escape(string(run.Status.Phase)), queue, progress(run, now),
			markup.Escape(run.Namespace), markup.Escape(string(run.Spec.Scenario)), age(run.CreationTimestamp.Time, now)})
	}
	b.Add(`<section id="under-way"><h2>Under way and waiting</h2>`)
	b.Grid(g)
	b.Add("</section>")
}

// progress is a bar while a run measures, and what it is waiting for otherwise.
func progress(run *v1alpha1.PerfRun, now time.Time) string {
	p := run.Status.Progress
	if run.Status.Phase != v1alpha1.PhaseMeasuring || p == nil {
		_, message := succeeded(run)
		return `<span class="wrap soft">` + markup.Escape(message) + "</span>"
	}
	var b markup.Builder
	b.Addf(`<progress max="100" value="%d" aria-label="%s"></progress> %d%%`, p.Percent, "Progress of "+run.Name, p.Percent)
	text := p.Activity
	if end := p.EstimatedCompletion; end != nil && end.After(now) {
		text = strings.TrimPrefix(fmt.Sprintf("%s, about %s to go", text, end.Sub(now).Round(time.Second)), ", ")
	}
	b.Addf(`<span class="wrap soft">%s</span>`, text)
	return b.String()
}

func (o looked) schedulesTable(b *markup.Builder, now time.Time) {
	if len(o.schedules) == 0 {
		return
	}
	g := markup.Grid{Label: "Schedules", Head: []string{"Schedule", "Namespace", "When", "Next", "Last", "Results", "Regressed"}, Numbers: []bool{5: true}}
	for _, s := range o.schedules {
		g.IDs = append(g.IDs, "schedule-"+string(s.UID))
		g.Rows = append(g.Rows, scheduleRow(s, now))
	}
	b.Add(`<section id="schedules"><h2>Schedules</h2>`)
	b.Grid(g)
	b.Add("</section>")
}

func scheduleRow(s *v1alpha1.PerfSchedule, now time.Time) []string {
	next, last, results := "-", "-", 0
	if t := s.Status.NextScheduleTime; t != nil {
		next = "in " + duration.HumanDuration(max(0, t.Sub(now)))
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionAccepted); c != nil && (c.Status != "True" || c.Reason == v1alpha1.ReasonSuspended) {
		next = c.Reason
	}
	if len(s.Status.Results) > 0 {
		last = verdict(s.Status.Results[0].Verdict)
	}
	if s.Status.Series != nil {
		results = int(s.Status.Series.Results)
	}
	regressed := "-"
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRegressed); c != nil {
		regressed = map[bool]string{true: `<strong class="failed">yes</strong>`, false: "no"}[c.Status == "True"]
		if c.Status == "Unknown" {
			regressed = "not known yet"
		}
	}
	return []string{name("schedules", s.Namespace, s.Name), markup.Escape(s.Namespace), markup.Escape(s.Spec.Schedule), markup.Escape(next), last,
		strconv.Itoa(results), regressed}
}

func (o looked) finishedTable(b *markup.Builder, number int, now time.Time) {
	if len(o.finished) == 0 {
		return
	}
	pages := (len(o.finished) + pageLength - 1) / pageLength
	number = min(number, pages)
	from := (number - 1) * pageLength
	g := markup.Grid{Label: "Finished runs", Head: []string{"Run", "Namespace", "Scenario", "Verdict", "Connections", "Added p50", "Added p90", "Added p99", "Sidecars' CPU", "Ended"},
		Numbers: []bool{4: true, 5: true, 6: true, 7: true, 8: true, 9: true}}
	for _, run := range o.finished[from:min(len(o.finished), from+pageLength)] {
		g.IDs = append(g.IDs, "run-"+string(run.UID))
		g.Rows = append(g.Rows, finishedRow(run, now))
	}
	b.Add(`<section id="finished"><h2>Finished</h2>`)
	b.Grid(g)
	b.Add(`<p class="soft">Latency that Dapr adds at the run's first number of connections, and how long ago the run ended. Reports have the intervals.</p>`)
	if pages > 1 {
		b.Addf(`<nav aria-label="Pages of finished runs"><p>Page %d of %d`, number, pages)
		for _, link := range []struct {
			text string
			to   int
		}{{"newer", number - 1}, {"older", number + 1}} {
			if link.to >= 1 && link.to <= pages {
				query := url.Values{"page": {strconv.Itoa(link.to)}}
				if o.namespace != "" {
					query.Set("namespace", o.namespace)
				}
				b.Add(" " + markup.Link("/?"+query.Encode(), link.text))
			}
		}
		b.Add("</p></nav>")
	}
	b.Add("</section>")
}

func finishedRow(run *v1alpha1.PerfRun, now time.Time) []string {
	at, p50, p90, p99, cpu := "-", "-", "-", "-", "-"
	added := func(a *v1alpha1.AddedLatency) string {
		if a == nil {
			return "-"
		}
		return a.Value.String()
	}
	if len(run.Status.Results) > 0 {
		first := run.Status.Results[0]
		at = strconv.Itoa(int(first.Connections))
		if first.Added != nil {
			p50, p90, p99 = added(first.Added.P50), added(first.Added.P90), added(first.Added.P99)
		}
	}
	if run.Status.Summary != nil && run.Status.Summary.SidecarCPU != "" {
		cpu = run.Status.Summary.SidecarCPU
	}
	said := verdict(run.Status.Phase)
	if reason, message := succeeded(run); run.Status.Phase != v1alpha1.PhaseSucceeded {
		said += ` <span class="soft" title="` + markup.Escape(message) + `">` + markup.Escape(reason) + "</span>"
	}
	return []string{name("runs", run.Namespace, run.Name), markup.Escape(run.Namespace), markup.Escape(string(run.Spec.Scenario)), said,
		at, markup.Escape(p50), markup.Escape(p90), markup.Escape(p99), markup.Escape(cpu), age(ended(run), now)}
}

func name(kind, namespace, name string) string {
	return `<span class="wrap">` + markup.Link(address(kind, namespace, name), name) + "</span>"
}

func verdict(phase v1alpha1.Phase) string {
	return `<strong class="` + strings.ToLower(markup.Escape(string(phase))) + `">` + markup.Escape(string(phase)) + "</strong>"
}

func age(since, now time.Time) string { return duration.HumanDuration(max(0, now.Sub(since))) }
