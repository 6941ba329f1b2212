// Package chart draws figures as SVG that belongs into an HTML page: readable in light and dark, on paper, without colours, and by those
// who cannot see it, with a title, a description and a table of the same figures. It knows nothing of what it shows.
//
// Colours are classes, s0 to s9, that the page gives a stroke and a fill; markers and dashes tell series apart without them.
package chart

import (
	"fmt"
	"html"
	"strings"
)

// The size of a chart in its own units; on the page it is as wide as there is room.
const (
	width, height           = 720.0, 296.0
	left, right, top, below = 64.0, 16.0, 20.0, 44.0
	rowHeight               = 30.0
)

// colours that series have; more of them begin again, with other markers and dashes.
const colours = 10

// Axis of a chart.
type Axis struct {
	// Label with the unit.
	Label string
	// Log is for a logarithmic axis; all values must then be positive.
	Log bool
	// Ticks at fixed places; nil: where they fit.
	Ticks []Tick
	// Pad is the room beside the first and the last of these ticks.
	Pad float64
	// Tight axes end with the last value, as those of time do; others end with a tick.
	Tight bool
	// Whole: values are whole numbers, and so are ticks.
	Whole bool
	// Format writes a value in the table; nil: Number.
	Format func(float64) string
}

func (a Axis) format(v float64) string {
	if a.Format == nil {
		return Number(v)
	}
	return a.Format(v)
}

// Tick is a mark on an axis.
type Tick struct {
	At    float64
	Label string
}

// Figure is a drawn chart.
type Figure struct {
	Title, Description string
	// SVG is markup; all text in it is escaped.
	SVG string
	// Legend has an entry for each series, if there are several.
	Legend []Key
	// Head and Rows are the table of what is shown.
	Head []string
	Rows [][]string
}

// Key is an entry of a legend.
type Key struct {
	Name string
	// SVG is a sample of the series' line and marker.
	SVG string
}

// canvas gathers markup.
type canvas struct{ strings.Builder }

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(c, format, args...) }

// text is written with its anchor (start, middle or end) at x, y.
func (c *canvas) text(class, anchor string, x, y float64, text string) {
	c.add(`<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`, class, anchor, x, y, html.EscapeString(text))
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.add(`<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

// open begins an image of this height. id must be unique on its page.
func (c *canvas) open(id, title, description string, high float64) {
	c.add(`<svg role="img" viewBox="0 0 %g %g" aria-labelledby="%s-title %s-description">`, width, high, id, id)
	c.add(`<title id="%s-title">%s</title><desc id="%s-description">%s</desc>`, id, html.EscapeString(title), id, html.EscapeString(description))
}

// marker of a series around x, y. Hollow ones stand for what is shown and not counted.
func (c *canvas) marker(series int, x, y float64, hollow bool) {
	class := fmt.Sprintf("s%d marker", series%colours)
	if hollow {
		class += " hollow"
	}
	c.add(`<path class="%s" d="M%.1f %.1f%s"/>`, class, x, y, [...]string{
		"m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",  // circle
		"m-3.5 -3.5h7v7h-7z",                             // square
		"m0 -4.5l4.5 8h-9z",                              // triangle
		"m0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",            // diamond
		"m0 4.5l4.5 -8h-9z",                              // triangle upside down
		"m-1.2 -4.2h2.4v3h3v2.4h-3v3h-2.4v-3h-3v-2.4h3z", // cross
		"m-4.5 -1.5h9v3h-9z",                             // bar
	}[series%7])
}

// dashes of a series' line.
func dashes(series int) string {
	return [...]string{"", "6 3", "2 3", "8 3 2 3", "4 2 1 2"}[series%5]
}

// keys of several series; lines has the dashes of each series' line, and none for one without a line.
func keys(names []string, lines map[int]string) []Key {
	if len(names) < 2 {
		return nil
	}
	all := make([]Key, len(names))
	for i, name := range names {
		var c canvas
		c.add(`<svg class="key" viewBox="0 0 28 12" aria-hidden="true">`)
		if dashes, ok := lines[i]; ok {
			c.add(`<path class="s%d line" stroke-dasharray="%s" d="M1 6H27"/>`, i%colours, dashes)
		}
		c.marker(i, 14, 6, false)
		c.add(`</svg>`)
		all[i] = Key{name, c.String()}
	}
	return all
}
