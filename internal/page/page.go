// Package page writes a PerfRun's result as one HTML page that needs nothing from elsewhere: the verdict, what was asked, figures with
// their tables, and all that the report has. It calls nothing and has no clock.
package page

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/chart"
	"perfrun.dev/perfrun/internal/rawdata"
	"perfrun.dev/perfrun/internal/report"
)

//go:embed page.css
var style string

// Write the page of a run. raw is its report, block by block; nil where there is none: the figures that are made of it are then left out,
// and missing says why.
func Write(w io.Writer, run *v1alpha1.PerfRun, raw *rawdata.Document, missing string) error {
	spec, err := yaml.Marshal(run.Spec)
	if err != nil {
		return fmt.Errorf("writing the spec: %w", err)
	}
	figures, err := figuresOf(run, raw)
	if err != nil {
		return fmt.Errorf("drawing the figures: %w", err)
	}
	var h html
	h.head(run)
	h.verdict(run)
	h.facts(facts(run))
	if missing != "" {
		h.element("p", "note", missing)
	}
	if len(figures) > 0 {
		h.add("<section>")
		h.element("h2", "", "Figures")
		for _, f := range figures {
			h.figure(f)
		}
		h.add("</section>")
	}
	for _, s := range report.Sections(run) {
		h.section(s)
	}
	h.asked(run, string(spec))
	h.add("</main></body></html>\n")
	if _, err := io.WriteString(w, h.String()); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// fact is a figure that stands out.
type fact struct{ name, value, note string }

func (h *html) head(run *v1alpha1.PerfRun) {
	h.add(`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">`)
	h.element("title", "", fmt.Sprintf("%s/%s: %s", run.Namespace, run.Name, phase(run)))
	h.add("<style>\n" + style + "</style></head><body><main>")
}

func (h *html) verdict(run *v1alpha1.PerfRun) {
	h.add("<header>")
	h.element("h1", "", "PerfRun "+run.Namespace+"/"+run.Name)
	h.add(`<p class="reason">`)
	h.element("span", "verdict "+strings.ToLower(string(run.Status.Phase)), phase(run))
	h.text(reason(run))
	h.add("</p>")
	if len(run.Status.Reasons) > 0 {
		h.add(`<ul class="reasons">`)
		for _, r := range run.Status.Reasons {
			h.add("<li>")
			h.element("strong", "", r.Reason)
			h.text(": " + r.Message)
			h.add("</li>")
		}
		h.add("</ul>")
	}
	if times := between(run.Status.StartTime, run.Status.CompletionTime); times != "" {
		h.element("p", "soft", times)
	}
	h.add("</header>")
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

func (h *html) facts(all []fact) {
	if len(all) == 0 {
		return
	}
	h.add(`<dl class="facts">`)
	for _, f := range all {
		h.add("<div>")
		h.element("dt", "", f.name)
		h.element("dd", "value", f.value)
		h.element("dd", "note", f.note)
		h.add("</div>")
	}
	h.add("</dl>")
}

func (h *html) figure(f chart.Figure) {
	h.add("<figure>")
	h.element("h3", "", f.Title)
	h.element("figcaption", "", f.Description)
	if len(f.Legend) > 0 {
		h.add(`<ul class="legend">`)
		for _, k := range f.Legend {
			h.add("<li>" + k.SVG)
			h.text(k.Name)
			h.add("</li>")
		}
		h.add("</ul>")
	}
	h.add(f.SVG + "<details><summary>Table</summary>")
	h.table(f.Head, f.Rows)
	h.add("</details></figure>")
}

func (h *html) section(s report.Section) {
	h.add("<section>")
	h.element("h2", "", s.Title)
	if len(s.Rows) > 0 {
		h.table(s.Head, s.Rows)
	}
	for _, n := range s.Notes {
		h.element("p", "note", n)
	}
	h.add("</section>")
}

// asked is the spec, and where the rest is.
func (h *html) asked(run *v1alpha1.PerfRun, spec string) {
	h.add("<section>")
	h.element("h2", "", "What was asked")
	h.element("pre", "", spec)
	if raw := run.Status.Raw; raw != nil {
		h.element("p", "soft", fmt.Sprintf("The whole report is in ConfigMap %s (%d bytes, %s).", raw.ConfigMap, raw.Bytes, raw.Digest))
	}
	h.add("</section>")
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
		}{{"Dapr adds to p50", at.Added.P50}, {"to p90", at.Added.P90}, {"to p99", at.Added.P99}} {
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
