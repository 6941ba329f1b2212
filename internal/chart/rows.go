package chart

import (
	"fmt"
	"math"
)

// Rows shows a value for each of several names, one beneath the other, with its interval.
type Rows struct {
	Title, Description string
	X                  Axis
	Names              []string
	Series             []RowSeries
}

// RowSeries has a value for each name; nil where there is none.
type RowSeries struct {
	Name   string
	Values []*Value
}

// Value with the interval around it.
type Value struct {
	At float64
	// Low and High are the ends of its interval; nil: none.
	Low, High *float64
}

// namesWidth is the room for the names.
const namesWidth = 190.0

// Draw the chart. id must be unique on its page.
func (r Rows) Draw(id string) Figure {
	f := Figure{Title: r.Title, Description: r.Description}
	high := top + below + rowHeight*float64(len(r.Names))
	var out canvas
	out.open(id, r.Title, r.Description, high)
	low, most := r.extent()
	x, ticks := r.X.fit(low, most, namesWidth, width-right)
	for _, t := range ticks {
		out.line("grid", x.at(t.At), top, x.at(t.At), high-below)
		out.text("tick", "middle", x.at(t.At), high-below+17, t.Label)
	}
	out.text("label", "middle", (namesWidth+width-right)/2, high-6, r.X.Label)
	names := make([]string, len(r.Series))
	for i, s := range r.Series {
		names[i] = s.Name
	}
	for i, name := range r.Names {
		middle := top + rowHeight*(float64(i)+0.5)
		out.text("tick", "end", namesWidth-10, middle+4, shortened(name))
		out.line("grid", namesWidth, middle, width-right, middle)
		for k, s := range r.Series {
			// Side by side around the middle, or they would hide each other.
			y := middle + (float64(k)-float64(len(r.Series)-1)/2)*8
			s.Values[i].draw(&out, k, x, y)
		}
	}
	out.add("</svg>")
	f.SVG, f.Legend = out.String(), keys(names, nil)
	f.Head, f.Rows = r.table()
	return f
}

// shortened to the room for names; the table has them whole.
func shortened(name string) string {
	const most = 27
	if all := []rune(name); len(all) > most {
		return string(all[:most-1]) + "…"
	}
	return name
}

func (r Rows) extent() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, s := range r.Series {
		for _, v := range s.Values {
			if v == nil {
				continue
			}
			low, high = min(low, v.At), max(high, v.At)
			if v.Low != nil && v.High != nil {
				low, high = min(low, *v.Low), max(high, *v.High)
			}
		}
	}
	if low > high {
		return 0, 1
	}
	return low, high
}

func (v *Value) draw(out *canvas, series int, x scale, y float64) {
	if v == nil {
		return
	}
	if v.Low != nil && v.High != nil {
		from, to := x.at(*v.Low), x.at(*v.High)
		out.add(`<path class="s%d line" d="M%.1f %.1fH%.1fM%.1f %.1fv8M%.1f %.1fv8"/>`, series%colours, from, y, to, from, y-4, to, y-4)
	}
	out.marker(series, x.at(v.At), y, false)
}

func (r Rows) table() (head []string, rows [][]string) {
	head = []string{""}
	for _, s := range r.Series {
		head = append(head, s.Name+", "+r.X.Label)
	}
	for i, name := range r.Names {
		row := []string{name}
		for _, s := range r.Series {
			row = append(row, s.Values[i].cell())
		}
		rows = append(rows, row)
	}
	return head, rows
}

func (v *Value) cell() string {
	switch {
	case v == nil:
		return "-"
	case v.Low == nil || v.High == nil:
		return Number(v.At)
	default:
		return fmt.Sprintf("%s (%s to %s)", Number(v.At), Number(*v.Low), Number(*v.High))
	}
}
