// Package report writes a PerfRun's result as a person wants to read it. It calls nothing and has no clock.
package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// Write prints the verdict, what it holds for, and the tables of latency and usage.
func Write(w io.Writer, run *v1alpha1.PerfRun) error {
	if _, err := fmt.Fprintln(w, Verdict(run)); err != nil {
		return err
	}
	for _, s := range Sections(run) {
		if err := s.Write(w); err != nil {
			return err
		}
	}
	return nil
}

// Verdict is what the run has come to, and why: two lines.
func Verdict(run *v1alpha1.PerfRun) string {
	c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded)
	if c == nil {
		return fmt.Sprintf("PerfRun %s/%s: not looked at yet; is the operator running?", run.Namespace, run.Name)
	}
	return fmt.Sprintf("PerfRun %s/%s: %s\n  %s: %s", run.Namespace, run.Name, run.Status.Phase, c.Reason, c.Message)
}

// conditions are those that the figures hold under.
func conditions(run *v1alpha1.PerfRun) []Section {
	s, e := run.Status.Settings, run.Status.Environment
	if s == nil {
		return nil
	}
	out := Section{Title: "Conditions"}
	if s.ControlPlane != nil {
		out.Rows = fleetRows(*s, e)
		return []Section{out}
	}
	blocks := "pair(s) of blocks"
	if s.Baseline == v1alpha1.BaselineNone {
		blocks = "block(s) without a baseline"
	}
	if s.Invocation != nil {
		out.row("path", s.Invocation.Display)
	}
	if s.Actors != nil {
		out.row("actors", actors(*s.Actors))
	}
	out.row("load", fmt.Sprintf("%d requests/s of %d bytes, %d %s, %s per arm and point, %s warm-up",
		s.RPS, s.PayloadBytes, s.Pairs, blocks, s.Duration.Duration, s.Warmup.Duration))
	if e != nil {
		out.Rows = append(out.Rows, observed(run, *s, e)...)
	}
	return []Section{out}
}

// observed is what the run was seen to have.
func observed(run *v1alpha1.PerfRun, s v1alpha1.Settings, e *v1alpha1.Environment) [][]string {
	rows := [][]string{row("cluster", fmt.Sprintf("Kubernetes %s, Dapr %s", known(e.Kubernetes), known(e.Dapr)))}
	if e.Nodes != nil {
		rows = append(rows, row("nodes", testersOn(e.Nodes)+", "+targetsOn(e.Nodes)))
	}
	rows = append(rows, hostRows(run.Status.ActorHosts)...)
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
	return append(rows, row("sidecar limit", limit))
}

// testersOn counts the load testers of each node.
func testersOn(nodes *v1alpha1.Nodes) string {
	if len(nodes.LoadTesters) == 0 {
		return "load tester on " + nodes.LoadTester
	}
	return fmt.Sprintf("%d load testers (%s)", len(nodes.LoadTesters), perNode(nodes.LoadTesters))
}

// targetsOn counts the actor hosts of each node, where there are several.
func targetsOn(nodes *v1alpha1.Nodes) string {
	if len(nodes.Targets) == 0 {
		return "target on " + nodes.Target
	}
	return fmt.Sprintf("%d actor hosts (%s)", len(nodes.Targets), perNode(nodes.Targets))
}

func perNode(nodes []string) string {
	var parts []string
	for _, node := range slices.Compact(slices.Sorted(slices.Values(nodes))) {
		n := 0
		for _, other := range nodes {
			if other == node {
				n++
			}
		}
		parts = append(parts, fmt.Sprintf("%d on %s", n, node))
	}
	return strings.Join(parts, ", ")
}

// hostRows tell how the calls were spread over several actor hosts.
func hostRows(hosts []v1alpha1.HostCalls) [][]string {
	var all int64
	for _, h := range hosts {
		all += ptr.Deref(h.Calls, 0)
	}
	var rows [][]string
	for _, h := range hosts {
		calls := "calls not counted"
		if h.Calls != nil && all > 0 {
			calls = fmt.Sprintf("%d calls, %.0f%%", *h.Calls, 100*float64(*h.Calls)/float64(all))
		}
		rows = append(rows, row("actor host", fmt.Sprintf("%s: %s", h.Pod, calls)))
	}
	return rows
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
	if a.Replicas > 1 {
		host += fmt.Sprintf(", %d hosts", a.Replicas)
	}
	if a.Rebalance {
		host += ", one more joining and leaving"
	}
	return fmt.Sprintf("%s, method %s%s, state store: %s", ids, a.Method, host, store)
}

