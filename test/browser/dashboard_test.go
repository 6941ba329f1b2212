package browser

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dashboard"
)

// eventually waits a while until an expression in the page is true; what says what it stands for.
func eventually(t *testing.T, in *Tab, what, expression string) {
	t.Helper()
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if evaluate[bool](t, in, expression) {
			return
		}
	}
	t.Fatalf("not within %s: %s; the page has %s", soon, what, evaluate[string](t, in, `document.body.innerText.slice(0, 2000)`))
}

// soon is what "live" means, on a machine that is busy.
const soon = 10 * time.Second

func shows(text string) string {
	return fmt.Sprintf(`(document.body?.innerText ?? "").includes(%q)`, text)
}

func origin(address string) string {
	u, _ := url.Parse(address)
	return "http://" + u.Host
}

func TestOverview(t *testing.T) {
	c := theCluster(t)
	team := c.namespace(t, "team-a")
	other := c.namespace(t, "team-b")
	const long = "a-run-whose-name-is-as-long-as-the-names-of-runs-may-be-and-that-has-to-go-somewhere-all-the-same"
	running := c.run(t, team, "invoke", measuring(37))
	c.run(t, other, "second", waiting(v1alpha1.PhaseQueued, 1, "waiting for team-a/invoke"))
	c.run(t, team, long, waiting(v1alpha1.PhaseQueued, 2, "waiting for team-a/invoke and one more"))
	c.run(t, team, "sweep", finished(t))
	c.regressed(t, team, "nightly")
	address, _ := c.serve(t, c.server.Config, dashboard.Options{})

	in := tab(t)
	must(t, in.Look(light))
	must(t, in.Open(address))
	eventually(t, in, "everything is there", `document.querySelectorAll("tbody tr").length === 5`)
	lookEverywhere(t, address, origin(address))
	if at := evaluate[string](t, in, `location.search`); at != "" {
		t.Errorf("the key is still in the address: %s", at)
	}
	order := evaluate[string](t, in, `[...document.querySelectorAll("#under-way tbody th")].map(e => e.innerText).join(" ")`)
	if order != "invoke second "+long {
		t.Errorf("the order is %s", order)
	}

	// A status that changes shows, the page is not loaded anew, and what has the focus keeps it.
	evaluate[bool](t, in, `window.same = true, document.querySelector("#under-way a").focus(), true`)
	running.Status = measuring(58)
	must(t, c.admin.Status().Update(t.Context(), running))
	eventually(t, in, "58%", `document.querySelector("progress").value === 58`)
	said := evaluate[string](t, in, `document.querySelector("#said").innerText`)
	running.Status = finished(t)
	must(t, c.admin.Status().Update(t.Context(), running))
	eventually(t, in, "the run has finished", `document.querySelectorAll("#finished tbody tr").length === 2`)
	if !evaluate[bool](t, in, `window.same`) {
		t.Error("the page was loaded anew")
	}
	if now := evaluate[string](t, in, `document.querySelector("#said").innerText`); !strings.HasPrefix(said, "invoke is under way, 2 waiting") || now == said {
		t.Errorf("%q is said, then %q", said, now)
	}

	// Of one namespace.
	must(t, in.Open(origin(address)+"/?namespace=team-b"))
	if !evaluate[bool](t, in, shows("second")) || evaluate[bool](t, in, shows("nightly")) {
		t.Error("the filter shows the wrong namespace")
	}
	// A report and a trend are a click away.
	must(t, in.Open(origin(address)+"/"))
	evaluate[bool](t, in, `document.querySelector("#finished a").click(), true`)
	eventually(t, in, "a report", `location.pathname.startsWith("/runs/team-a/") && document.querySelectorAll("figure").length > 10`)
	if problems := in.Problems(); len(problems) > 0 {
		t.Errorf("the console says %q", problems)
	}
	look(t, address+"&namespace=none", origin(address), "phone", phone)
	look(t, strings.Replace(address, "/?", "/runs/team-a/sweep?", 1), origin(address), "dark", dark)
	look(t, strings.Replace(address, "/?", "/schedules/team-a/nightly?", 1), origin(address), "light", light)

	must(t, in.Open(origin(address)+"/schedules/team-a/nightly"))
	for _, text := range []string{"added.p99, 8 connections", "Regression", "nightly-20", "1.17.0 -> 1.18.0"} {
		eventually(t, in, text, shows(text))
	}
	// Without scripts it loads itself anew.
	must(t, in.Look(View{Width: 1100, Height: 900, NoScript: true}))
	must(t, in.Open(origin(address)+"/"))
	if !evaluate[bool](t, in, `!!document.querySelector("meta[http-equiv=refresh]") && document.querySelectorAll("tbody tr").length === 5`) {
		t.Error("without scripts the page is not whole, or does not load itself anew")
	}
}

