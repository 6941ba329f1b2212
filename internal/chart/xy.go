package chart

import (
	"fmt"
	"html"
	"maps"
	"math"
	"slices"
	"strings"
)

// XY shows series of values over a common axis.
type XY struct {
	Title, Description string
	X, Y               Axis
	Series             []Series
	// Spans of x are shaded.
	Spans []Span
	// Marks are lines across at some x.
	Marks []Mark
}

// Series is one of several in a chart.
type Series struct {
	Name string
	// Points in the order of X.
	Points []Point
	// Line connects the points; otherwise they stand alone, with their median as a line across.
	Line bool
	// Loose points have no median.
	Loose bool
	// Bare lines have too many points for a marker each: a few along the line tell which it is.
	Bare bool
}

// Point of a series.
type Point struct {
	X, Y float64
	// Low and High are the ends of a band around Y, or of an interval where no line connects the points; nil: none.
	Low, High *float64
	// Hollow: shown, but not counted.
	Hollow bool
	// Gap: nothing connects this point with the one before.
	Gap bool
}

// Span is a part of the X axis.
type Span struct{ From, To float64 }

// Mark is a line across the chart with a few characters above it.
type Mark struct {
	At    float64
	Label string
	// Bad marks stand out.
	Bad bool
}

// Draw the chart. id must be unique on its page.
func (c XY) Draw(id string) Figure {
	f := Figure{Title: c.Title, Description: c.Description}
	var out canvas
	out.open(id, c.Title, c.Description, height)
	lowX, highX, lowY, highY := c.extent()
	x, xTicks := c.X.fit(lowX, highX, left, width-right)
	y, yTicks := c.Y.fit(lowY, highY, height-below, top)
	c.frame(&out, x, y, xTicks, yTicks)
	names, lines := make([]string, len(c.Series)), map[int]string{}
	for i, s := range c.Series {
		s.draw(&out, i, x, y)
		names[i] = s.Name
		if s.Line {
			lines[i] = s.dashes(i)
		}
	}
	out.add("</svg>")
	f.SVG, f.Legend = out.String(), keys(names, lines)
	f.Head, f.Rows = c.table()
	return f
}

