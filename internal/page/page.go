// Package page writes a PerfRun's result as one HTML page that needs nothing from elsewhere: the verdict, what was asked, figures with
// their tables, and all that the report has. It calls nothing and has no clock.
package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/chart"
	"perfrun.dev/perfrun/internal/rawdata"
	"perfrun.dev/perfrun/internal/report"
)

//go:embed page.html
var source string

var layout = template.Must(template.New("page").Funcs(template.FuncMap{"svg": markup, "lower": strings.ToLower}).Parse(source))

// markup is what internal/chart has drawn; it has escaped all text in it.
func markup(svg string) template.HTML { return template.HTML(svg) } //nolint:gosec // see above

// content of the page.
type content struct {
	Run     *v1alpha1.PerfRun
	Reason  string
	Figures []chart.Figure
	Missing string
	Spec    string
	Parts   []report.Section
	Facts   []fact
	// Colours are the numbers of the series' classes.
	Colours []int
}

// fact is a figure that stands out.
type fact struct{ Name, Value, Note string }

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
	c := content{Run: run, Reason: reason(run), Figures: figures, Missing: missing, Spec: string(spec), Parts: report.Sections(run), Facts: facts(run), Colours: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}
	if err := layout.Execute(w, c); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
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