func TestManyRuns(t *testing.T) {
	c := theCluster(t)
	many := c.namespace(t, "many")
	for i := range 105 {
		c.run(t, many, fmt.Sprintf("run-%03d", i), v1alpha1.PerfRunStatus{Phase: v1alpha1.PhaseSucceeded,
			CompletionTime: &metav1.Time{Time: time.Now().Add(-time.Duration(i) * time.Minute)}})
	}
	address, _ := c.serve(t, c.server.Config, dashboard.Options{Namespace: many})
	in := tab(t)
	must(t, in.Open(address))
	eventually(t, in, "a page of the newest", `document.querySelectorAll("#finished tbody tr").length === 100 && document.querySelector("#finished tbody th").innerText === "run-000"`)
	must(t, in.Open(origin(address)+"/?page=2"))
	eventually(t, in, "the oldest", `document.querySelectorAll("#finished tbody tr").length === 5 && !document.querySelector("nav a[href*='page=3']")`)
}

// TestWithoutTheAPIServer: the page says since when, keeps what it has, and goes on.
func TestWithoutTheAPIServer(t *testing.T) {
	c := theCluster(t)
	away := c.namespace(t, "away")
	run := c.run(t, away, "invoke", measuring(10))
	address, l := c.serve(t, c.server.Config, dashboard.Options{Namespace: away})
	in := tab(t)
	must(t, in.Look(light))
	must(t, in.Open(address))
	eventually(t, in, "a run", shows("invoke"))
	l.cut()
	eventually(t, in, "that the API server is away", shows("has not answered since")+"&&"+shows("invoke"))
	run.Status = measuring(80)
	must(t, c.admin.Status().Update(t.Context(), run))
	l.mend()
	eventually(t, in, "it goes on", `document.querySelector("progress").value === 80 && !`+shows("has not answered"))
}

func TestFewRights(t *testing.T) {
	c := theCluster(t)
	mine := c.namespace(t, "mine")
	c.run(t, mine, "invoke", measuring(10))
	address, _ := c.serve(t, c.user(t, "limited", mine), dashboard.Options{Fallback: mine})
	in := tab(t)
	must(t, in.Open(address))
	eventually(t, in, "one namespace, and why", shows("You may not list PerfRuns in all namespaces")+"&&"+shows("invoke"))
	address, _ = c.serve(t, c.user(t, "nobody", ""), dashboard.Options{Fallback: mine})
	must(t, in.Open(address))
	eventually(t, in, "which right is missing", shows("You may not list and watch PerfRuns in namespace mine"))
	look(t, address, origin(address), "light", light)
}

// TestFromAFile: --open leads the browser there by a file, and the key's cookie is sent all the same.
func TestFromAFile(t *testing.T) {
	c := theCluster(t)
	door := c.namespace(t, "door")
	c.run(t, door, "invoke", measuring(10))
	address, _ := c.serve(t, c.server.Config, dashboard.Options{Namespace: door})
	path := filepath.Join(t.TempDir(), "door.html")
	must(t, os.WriteFile(path, []byte(`<!doctype html><meta http-equiv="refresh" content="0; url=`+address+`">`), 0o600))
	in := tab(t)
	must(t, in.Open("file://"+path))
	eventually(t, in, "the dashboard", `location.protocol === "http:" && `+shows("invoke"))
}