// frame is all but the series.
func (c XY) frame(out *canvas, x, y scale, xTicks, yTicks []Tick) {
	for _, s := range c.Spans {
		from, to := max(x.at(s.From), left), min(x.at(s.To), width-right)
		out.add(`<rect class="span" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, from, top, to-from, height-below-top)
	}
	for _, t := range yTicks {
		out.line("grid", left, y.at(t.At), width-right, y.at(t.At))
		out.text("tick", "end", left-6, y.at(t.At)+4, t.Label)
	}
	for _, t := range xTicks {
		out.line("axis", x.at(t.At), height-below, x.at(t.At), height-below+4)
		out.text("tick", "middle", x.at(t.At), height-below+17, t.Label)
	}
	out.line("axis", left, height-below, width-right, height-below)
	out.text("label", "middle", (left+width-right)/2, height-6, c.X.Label)
	out.add(`<text class="label" text-anchor="middle" transform="translate(14 %.1f) rotate(-90)">%s</text>`, (top+height-below)/2, html.EscapeString(c.Y.Label))
	for _, m := range c.Marks {
		class := "mark"
		if m.Bad {
			class += " bad"
		}
		out.line(class, x.at(m.At), top, x.at(m.At), height-below)
		out.text(class, "middle", x.at(m.At), top-6, m.Label)
	}
}

// extent of all points and bands.
func (c XY) extent() (lowX, highX, lowY, highY float64) {
	lowX, lowY, highX, highY = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, s := range c.Series {
		for _, p := range s.Points {
			lowX, highX = min(lowX, p.X), max(highX, p.X)
			lowY, highY = min(lowY, p.Y), max(highY, p.Y)
			if p.Low != nil && p.High != nil {
				lowY, highY = min(lowY, *p.Low), max(highY, *p.High)
			}
		}
	}
	if lowX > highX {
		return 0, 1, 0, 1
	}
	return lowX, highX, lowY, highY
}

func (s Series) draw(out *canvas, index int, x, y scale) {
	if s.Line {
		s.band(out, index, x, y)
		var d strings.Builder
		for i, p := range s.Points {
			verb := "L"
			if i == 0 || p.Gap {
				verb = "M"
			}
			fmt.Fprintf(&d, "%s%.1f %.1f", verb, x.at(p.X), y.at(p.Y))
		}
		out.add(`<path class="s%d line" stroke-dasharray="%s" d="%s"/>`, index%colours, s.dashes(index), d.String())
	} else {
		s.intervals(out, index, x, y)
		if m, ok := s.median(); ok && !s.Loose {
			out.add(`<path class="s%d line" stroke-dasharray="%s" d="M%.1f %.1fH%.1f"/>`, index%colours, dashes(index), left, y.at(m), width-right)
		}
	}
	// On a bare line at eighths of the chart, those of each series a little further on.
	const apart = (width - left - right) / 8
	next := left + apart*(0.3+0.17*float64(index%5))
	for _, p := range s.Points {
		at := x.at(p.X)
		if s.Bare && at < next {
			continue
		}
		out.marker(index, at, y.at(p.Y), p.Hollow)
		next = max(next+apart, at+apart/2)
	}
}

// dashes of the series' line. A bare line goes up and down too much for them: its gaps would look like gaps in what was measured.
func (s Series) dashes(index int) string {
	if s.Bare {
		return ""
	}
	return dashes(index)
}

// intervals of points that stand alone.
func (s Series) intervals(out *canvas, index int, x, y scale) {
	var d strings.Builder
	for _, p := range s.Points {
		if p.Low != nil && p.High != nil {
			fmt.Fprintf(&d, "M%.1f %.1fV%.1f", x.at(p.X), y.at(*p.Low), y.at(*p.High))
		}
	}
	if d.Len() > 0 {
		out.add(`<path class="s%d line interval" d="%s"/>`, index%colours, d.String())
	}
}

// band between the points' ends, if all have them.
func (s Series) band(out *canvas, index int, x, y scale) {
	if len(s.Points) < 2 || slices.ContainsFunc(s.Points, func(p Point) bool { return p.Low == nil || p.High == nil }) {
		return
	}
	var d strings.Builder
	for i, p := range s.Points {
		verb := "L"
		if i == 0 {
			verb = "M"
		}
		fmt.Fprintf(&d, "%s%.1f %.1f", verb, x.at(p.X), y.at(*p.High))
	}
	for _, p := range slices.Backward(s.Points) {
		fmt.Fprintf(&d, "L%.1f %.1f", x.at(p.X), y.at(*p.Low))
	}
	out.add(`<path class="s%d band" d="%sz"/>`, index%colours, d.String())
}

// median of the points that count.
func (s Series) median() (float64, bool) {
	var all []float64
	for _, p := range s.Points {
		if !p.Hollow {
			all = append(all, p.Y)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2, true
}

// table has a row for each place on the X axis.
func (c XY) table() (head []string, rows [][]string) {
	head = []string{c.X.Label}
	byX := map[float64][]string{}
	for _, s := range c.Series {
		head = append(head, s.Name)
		for _, p := range s.Points {
			byX[p.X] = nil
		}
	}
	for i, s := range c.Series {
		for _, p := range s.Points {
			row := byX[p.X]
			if row == nil {
				row = make([]string, len(head))
				row[0] = c.X.format(p.X)
			}
			row[i+1] = p.cell()
			byX[p.X] = row
		}
	}
	for _, x := range slices.Sorted(maps.Keys(byX)) {
		rows = append(rows, byX[x])
	}
	return head, rows
}

func (p Point) cell() string {
	text := Number(p.Y)
	if p.Low != nil && p.High != nil {
		text += fmt.Sprintf(" (%s to %s)", Number(*p.Low), Number(*p.High))
	}
	if p.Hollow {
		text += ", not counted"
	}
	return text
}
