package page

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/rawdata"
)

// sweep is a run of three points as a cluster has measured it, and its raw data.
func sweep(t *testing.T) (*v1alpha1.PerfRun, *rawdata.Document) {
	t.Helper()
	status, err := os.ReadFile("testdata/sweep.json")
	if err != nil {
		t.Fatal(err)
	}
	run := &v1alpha1.PerfRun{}
	if err := json.Unmarshal(status, run); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("testdata/sweep.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := rawdata.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	return run, raw
}

func written(t *testing.T, run *v1alpha1.PerfRun, raw *rawdata.Document, missing string) string {
	t.Helper()
	var out strings.Builder
	if err := Write(&out, run, raw, missing); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var (
	title   = regexp.MustCompile(`<h3>([^<]*)</h3>`)
	image   = regexp.MustCompile(`(?s)<svg role="img".*?</svg>`)
	outside = regexp.MustCompile(`(?i)<script|<link|<iframe|@import|url\(|\s(src|href)=|https?://`)
	ids     = regexp.MustCompile(`\sid="([^"]*)"`)
)

func TestFiguresOfARealRun(t *testing.T) {
	run, raw := sweep(t)
	html := written(t, run, raw, "")
	var titles []string
	for _, m := range title.FindAllStringSubmatch(html, -1) {
		titles = append(titles, m[1])
	}
	want := []string{"What Dapr adds to latency", "Latency against connections, p90", "CPU of the run&#39;s pods", "Memory of the run&#39;s pods", "CPU of the control plane", "Memory of the control plane",
		"Latency by percentile, 2 connections", "Latency by percentile, 4 connections", "Latency by percentile, 8 connections",
		"p90 of each block, 2 connections", "p90 of each block, 4 connections", "p90 of each block, 8 connections",
		"p99 over time", "CPU of the run&#39;s pods over time", "Memory of the run&#39;s pods over time",
		"CPU of the control plane over time", "Memory of the control plane over time"}
	if strings.Join(titles, "\n") != strings.Join(want, "\n") {
		t.Errorf("the figures are %q", titles)
	}
	if strings.Count(html, "<figure>") != strings.Count(html, "<summary>Table</summary>") {
		t.Error("not every figure has a table")
	}
	for _, figure := range []string{`class="verdict succeeded">Succeeded`, ">1.294ms<", ">targetSidecar<", "connections:\n"} {
		if !strings.Contains(html, figure) {
			t.Errorf("%q is not on the page", figure)
		}
	}
}

// TestThePageStandsAlone: nothing is fetched, every image is well-formed and says what it shows, no id is there twice.
func TestThePageStandsAlone(t *testing.T) {
	run, raw := sweep(t)
	html := written(t, run, raw, "")
	if found := outside.FindString(html); found != "" {
		t.Errorf("the page has %q", found)
	}
	seen := map[string]bool{}
	for _, m := range ids.FindAllStringSubmatch(html, -1) {
		if seen[m[1]] {
			t.Errorf("id %q is there twice", m[1])
		}
		seen[m[1]] = true
	}
	images := image.FindAllString(html, -1)
	if len(images) != strings.Count(html, "<figure>") {
		t.Fatalf("%d images for %d figures", len(images), strings.Count(html, "<figure>"))
	}
	for _, svg := range images {
		if !strings.Contains(svg, "<title id=") || !strings.Contains(svg, "<desc id=") || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("image without a title, or with a number that is none: %.300s", svg)
		}
		decoder := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in %.300s", err, svg)
			}
		}
	}
}

func TestWithoutRawData(t *testing.T) {
	run, _ := sweep(t)
	html := written(t, run, nil, "They are gone.")
	if !strings.Contains(html, "They are gone.") || strings.Contains(html, "over time") || strings.Contains(html, "bands reach") || !strings.Contains(html, "What Dapr adds") {
		t.Error("a page without raw data does not say so, or shows what it cannot have")
	}
}

// TestTextIsEscaped: names and messages come from a cluster.
func TestTextIsEscaped(t *testing.T) {
	const evil = `<script>alert(1)</script>"'`
	run, raw := sweep(t)
	run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Message: evil}}
	run.Status.Warnings = []v1alpha1.Reason{{Reason: "X", Message: evil}}
	run.Status.Usage[0].Pod = evil
	run.Status.Usage = append(run.Status.Usage, v1alpha1.Usage{Component: run.Status.Usage[0].Component, Pod: evil + "2", CPU: ptr.To(resource.MustParse("1"))})
	if html := written(t, run, raw, evil); strings.Contains(html, "<script") {
		t.Error("a script got onto the page")
	}
}

func TestRunsWithoutResults(t *testing.T) {
	html := written(t, &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}, nil, "")
	if !strings.Contains(html, "Not looked at yet") || strings.Contains(html, "<figure>") {
		t.Error(html)
	}
}

func TestControlPlane(t *testing.T) {
	part := func(cpu, memory string) []v1alpha1.PartUsage {
		return []v1alpha1.PartUsage{{Component: v1alpha1.ComponentSentry, Pod: "sentry-1", CPU: ptr.To(resource.MustParse(cpu)), CPUTime: &metav1.Duration{Duration: time.Second},
			Memory: ptr.To(resource.MustParse(memory))}, {Component: v1alpha1.ComponentPlacement, Pod: "placement-0", Note: "not read"}}
	}
	html := written(t, &v1alpha1.PerfRun{Status: v1alpha1.PerfRunStatus{ControlPlaneResults: []v1alpha1.ControlPlaneResult{
		{Step: v1alpha1.StepIdle, Parts: part("2m", "40Mi")}, {Step: v1alpha1.StepUp, Pods: 10, Parts: part("30m", "48Mi")}}}}, nil, "")
	for _, want := range []string{"CPU of the control plane in each step", "Memory of the control plane in each step", ">0.03</td>", ">48</td>", ">-</td>"} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
}

func TestThinned(t *testing.T) {
	run, raw := sweep(t)
	readings := &raw.Report.Usage[0].Readings
	last := (*readings)[len(*readings)-1]
	for range 5000 {
		last.Time = last.Time.Add(time.Second)
		last.CPUSeconds += 0.25
		*readings = append(*readings, last)
	}
	if n := strings.Count(written(t, run, raw, ""), ">0.25</td>"); n < 100 || n > mostPoints {
		t.Errorf("%d points of a long run", n)
	}
}
