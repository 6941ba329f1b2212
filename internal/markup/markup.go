// Package markup gathers HTML pages of one look, for light, dark and paper. Pages are made of parts that nest, tables in figures in sections:
// each is a method that escapes the text that it is given. It calls nothing and has no clock.
package markup

import (
	_ "embed"
	"fmt"
	"html"
	"slices"
	"strings"

	"perfrun.dev/perfrun/internal/chart"
)

// Style of all pages.
//
//go:embed style.css
var Style string

// Builder gathers markup.
type Builder struct{ strings.Builder }

// Add markup as it is. Text that comes from elsewhere belongs into the other methods.
func (b *Builder) Add(markup string) { b.WriteString(markup) }

// Addf adds markup with arguments that are escaped.
func (b *Builder) Addf(format string, args ...any) {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = html.EscapeString(text)
		}
	}
	fmt.Fprintf(b, format, args...)
}

// Text is escaped.
func (b *Builder) Text(text string) { b.Add(html.EscapeString(text)) }

// Element with this text in it. class may be empty.
func (b *Builder) Element(tag, class, text string) {
	b.Add("<" + tag)
	if class != "" {
		b.Addf(` class="%s"`, class)
	}
	b.Addf(">%s</"+tag+">", text)
}

// Open a page up to where its content begins. head is more markup for its head, such as where its style is.
func (b *Builder) Open(title, head string) {
	b.Add(`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">`)
	b.Element("title", "", title)
	b.Add(head + "</head><body>")
}

// Close the page.
func (b *Builder) Close() { b.Add("</body></html>\n") }

// Escape text, for a cell of a Grid.
func Escape(text string) string { return html.EscapeString(text) }

// Link to an address of this page's own server.
func Link(to, text string) string {
	return `<a href="` + html.EscapeString(to) + `">` + html.EscapeString(text) + "</a>"
}

// Grid is a table whose cells are markup. Its first column names the rows.
type Grid struct {
	// Label says what it is a table of, to those who come upon it without seeing what is around it.
	Label string
	// Head is text; it may be nil.
	Head []string
	// IDs of the rows; nil: none.
	IDs  []string
	Rows [][]string
	// Numbers tells which columns are set against their right edge.
	Numbers []bool
}

// Grid that scrolls by itself where it is too wide.
func (b *Builder) Grid(g Grid) {
	b.Addf(`<div class="scroll" role="region" tabindex="0" aria-label="%s"><table>`, g.Label)
	if g.Head != nil {
		b.Add("<thead><tr>")
		for i, cell := range g.Head {
			if cell == "" {
				// An empty corner heads nothing.
				b.Add("<td></td>")
				continue
			}
			b.Addf(`<th scope="col"`+class(g.Numbers, i)+`>%s</th>`, cell)
		}
		b.Add("</tr></thead>")
	}
	b.Add("<tbody>")
	for r, row := range g.Rows {
		if g.IDs != nil {
			b.Addf(`<tr id="%s">`, g.IDs[r])
		} else {
			b.Add("<tr>")
		}
		for i, cell := range row {
			if i == 0 {
				b.Add(`<th scope="row">` + cell + "</th>")
			} else {
				b.Add("<td" + class(g.Numbers, i) + ">" + cell + "</td>")
			}
		}
		b.Add("</tr>")
	}
	b.Add("</tbody></table></div>")
}

// Table of text.
type Table struct {
	Label string
	// Head may be nil.
	Head []string
	Rows [][]string
}

// Table as a grid, with the columns that have numbers set right.
func (b *Builder) Table(t Table) {
	g := Grid{Label: t.Label, Head: t.Head, Numbers: t.numbers()}
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, text := range row {
			cells[i] = Escape(text)
		}
		g.Rows = append(g.Rows, cells)
	}
	b.Grid(g)
}

// numbers tells of each column but the first whether all that is in it begins as numbers do.
func (t Table) numbers() []bool {
	if t.Head == nil || len(t.Rows) == 0 {
		return nil
	}
	all := make([]bool, len(t.Rows[0]))
	for i := 1; i < len(all); i++ {
		some := false
		other := slices.ContainsFunc(t.Rows, func(row []string) bool {
			some = some || row[i] != "" && strings.Contains("0123456789", row[i][:1])
			return row[i] != "" && !strings.Contains("0123456789-+", row[i][:1])
		})
		all[i] = some && !other
	}
	return all
}

func class(numbers []bool, i int) string {
	if i < len(numbers) && numbers[i] {
		return ` class="n"`
	}
	return ""
}

// longTable has more rows than anybody prints.
const longTable = 60

// Figure with its title, description, legend and table.
func (b *Builder) Figure(f chart.Figure) {
	b.Add("<figure>")
	b.Element("h3", "", f.Title)
	b.Element("figcaption", "", f.Description)
	if len(f.Legend) > 0 {
		b.Add(`<ul class="legend">`)
		for _, k := range f.Legend {
			b.Add("<li>" + k.SVG)
			b.Addf("%s</li>", k.Name)
		}
		b.Add("</ul>")
	}
	b.Addf(`<div class="scroll" role="region" tabindex="0" aria-label="%s"><div class="drawn">`, f.Title+", figure")
	b.Add(f.SVG + "</div></div>")
	if len(f.Rows) > longTable {
		b.Add(`<details class="long">`)
	} else {
		b.Add("<details>")
	}
	b.Add("<summary>Table</summary>")
	b.Table(Table{Label: f.Title + ", table", Head: f.Head, Rows: f.Rows})
	b.Add("</details></figure>")
}
