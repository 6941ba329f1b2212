package browser

import (
	_ "embed"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// chromium is shared by the tests of this package; it takes a second to start.
var chromium *Browser

func TestMain(m *testing.M) {
	b, stop, err := Start()
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	chromium = b
	code := m.Run()
	stop()
	stopServer()
	os.Exit(code)
}

func tab(t *testing.T) *Tab {
	t.Helper()
	tab, err := chromium.Tab()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tab.Close)
	return tab
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

//go:embed inspect.js
var inspectScript string

// found is what inspect.js says of a page.
type found struct {
	// Width that the page takes, of that which it has.
	Width, Inner int
	// Background and ink as r, g, b.
	Background, Ink []float64
	// Figures on the page, and what is wrong with them.
	Figures int
	Wrong   []string
	// Headings in their order.
	Headings []string
	// Tables that are shown, and those that belong to a figure and are long.
	Shown, Long, LongShown int
}

func inspect(t *testing.T, in *Tab) found { return evaluate[found](t, in, inspectScript) }

func evaluate[T any](t *testing.T, in *Tab, expression string) T {
	t.Helper()
	value, err := Evaluate[T](in, expression)
	must(t, err)
	return value
}

var (
	light = View{Width: 1100, Height: 900}
	dark  = View{Width: 1100, Height: 900, Dark: true}
	phone = View{Width: 360, Height: 740}
	paper = View{Width: 794, Height: 1123, Print: true, Dark: true}
)

// lookEverywhere opens a page as different readers do.
func lookEverywhere(t *testing.T, address, origin string) {
	t.Helper()
	for name, v := range map[string]View{"light": light, "dark": dark, "phone": phone, "paper": paper} {
		look(t, address, origin, name, v)
	}
}

// look at a page, and check what holds for all of them. Requests may go to addresses that begin with origin.
func look(t *testing.T, address, origin, name string, v View) {
	t.Helper()
	in := tab(t)
	must(t, in.Look(v))
	must(t, in.Open(address))
	f := inspect(t, in)
	if f.Width > f.Inner {
		t.Errorf("%s: the page is %d wide where there is room for %d", name, f.Width, f.Inner)
	}
	if isDark := brightness(f.Background) < 60 && brightness(f.Ink) > 180; isDark != (name == "dark") {
		t.Errorf("%s: %v on %v", name, f.Ink, f.Background)
	}
	if len(f.Wrong) > 0 {
		t.Errorf("%s: %s", name, strings.Join(f.Wrong, "\n"))
	}
	if v.Print && f.LongShown > 0 {
		t.Errorf("%d tables with a row for each second are printed", f.LongShown)
	}
	if v.Print && f.Shown < f.Figures-f.Long {
		t.Errorf("%d tables are printed, for %d figures of which %d have a long one", f.Shown, f.Figures, f.Long)
	}
	if !v.Print {
		accessible(t, in, name)
	}
	keep(t, in, address, name)
	if problems := in.Problems(); len(problems) > 0 {
		t.Errorf("the console says %q", problems)
	}
	if elsewhere := in.Elsewhere(origin); len(elsewhere) > 0 {
		t.Errorf("requests to elsewhere: %q", elsewhere)
	}
}

// keep a picture of the page, where PICTURES names a folder for them: some things only an eye sees.
func keep(t *testing.T, in *Tab, address, name string) {
	t.Helper()
	folder := os.Getenv("PICTURES")
	if folder == "" {
		return
	}
	image, err := in.FullPNG()
	must(t, err)
	u, err := url.Parse(address)
	must(t, err)
	what := strings.ReplaceAll(u.Path, "/", "-") + u.Query().Get("namespace")
	must(t, os.WriteFile(filepath.Join(folder, t.Name()+what+"-"+name+".png"), image, 0o600))
}

func brightness(rgb []float64) float64 {
	return 0.299*rgb[0] + 0.587*rgb[1] + 0.114*rgb[2]
}

// accessible runs axe-core, all of its rules.
func accessible(t *testing.T, in *Tab, name string) {
	t.Helper()
	path := os.Getenv("AXE")
	if path == "" {
		t.Fatal("AXE does not say where axe-core is: `make test` sees to it with hack/browser.sh")
	}
	script, err := os.ReadFile(path)
	must(t, err)
	evaluate[int](t, in, string(script)+"\n;0")
	result := evaluate[struct {
		Passes     int
		Violations []string
	}](t, in, `axe.run().then(r => ({Passes: r.passes.length,
		Violations: r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + " " + n.failureSummary).join("; "))}))`)
	if result.Passes < 10 {
		t.Errorf("%s: axe-core has looked at %d rules only", name, result.Passes)
	}
	slices.Sort(result.Violations)
	for _, v := range result.Violations {
		t.Errorf("%s: %s", name, v)
	}
}
