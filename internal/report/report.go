// Package report writes a PerfRun's result as a person wants to read it. It calls nothing and has no clock.
package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/api/meta"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// Write prints the verdict, what it holds for, and the tables of latency and usage.
func Write(w io.Writer, run *v1alpha1.PerfRun) error {
	p := &printer{w: w}
	p.verdict(run)
	p.conditions(run)
	for i := range run.Status.Results {
		p.latency(&run.Status.Results[i])
	}
	p.controlPlane(run)
	p.thresholds(run)
	p.usage(run)
	p.invalidBlocks(run)
	p.notes(run)
	return p.err
}

// printer remembers the first error, so that the tables can be written without looking at each line's.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// table aligns rows; the cells of a row are separated by tabs.
func (p *printer) table(rows []string) {
	if p.err != nil {
		return
	}
	tw := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		if _, p.err = fmt.Fprintln(tw, "  "+r); p.err != nil {
			return
		}
	}
	p.err = tw.Flush()
}

func row(cells ...string) string { return strings.Join(cells, "\t") }

func (p *printer) verdict(run *v1alpha1.PerfRun) {
	c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded)
	if c == nil {
		p.line("PerfRun %s/%s: not looked at yet; is the operator running?", run.Namespace, run.Name)
		return
	}
	p.line("PerfRun %s/%s: %s", run.Namespace, run.Name, run.Status.Phase)
	p.line("  %s: %s", c.Reason, c.Message)
}

func (p *printer) conditions(run *v1alpha1.PerfRun) {
	s, e := run.Status.Settings, run.Status.Environment
	if s == nil {
		return
	}
	p.line("")
	p.line("Conditions")
	if s.ControlPlane != nil {
		p.table(fleetRows(*s, e))
		return
	}
	blocks := "pair(s) of blocks"
	if s.Baseline == v1alpha1.BaselineNone {
		blocks = "block(s) without a baseline"
	}
	var rows []string
	if s.Invocation != nil {
		rows = append(rows, row("path", s.Invocation.Display))
	}
	if s.Actors != nil {
		rows = append(rows, row("actors", actors(*s.Actors)))
	}
	rows = append(rows, row("load", fmt.Sprintf("%d requests/s of %d bytes, %d %s, %s per arm and point, %s warm-up",
		s.RPS, s.PayloadBytes, s.Pairs, blocks, s.Duration.Duration, s.Warmup.Duration)))
	if e == nil {
		p.table(rows)
		return
	}
	rows = append(rows, row("cluster", fmt.Sprintf("Kubernetes %s, Dapr %s", known(e.Kubernetes), known(e.Dapr))))
	if e.Nodes != nil {
		rows = append(rows, row("nodes", fmt.Sprintf("%s, target on %s", testersOn(e.Nodes), e.Nodes.Target)))
	}
	if i := e.Images; i != nil && i.Target != "" && i.Target != i.Perfrun {
		rows = append(rows, row("target", i.Target))
	}
	if e.MTLS != nil {
		rows = append(rows, row("mTLS", onOff(*e.MTLS)+", as seen on the wire"))
	}
	rows = append(rows, row("sampling", fmt.Sprintf("%s asked, %s seen at the target", s.Sampling, known(e.Sampling))))
	rows = append(rows, exported(run.Status.Telemetry)...)
	if !s.Metrics {
		rows = append(rows, row("metrics", "off in the sidecars"))
	}
	limit := "no CPU limit"
	if !s.SidecarCPU.IsZero() {
		limit = s.SidecarCPU.String() + " CPU"
	}
	p.table(append(rows, row("sidecar limit", limit)))
}

// testersOn counts the load testers of each node.
func testersOn(nodes *v1alpha1.Nodes) string {
	if len(nodes.LoadTesters) == 0 {
		return "load tester on " + nodes.LoadTester
	}
	var parts []string
	for _, node := range slices.Compact(slices.Sorted(slices.Values(nodes.LoadTesters))) {
		n := 0
		for _, other := range nodes.LoadTesters {
			if other == node {
				n++
			}
		}
		parts = append(parts, fmt.Sprintf("%d on %s", n, node))
	}
	return fmt.Sprintf("%d load testers (%s)", len(nodes.LoadTesters), strings.Join(parts, ", "))
}

