// Package page writes a PerfRun's result as one HTML page that needs nothing from elsewhere: the verdict, what was asked, figures with
// their tables, and all that the report has. It calls nothing and has no clock.
package page

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/markup"
	"perfrun.dev/perfrun/internal/rawdata"
	"perfrun.dev/perfrun/internal/report"
)

// Write the page of a run. raw is its report, block by block; nil where there is none: the figures that are made of it are then left out,
// and missing says why.
func Write(w io.Writer, run *v1alpha1.PerfRun, raw *rawdata.Document, missing string) error {
	var b markup.Builder
	b.Open(Title(run), "<style>\n"+markup.Style+"</style>")
	b.Add("<main>")
	if err := Run(&b, run, raw, missing); err != nil {
		return err
	}
	b.Add("</main>")
	b.Close()
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// Title of a run's page.
func Title(run *v1alpha1.PerfRun) string {
	return fmt.Sprintf("%s/%s: %s", run.Namespace, run.Name, phase(run))
}

// Run adds what is to be read of a run; the arguments are those of Write.
func Run(to *markup.Builder, run *v1alpha1.PerfRun, raw *rawdata.Document, missing string) error {
	spec, err := yaml.Marshal(run.Spec)
	if err != nil {
		return fmt.Errorf("writing the spec: %w", err)
	}
	figures, err := figuresOf(run, raw)
	if err != nil {
		return fmt.Errorf("drawing the figures: %w", err)
	}
	b := builder{to}
	b.verdict(run)
	b.facts(facts(run))
	if missing != "" {
		b.Element("p", "note", missing)
	}
	if len(figures) > 0 {
		b.Add("<section>")
		b.Element("h2", "", "Figures")
		for _, f := range figures {
			b.Figure(f)
		}
		b.Add("</section>")
	}
	for _, s := range report.Sections(run) {
		b.section(s)
	}
	b.asked(run, string(spec))
	return nil
}

// WithoutRaw says what is missing where the raw data could not be read.
func WithoutRaw(err error) string {
	return fmt.Sprintf("Figures of single blocks, of distributions and over time are left out: %s.", err)
}

// builder adds the parts of this package's pages.
type builder struct{ *markup.Builder }

// fact is a figure that stands out.
type fact struct{ name, value, note string }

func (b builder) verdict(run *v1alpha1.PerfRun) {
	b.Add("<header>")
	b.Element("h1", "", "PerfRun "+run.Namespace+"/"+run.Name)
	b.Add(`<p class="reason">`)
	b.Element("span", "verdict "+strings.ToLower(string(run.Status.Phase)), phase(run))
	b.Text(reason(run))
	b.Add("</p>")
	if len(run.Status.Reasons) > 0 {
		b.Add(`<ul class="reasons">`)
		for _, r := range run.Status.Reasons {
			b.Add("<li>")
			b.Element("strong", "", r.Reason)
			b.Text(": " + r.Message)
			b.Add("</li>")
		}
		b.Add("</ul>")
	}
	if times := between(run.Status.StartTime, run.Status.CompletionTime); times != "" {
		b.Element("p", "soft", times)
	}
	b.Add("</header>")
}

func phase(run *v1alpha1.PerfRun) string {
	if run.Status.Phase == "" {
		return "Not looked at yet"
	}
	return string(run.Status.Phase)
}

func between(start, end *metav1.Time) string {
	const layout = "2006-01-02 15:04:05 UTC"
	switch {
	case start == nil:
		return ""
	case end == nil:
		return "Began " + start.UTC().Format(layout) + "."
	default:
		return "Began " + start.UTC().Format(layout) + ", ended " + end.UTC().Format(layout) + "."
	}
}

func (b builder) facts(all []fact) {
	if len(all) == 0 {
		return
	}
	b.Add(`<dl class="facts">`)
	for _, f := range all {
		b.Add("<div>")
		b.Element("dt", "", f.name)
		b.Element("dd", "value", f.value)
		b.Element("dd", "note", f.note)
		b.Add("</div>")
	}
	b.Add("</dl>")
}

func (b builder) section(s report.Section) {
	b.Add("<section>")
	b.Element("h2", "", s.Title)
	if len(s.Rows) > 0 {
		b.Table(markup.Table{Label: s.Title, Head: s.Head, Rows: s.Rows})
	}
	for _, n := range s.Notes {
		b.Element("p", "note", n)
	}
	b.Add("</section>")
}

// asked is the spec, and where the rest is.
func (b builder) asked(run *v1alpha1.PerfRun, spec string) {
	b.Add("<section>")
	b.Element("h2", "", "What was asked")
	b.Element("pre", "", spec)
	if raw := run.Status.Raw; raw != nil {
		b.Element("p", "soft", fmt.Sprintf("The whole report is in ConfigMap %s (%d bytes, %s).", raw.ConfigMap, raw.Bytes, raw.Digest))
	}
	b.Add("</section>")
}

// reason of the verdict, or what the run is waiting for.
func reason(run *v1alpha1.PerfRun) string {
	if c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		return c.Message
	}
	return "Is the operator running?"
}

// facts are what a reader came for: what Dapr adds, or the latency where there is nothing to compare it with.
func facts(run *v1alpha1.PerfRun) []fact {
	if len(run.Status.Results) == 0 {
		return nil
	}
	at := run.Status.Results[0]
	where := fmt.Sprintf("at %d connections", at.Connections)
	var all []fact
	if at.Added != nil {
		for _, one := range []struct {
			name  string
			added *v1alpha1.AddedLatency
		}{{"Dapr adds to p50", at.Added.P50}, {"Dapr adds to p90", at.Added.P90}, {"Dapr adds to p99", at.Added.P99}} {
			if one.added != nil {
				all = append(all, fact{one.name, one.added.Value.String(), interval(one.added)})
			}
		}
		if cpu := at.Added.CPUPer1000RPS; cpu != nil {
			all = append(all, fact{"CPU of both sidecars", cpu.Value.String(), "vCPU for each 1000 requests/s"})
		}
	}
	if at.Dapr != nil {
		if l := at.Dapr.Latency; l != nil && l.P90 != nil {
			all = append(all, fact{"p90 through Dapr", l.P90.String(), where})
		}
		all = append(all, fact{"Requests/s through Dapr", at.Dapr.AchievedRPS, fmt.Sprintf("%d errors in %d requests", at.Dapr.Errors, at.Dapr.Requests)})
	}
	return all
}

func interval(a *v1alpha1.AddedLatency) string {
	if a.Low == nil || a.High == nil {
		return a.Note
	}
	return fmt.Sprintf("95%% from %s to %s", a.Low, a.High)
}
