package page

import (
	stdhtml "html"
	"strings"
)

// html gathers a page. Templates would do it too, but one that a program can run keeps all methods of all its types in the program: 13 MB
// of memory in the operator, which is the same program and writes no page.
type html struct{ strings.Builder }

// add markup as it is.
func (h *html) add(markup string) { h.WriteString(markup) }

// text is escaped.
func (h *html) text(text string) { h.add(stdhtml.EscapeString(text)) }

// element with this text in it. class may be empty.
func (h *html) element(tag, class, text string) {
	h.add("<" + tag)
	if class != "" {
		h.add(` class="` + stdhtml.EscapeString(class) + `"`)
	}
	h.add(">")
	h.text(text)
	h.add("</" + tag + ">")
}

// table whose head may be nil.
func (h *html) table(head []string, rows [][]string) {
	h.add(`<div class="scroll"><table>`)
	if head != nil {
		h.add("<thead><tr>")
		for _, cell := range head {
			h.add(`<th scope="col">`)
			h.text(cell)
			h.add("</th>")
		}
		h.add("</tr></thead>")
	}
	h.add("<tbody>")
	for _, row := range rows {
		h.add("<tr>")
		for _, cell := range row {
			h.element("td", "", cell)
		}
		h.add("</tr>")
	}
	h.add("</tbody></table></div>")
}
