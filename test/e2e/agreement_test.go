package e2e

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// rounds is how often Fortio may measure until it agrees. What else the machine does makes one of them differ now and then; a wrong unit,
// a wrong path or an arm that is not what it says differs each time.
const rounds = 3

// fortioAgrees measures the same two paths with someone else's tool. At half the rate of the published test: on a small machine the sidecars
// reach their limit of CPU at 1000 requests/s, and two measurements of one and the same thing then differ by more than is allowed here.
func fortioAgrees() {
	It("agrees with stock Fortio", func(ctx SpecContext) {
		if os.Getenv(fortioImage) == "" {
			Skip(fortioImage + " names no image of Fortio that the cluster can run; `make e2e` builds one for the local cluster, elsewhere fortio/fortio will do")
		}
		run := perfRun(cluster.newNamespace(ctx), "agreement", exclusive, load(500, 16), blocks(2, 6*time.Second, 3*time.Second), kept)
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitMeasured(ctx, run, preparing+2*time.Minute)

		// Both are there before either is driven, so that no pod starts during a measurement.
		plain, beside := startFortio(ctx, run, "fortio", false), startFortio(ctx, run, "fortio-dapr", true)
		baselineURL, daprURL := fortioURLs(run)
		const warmup, duration = 2 * time.Second, 8 * time.Second
		var differences []string
		for range rounds {
			plain.load(ctx, run, baselineURL, warmup)
			baseline := plain.load(ctx, run, baselineURL, duration)
			beside.load(ctx, run, daprURL, warmup)
			dapr := beside.load(ctx, run, daprURL, duration)
			AddReportEntry("perfrun beside stock Fortio", sideBySide(run, baseline, dapr))
			if differences = disagreements(run, baseline, dapr); len(differences) == 0 {
				break
			}
		}
		Expect(differences).To(BeEmpty(), "after %d rounds", rounds)
	}, SpecTimeout(6*time.Minute))
}

// disagreements tells what differs by more than a factor and a bit.
func disagreements(run *v1alpha1.PerfRun, baseline, dapr fortioResult) []string {
	point := run.Status.Results[0]
	// Fortio's latency is from the actual send, as service time is. Response time is longer by the time that requests wait for their
	// connection, which on a busy machine is much.
	without, with := point.Baseline.ServiceTime.P50.Duration, point.Dapr.ServiceTime.P50.Duration
	var out []string
	compare := func(what string, ours, theirs time.Duration, factor float64, slack time.Duration) {
		most := func(d time.Duration) time.Duration { return time.Duration(factor*float64(d)) + slack }
		if ours > most(theirs) || theirs > most(ours) {
			out = append(out, fmt.Sprintf("%s: perfrun %s, Fortio %s", what, show(ours), show(theirs)))
		}
	}
	compare("baseline p50", without, baseline.at(50), 2, 300*time.Microsecond)
	compare("Dapr p50", with, dapr.at(50), 2, 300*time.Microsecond)
	compare("added p50", with-without, dapr.at(50)-baseline.at(50), 2.5, 500*time.Microsecond)
	return out
}

func sideBySide(run *v1alpha1.PerfRun, baseline, dapr fortioResult) string {
	point, settings := run.Status.Results[0], run.Status.Settings
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d requests/s of %d bytes over %d connections\n", settings.RPS, settings.PayloadBytes, settings.Connections[0])
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tp50\tp90\tp99\trate\t")
	ours := func(name string, l *v1alpha1.LatencySummary, rate string) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t\n", name, l.P50, l.P90, l.P99, rate)
	}
	theirs := func(name string, r fortioResult) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.1f\t\n", name, show(r.at(50)), show(r.at(90)), show(r.at(99)), r.ActualQPS)
	}
	ours("Baseline, perfrun, response time", point.Baseline.Latency, point.Baseline.AchievedRPS)
	ours("Baseline, perfrun, service time", point.Baseline.ServiceTime, point.Baseline.AchievedRPS)
	theirs("Baseline, Fortio", baseline)
	ours("Dapr, perfrun, response time", point.Dapr.Latency, point.Dapr.AchievedRPS)
	ours("Dapr, perfrun, service time", point.Dapr.ServiceTime, point.Dapr.AchievedRPS)
	theirs("Dapr, Fortio", dapr)
	fmt.Fprintf(w, "Added, perfrun, response time\t%s\t%s\t%s\t\t\n", point.Added.P50.Value, point.Added.P90.Value, point.Added.P99.Value)
	with, without := point.Dapr.ServiceTime, point.Baseline.ServiceTime
	fmt.Fprintf(w, "Added, perfrun, service time\t%s\t%s\t%s\t\t\n",
		show(with.P50.Duration-without.P50.Duration), show(with.P90.Duration-without.P90.Duration), show(with.P99.Duration-without.P99.Duration))
	fmt.Fprintf(w, "Added, Fortio\t%s\t%s\t%s\t\t\n",
		show(dapr.at(50)-baseline.at(50)), show(dapr.at(90)-baseline.at(90)), show(dapr.at(99)-baseline.at(99)))
	_ = w.Flush() // into memory
	return b.String()
}

func show(d time.Duration) string { return v1alpha1.NewLatency(d).String() }