func latency(r *v1alpha1.PointResult) Section {
	s := Section{
		Title: fmt.Sprintf("Latency at %d connections (response time: from the moment a request was due)", r.Connections),
		Head:  row("ARM", "P50", "P75", "P90", "P95", "P99", "P99.9", "MEAN", "MAX", "REQUESTS", "ERRORS", "RPS"),
	}
	if r.Baseline != nil {
		s.Rows = append(s.Rows, armRow("Baseline", r.Baseline))
	}
	s.Rows = append(s.Rows, armRow("Dapr", r.Dapr))
	if a := r.Added; a != nil && (a.P50 != nil || a.P90 != nil || a.P99 != nil) {
		s.Rows = append(s.Rows, addedRow("Dapr adds", a, value))
		if hasInterval(a.P50) || hasInterval(a.P90) || hasInterval(a.P99) {
			s.Rows = append(s.Rows, addedRow("  95% from", a, low), addedRow("  95% to", a, high), addedRow("  detectable", a, detectable))
		}
	}
	if r.StartSkewMax != nil {
		s.note("The load testers began each block within %s of each other", r.StartSkewMax)
	}
	s.punctuality("Baseline", r.Baseline)
	s.punctuality("Dapr", r.Dapr)
	if r.Added != nil && r.Added.CPUPer1000RPS != nil {
		s.note("Both sidecars' CPU for each 1000 requests/s: %s", cpuWithInterval(r.Added.CPUPer1000RPS))
	}
	return s
}

// punctuality tells how well the load tester kept its schedule.
func (s *Section) punctuality(name string, a *v1alpha1.ArmResult) {
	if a == nil || a.Lag == nil {
		return
	}
	s.note("%s: %d requests sent more than 1ms late (lag p99 %s, max %s), %d not sent in time", name, a.Late, quantile(a.Lag.P99), a.Lag.Max, a.Skipped)
}

func cpuWithInterval(a *v1alpha1.AddedCPU) string {
	if a.Low == nil || a.High == nil {
		return cpu(&a.Value)
	}
	return fmt.Sprintf("%s (95%% from %s to %s, detectable %s)", cpu(&a.Value), cpu(a.Low), cpu(a.High), cpu(a.Detectable))
}

func armRow(name string, a *v1alpha1.ArmResult) []string {
	if a == nil {
		return row(name, "not measured", "", "", "", "", "", "", "", "", "", "")
	}
	counts := []string{fmt.Sprint(a.Requests), fmt.Sprint(a.Errors), a.AchievedRPS}
	l := a.Latency
	if l == nil {
		return append([]string{name, "-", "-", "-", "-", "-", "-", "-", "-"}, counts...)
	}
	return append([]string{name, quantile(l.P50), quantile(l.P75), quantile(l.P90), quantile(l.P95), quantile(l.P99), quantile(l.P999),
		l.Mean.String(), l.Max.String()}, counts...)
}

func quantile(l *v1alpha1.Latency) string {
	if l == nil {
		return "-"
	}
	return l.String()
}

// addedRow has one side of each added percentile.
func addedRow(name string, a *v1alpha1.Added, of func(*v1alpha1.AddedLatency) *v1alpha1.Latency) []string {
	cell := func(one *v1alpha1.AddedLatency) string {
		if one == nil {
			return "-"
		}
		return quantile(of(one))
	}
	return row(name, cell(a.P50), "", cell(a.P90), "", cell(a.P99), "", "", "", "", "", "")
}

func value(a *v1alpha1.AddedLatency) *v1alpha1.Latency { return &a.Value }
func low(a *v1alpha1.AddedLatency) *v1alpha1.Latency   { return a.Low }
func high(a *v1alpha1.AddedLatency) *v1alpha1.Latency  { return a.High }

func detectable(a *v1alpha1.AddedLatency) *v1alpha1.Latency { return a.Detectable }

func hasInterval(a *v1alpha1.AddedLatency) bool { return a != nil && a.Low != nil && a.High != nil }

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
