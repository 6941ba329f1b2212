// Package dashboard serves pages about the PerfRuns and PerfSchedules of a cluster, to the one user whose client it is given: what measures, what
// waits, what was found, live. It only reads, with that user's rights, and holds nothing but what is on its pages.
package dashboard

import (
	"context"
	_ "embed"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/markup"
	"perfrun.dev/perfrun/internal/page"
	"perfrun.dev/perfrun/internal/rawdata"
)

//go:embed dashboard.css
var style string

//go:embed dashboard.js
var script string

// Options of a dashboard.
type Options struct {
	// Client with the user's rights.
	Client client.WithWatch
	// Cluster is what the user calls it.
	Cluster string
	// Namespace to look in; empty: all, or Fallback where the user may not see all.
	Namespace, Fallback string
	// Raw reads a finished run's raw data.
	Raw func(context.Context, *v1alpha1.PerfRun) (*rawdata.Document, error)
}

// Dashboard is an http.Handler.
type Dashboard struct {
	options Options
	store   *store
	key     string
	handler http.Handler
}

// New makes a dashboard, which knows nothing before Run.
func New(o Options) *Dashboard {
	d := &Dashboard{options: o, store: newStore(o.Client, o.Namespace, o.Fallback), key: newKey()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", d.page(d.overview))
	mux.HandleFunc("GET /runs/{namespace}/{name}", d.page(d.runPage))
	mux.HandleFunc("GET /schedules/{namespace}/{name}", d.page(d.schedulePage))
	mux.HandleFunc("GET /style.css", file("text/css; charset=utf-8", markup.Style+style))
	mux.HandleFunc("GET /dashboard.js", file("text/javascript; charset=utf-8", script))
	d.handler = guard(d.key, mux)
	return d
}

// Run follows the cluster until the context ends.
func (d *Dashboard) Run(ctx context.Context) { d.store.run(ctx) }

// ServeHTTP answers whoever has the key.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.handler.ServeHTTP(w, r) }

// Address to open, where the dashboard is served on this host and port.
func (d *Dashboard) Address(host string) string {
	return "http://" + host + "/?key=" + url.QueryEscape(d.key)
}

func file(kind, content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(content))
	}
}

// view is what a page is made of.
type view struct {
	// stamp changes when the page does, and tick tells that it does with time alone, as ages do.
	stamp string
	tick  bool
	title string
	// missing: there is no such object.
	missing bool
	// write the page's main part.
	write func(context.Context, *markup.Builder) error
}

// refresh is how often a page is made anew for what changes with time alone. A finished run's is not: its raw data would be read each time.
const refresh = 10 * time.Second

// page answers with a view, or with 304 to a script that has it already.
func (d *Dashboard) page(of func(*http.Request) view) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := of(r)
		hash := fnv.New64a()
		_, _ = fmt.Fprint(hash, v.stamp, d.notes())
		if v.tick {
			_, _ = fmt.Fprint(hash, time.Now().Truncate(refresh).Unix())
		}
		etag := fmt.Sprintf(`"%x"`, hash.Sum64())
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		var b markup.Builder
		b.Open(v.title+" - perfrun", `<link rel="stylesheet" href="/style.css"><link rel="icon" href="data:,"><script src="/dashboard.js" defer></script>`+
			`<noscript><meta http-equiv="refresh" content="5"></noscript>`)
		d.frame(&b)
		if err := v.write(r.Context(), &b); err != nil {
			http.Error(w, "This page cannot be made: "+err.Error(), http.StatusInternalServerError)
			return
		}
		b.Add("</main>")
		b.Close()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if v.missing {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(b.String()))
	}
}

// frame is what all pages begin with.
func (d *Dashboard) frame(b *markup.Builder) {
	b.Add(`<header class="bar"><nav aria-label="Dashboard"><a href="/">perfrun</a>`)
	b.Addf(`<span class="soft">%s</span></nav></header><main>`, d.options.Cluster)
	b.Add(`<p id="gone" class="problem" role="alert" hidden>The dashboard has ended, or cannot be reached: this page is not live any more.</p>`)
	b.Add(`<div id="notes">`)
	for _, n := range d.notes() {
		b.Element("p", "problem", n)
	}
	b.Add("</div>")
}

// runPage is a run's report, with its progress while it is not finished.
func (d *Dashboard) runPage(r *http.Request) view {
	run, ok := one[*v1alpha1.PerfRun](d.store, runs, r.PathValue("namespace"), r.PathValue("name"))
	if !ok {
		return d.nothing(runs, "PerfRun", r)
	}
	return view{stamp: string(run.UID) + run.ResourceVersion, tick: !run.Status.Phase.Finished(), title: page.Title(run), write: func(ctx context.Context, b *markup.Builder) error {
		if !run.Status.Phase.Finished() {
			b.Add(`<div id="progress">` + progress(run, time.Now()) + "</div>")
			return page.Run(b, run, nil, "")
		}
		raw, missing := d.raw(ctx, run)
		return page.Run(b, run, raw, missing)
	}}
}

// raw data of a run that has results, or a sentence about why not.
func (d *Dashboard) raw(ctx context.Context, run *v1alpha1.PerfRun) (*rawdata.Document, string) {
	if len(run.Status.Results) == 0 {
		return nil, ""
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	raw, err := d.options.Raw(ctx, run)
	if err != nil {
		return nil, page.WithoutRaw(err)
	}
	return raw, ""
}

// schedulePage is the trend of a schedule's results.
func (d *Dashboard) schedulePage(r *http.Request) view {
	schedule, ok := one[*v1alpha1.PerfSchedule](d.store, schedules, r.PathValue("namespace"), r.PathValue("name"))
	if !ok {
		return d.nothing(schedules, "PerfSchedule", r)
	}
	results := &v1alpha1.PerfSeries{}
	if ref := schedule.Status.Series; ref != nil {
		if found, ok := one[*v1alpha1.PerfSeries](d.store, series, schedule.Namespace, ref.Name); ok {
			results = found
		}
	}
	stamp := fmt.Sprint(schedule.UID, schedule.ResourceVersion, results.ResourceVersion)
	return view{stamp: stamp, tick: true, title: schedule.Namespace + "/" + schedule.Name, write: func(_ context.Context, b *markup.Builder) error {
		return page.Trend(b, schedule, results, func(name string) string {
			if _, ok := one[*v1alpha1.PerfRun](d.store, runs, schedule.Namespace, name); !ok {
				return ""
			}
			return address("runs", schedule.Namespace, name)
		})
	}}
}

func (d *Dashboard) nothing(k kind, what string, r *http.Request) view {
	listed := d.store.state(k).listed
	return view{stamp: fmt.Sprint(listed), title: what, missing: listed, write: func(_ context.Context, b *markup.Builder) error {
		b.Element("h1", "", what+" "+r.PathValue("namespace")+"/"+r.PathValue("name"))
		if listed {
			b.Element("p", "", "There is none of this name, or not any more.")
		} else {
			b.Element("p", "", "Nothing has been read yet.")
		}
		return nil
	}}
}

func address(kind, namespace, name string) string {
	return "/" + kind + "/" + url.PathEscape(namespace) + "/" + url.PathEscape(name)
}

// succeeded is what the run's condition says.
func succeeded(run *v1alpha1.PerfRun) (reason, message string) {
	if c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		return c.Reason, c.Message
	}
	return "", "waiting for the operator to look at it"
}