func actors(a v1alpha1.ActorsInForce) string {
	ids := a.IDs.String() + " warm ones in turn"
	if a.Fresh() {
		ids = "a fresh one with each request"
	}
	store := "the sidecar's memory"
	if a.StateStore != "" {
		store = a.StateStore
	}
	host := ""
	if a.Java() {
		host = ", hosted in Java"
	}
	return fmt.Sprintf("%s, method %s%s, state store: %s", ids, a.Method, host, store)
}

func (p *printer) latency(r *v1alpha1.PointResult) {
	p.line("")
	p.line("Latency at %d connections (response time: from the moment a request was due)", r.Connections)
	rows := []string{row("ARM", "P50", "P75", "P90", "P95", "P99", "P99.9", "MEAN", "MAX", "REQUESTS", "ERRORS", "RPS")}
	if r.Baseline != nil {
		rows = append(rows, armRow("Baseline", r.Baseline))
	}
	rows = append(rows, armRow("Dapr", r.Dapr))
	if a := r.Added; a != nil && (a.P50 != nil || a.P90 != nil || a.P99 != nil) {
		rows = append(rows, row("Dapr adds", value(a.P50), "", value(a.P90), "", value(a.P99), "", "", "", "", "", ""))
		if hasInterval(a.P50) || hasInterval(a.P90) || hasInterval(a.P99) {
			rows = append(rows,
				row("  95% from", bound(a.P50, low), "", bound(a.P90, low), "", bound(a.P99, low), "", "", "", "", "", ""),
				row("  95% to", bound(a.P50, high), "", bound(a.P90, high), "", bound(a.P99, high), "", "", "", "", "", ""),
				row("  detectable", bound(a.P50, detectable), "", bound(a.P90, detectable), "", bound(a.P99, detectable), "", "", "", "", "", ""))
		}
	}
	p.table(rows)
	if r.StartSkewMax != nil {
		p.line("  The load testers began each block within %s of each other", r.StartSkewMax)
	}
	p.punctuality("Baseline", r.Baseline)
	p.punctuality("Dapr", r.Dapr)
	if r.Added != nil && r.Added.CPUPer1000RPS != nil {
		p.line("  Both sidecars' CPU for each 1000 requests/s: %s", cpuWithInterval(r.Added.CPUPer1000RPS))
	}
}

// punctuality tells how well the load tester kept its schedule.
func (p *printer) punctuality(name string, a *v1alpha1.ArmResult) {
	if a == nil || a.Lag == nil {
		return
	}
	p.line("  %s: %d requests sent more than 1ms late (lag p99 %s, max %s), %d not sent in time", name, a.Late, quantile(a.Lag.P99), a.Lag.Max, a.Skipped)
}

func cpuWithInterval(a *v1alpha1.AddedCPU) string {
	if a.Low == nil || a.High == nil {
		return cpu(&a.Value)
	}
	return fmt.Sprintf("%s (95%% from %s to %s, detectable %s)", cpu(&a.Value), cpu(a.Low), cpu(a.High), cpu(a.Detectable))
}

func armRow(name string, a *v1alpha1.ArmResult) string {
	if a == nil {
		return row(name, "not measured")
	}
	counts := []string{fmt.Sprint(a.Requests), fmt.Sprint(a.Errors), a.AchievedRPS}
	l := a.Latency
	if l == nil {
		return row(append([]string{name, "-", "-", "-", "-", "-", "-", "-", "-"}, counts...)...)
	}
	return row(append([]string{name, quantile(l.P50), quantile(l.P75), quantile(l.P90), quantile(l.P95), quantile(l.P99), quantile(l.P999),
		l.Mean.String(), l.Max.String()}, counts...)...)
}

func quantile(l *v1alpha1.Latency) string {
	if l == nil {
		return "-"
	}
	return l.String()
}

func value(a *v1alpha1.AddedLatency) string {
	if a == nil {
		return "-"
	}
	return a.Value.String()
}

func hasInterval(a *v1alpha1.AddedLatency) bool { return a != nil && a.Low != nil && a.High != nil }

func low(a *v1alpha1.AddedLatency) *v1alpha1.Latency  { return a.Low }
func high(a *v1alpha1.AddedLatency) *v1alpha1.Latency { return a.High }

func detectable(a *v1alpha1.AddedLatency) *v1alpha1.Latency { return a.Detectable }

func bound(a *v1alpha1.AddedLatency, end func(*v1alpha1.AddedLatency) *v1alpha1.Latency) string {
	if a == nil {
		return "-"
	}
	return quantile(end(a))
}

func known(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
