package chart

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func labels(ticks []Tick) string {
	var all []string
	for _, t := range ticks {
		all = append(all, t.Label)
	}
	return strings.Join(all, " ")
}

func TestTicks(t *testing.T) {
	for name, tc := range map[string]struct {
		axis      Axis
		low, high float64
		want      string
	}{
		"from zero":       {Axis{}, 3, 9.2, "0 2 4 6 8 10"},
		"fractions":       {Axis{}, 0.01, 0.042, "0 0.01 0.02 0.03 0.04 0.05"},
		"below zero too":  {Axis{}, -1.2, 3, "-2 -1 0 1 2 3"},
		"nothing":         {Axis{}, 0, 0, "0 0.2 0.4 0.6 0.8 1"},
		"whole":           {Axis{Whole: true}, 1, 3, "0 1 2 3"},
		"logarithmic":     {Axis{Log: true}, 0.3, 4, "0.2 0.5 1 2 5"},
		"log of one":      {Axis{Log: true}, 10, 10, "10 20"},
		"many powers":     {Axis{Log: true}, 0.01, 900, "0.01 0.1 1 10 100 1000"},
		"time":            {Axis{Tight: true}, 0.5, 121, "0 20 40 60 80 100 120"},
		"no time":         {Axis{Tight: true}, 0, 0, "0 0.2 0.4 0.6 0.8 1"},
		"given with room": {Axis{Ticks: []Tick{{1, "a"}, {2, "b"}}, Pad: 0.5}, 1, 2, "a b"},
		"given by others": {Axis{Ticks: []Tick{{1, "a"}, {2, "b"}}}, 1.2, 1.8, "a b"},
		"given, but one":  {Axis{Ticks: []Tick{{1, "a"}}}, 1, 1, "a"},
	} {
		s, ticks := tc.axis.fit(tc.low, tc.high, 100, 500)
		if got := labels(ticks); got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
		for _, v := range []float64{tc.low, tc.high} {
			if at := s.at(v); math.IsNaN(at) || at < 99.9 || at > 500.1 {
				t.Errorf("%s: %g is at %g", name, v, at)
			}
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1", 12.345: "12.3", 0.0012345: "0.00123", 123456: "123000", -0.5: "-0.5", 99.96: "100"} {
		if got := Number(v); got != want {
			t.Errorf("%g is %s, want %s", v, got, want)
		}
	}
}

func TestXY(t *testing.T) {
	low, high := 1.0, 3.0
	f := XY{Title: "A <b>", X: Axis{Label: "x"}, Y: Axis{Label: "y"}, Spans: []Span{{0, 1}}, Series: []Series{
		{Name: "one", Line: true, Points: []Point{{X: 1, Y: 2, Low: &low, High: &high}, {X: 2, Y: 2, Low: &low, High: &high}}},
		{Name: "two", Points: []Point{{X: 1, Y: 5}, {X: 3, Y: 7, Hollow: true}}},
	}}.Draw("f")
	want := [][]string{{"1", "2 (1 to 3)", "5"}, {"2", "2 (1 to 3)", ""}, {"3", "", "7, not counted"}}
	if !slices.EqualFunc(f.Rows, want, slices.Equal) || !slices.Equal(f.Head, []string{"x", "one", "two"}) || len(f.Legend) != 2 {
		t.Errorf("%q %q", f.Head, f.Rows)
	}
	for part, n := range map[string]int{`class="span"`: 1, "A &lt;b&gt;": 1, "s0 band": 1, "s0 line": 1, "s1 line": 1, "s1 marker": 2, "hollow": 1} {
		if got := strings.Count(f.SVG, part); got != n {
			t.Errorf("%q is there %d times in %s", part, got, f.SVG)
		}
	}
}

func TestGapsAreNotBridged(t *testing.T) {
	f := XY{Series: []Series{{Line: true, Bare: true, Points: []Point{{X: 1, Y: 1}, {X: 2, Y: 1}, {X: 3, Y: 1, Gap: true}, {X: 4, Y: 1}}}}}.Draw("f")
	_, path, _ := strings.Cut(f.SVG, `class="s0 line"`)
	path, _, _ = strings.Cut(path, "/>")
	if strings.Count(path, "M") != 2 || strings.Count(path, "L") != 2 || f.Legend != nil {
		t.Error(path)
	}
}

func TestRows(t *testing.T) {
	low, high := -1.0, 4.0
	f := Rows{X: Axis{Label: "ms"}, Names: []string{"p50", "p90"}, Series: []RowSeries{
		{Name: "a", Values: []*Value{{At: 2, Low: &low, High: &high}, nil}}, {Name: "b", Values: []*Value{nil, {At: 3}}}}}.Draw("f")
	want := [][]string{{"p50", "2 (-1 to 4)", "-"}, {"p90", "-", "3"}}
	if !slices.EqualFunc(f.Rows, want, slices.Equal) || strings.Count(f.SVG, "marker") != 2 || strings.Count(f.SVG, "s0 line") != 1 {
		t.Errorf("%q %s", f.Rows, f.SVG)
	}
}

func TestMarksOfABareLine(t *testing.T) {
	s := Series{Line: true, Bare: true}
	for i := range 400 {
		s.Points = append(s.Points, Point{X: float64(i), Y: 1})
	}
	svg := XY{Series: []Series{s}}.Draw("f").SVG
	if n := strings.Count(svg, "marker"); n < 6 || n > 9 {
		t.Errorf("%d markers on a line of 400 points", n)
	}
}

func TestLongNames(t *testing.T) {
	name := strings.Repeat("long-", 20)
	f := Rows{Names: []string{name}, Series: []RowSeries{{Values: []*Value{{At: 1}}}}}.Draw("f")
	if strings.Contains(f.SVG, ">"+name) || !strings.Contains(f.SVG, "…<") || f.Rows[0][0] != name {
		t.Errorf("a name of %d characters: %s", len(name), f.SVG)
	}
}

func TestIntervalsAndMarks(t *testing.T) {
	low, high := 1.0, 3.0
	svg := XY{Marks: []Mark{{At: 1, Label: "<v2>", Bad: true}}, Series: []Series{{Loose: true, Points: []Point{{X: 0, Y: 2, Low: &low, High: &high}, {X: 2, Y: 2}}}}}.Draw("f").SVG
	for part, n := range map[string]int{"s0 line interval": 1, `class="mark bad"`: 2, "&lt;v2&gt;": 1, "s0 line\"": 0, "s0 band": 0} {
		if got := strings.Count(svg, part); got != n {
			t.Errorf("%q is there %d times in %s", part, got, svg)
		}
	}
}

func TestNothingToShow(t *testing.T) {
	for _, svg := range []string{XY{}.Draw("f").SVG, XY{Series: []Series{{Name: "empty"}}}.Draw("f").SVG, Rows{}.Draw("f").SVG} {
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Error(svg)
		}
	}
}
