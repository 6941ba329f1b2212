package main

import (
	"strconv"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// figure is one published figure, and where a PerfRun's status has the same.
type figure struct {
	// source it was published in.
	source string
	// scenario that it is of, in words.
	scenario string
	// name and unit of the figure.
	name, unit string
	// published value as it was published; empty: only as a picture.
	published string
	// run is the sample that measures it.
	run string
	// measured reads it off the run's status; nil where there is none.
	measured func(*v1alpha1.PerfRun) *float64
}

// The sources, each with the version of Dapr that its figures are of.
const (
	docs10    = "docs.dapr.io, Dapr 1.0"
	release17 = "Dapr 1.17"
	release18 = "Dapr 1.18"
)

// The samples in config/samples/published.
const (
	invocation   = "invocation"
	grpc         = "grpc"
	connections  = "connections"
	actors       = "actors"
	controlPlane = "controlplane"
)

// figures in the order in which they are printed.
func figures() []figure {
	out := []figure{
		{docs10, "invocation, HTTP", "added p90", "ms", "1.40", invocation, addedP90},
		{docs10, "invocation, HTTP", "added p99", "ms", "2.10", invocation, addedP99},
		{docs10, "invocation, HTTP", "a sidecar's CPU for 1000 requests/s", "vCPU", "0.48", invocation, cpuPer1000(v1alpha1.ComponentTargetSidecar)},
		{docs10, "invocation, HTTP", "a sidecar's memory", "MB", "23", invocation, memoryOf(v1alpha1.ComponentTargetSidecar)},
	}
	for _, release := range []struct {
		source, run, path             string
		p50, p90, p99, sidecar, bytes string
	}{
		{release17, invocation, "HTTP", "1.06", "1.48", "2.90", "0.202", "51"},
		{release17, grpc, "gRPC", "1.68", "1.97", "2.83", "0.248", "50"},
		{release18, invocation, "HTTP", "0.91", "1.03", "2.04", "0.106", "52"},
		{release18, grpc, "gRPC", "0.95", "1.41", "1.88", "0.071", "50"},
	} {
		scenario := "invocation, " + release.path
		out = append(out,
			figure{release.source, scenario, "added p50", "ms", release.p50, release.run, addedP50},
			figure{release.source, scenario, "added p90", "ms", release.p90, release.run, addedP90},
			figure{release.source, scenario, "added p99", "ms", release.p99, release.run, addedP99},
			figure{release.source, scenario, "the target's sidecar's CPU", "vCPU", release.sidecar, release.run, cpuOf(v1alpha1.ComponentTargetSidecar)},
			figure{release.source, scenario, "the target's sidecar's memory", "MB", release.bytes, release.run, memoryOf(v1alpha1.ComponentTargetSidecar)})
	}
	for _, n := range sweep {
		scenario := "invocation over " + strconv.Itoa(n) + " connections"
		out = append(out,
			figure{docs10, scenario, "p90 through Dapr", "ms", "", connections, at(n, func(l *v1alpha1.LatencySummary) *v1alpha1.Latency { return l.P90 })},
			figure{docs10, scenario, "p99 through Dapr", "ms", "", connections, at(n, func(l *v1alpha1.LatencySummary) *v1alpha1.Latency { return l.P99 })})
	}
	out = append(out, actorFigures()...)
	return append(out, controlPlaneFigures()...)
}

// sweep is the connections of the sample for the published charts.
var sweep = []int{2, 4, 8, 16, 32, 64}

func actorFigures() []figure {
	const scenario = "actor activation, Java"
	p50 := func(l *v1alpha1.LatencySummary) *v1alpha1.Latency { return l.P50 }
	p90 := func(l *v1alpha1.LatencySummary) *v1alpha1.Latency { return l.P90 }
	p99 := func(l *v1alpha1.LatencySummary) *v1alpha1.Latency { return l.P99 }
	const n = 8
	return []figure{
		{docs10, scenario, "throughput", "requests/s", "500", actors, achieved},
		{docs10, scenario, "p90", "ms", "3", actors, at(n, p90)},
		{docs10, scenario, "p99", "ms", "6.2", actors, at(n, p99)},
		{docs10, scenario, "app CPU", "vCPU", "0.523", actors, cpuOf(v1alpha1.ComponentApp)},
		{docs10, scenario, "app memory", "MB", "304.7", actors, memoryOf(v1alpha1.ComponentApp)},
		{docs10, scenario, "sidecar CPU", "vCPU", "0.002", actors, cpuOf(v1alpha1.ComponentTargetSidecar)},
		{docs10, scenario, "sidecar memory", "MB", "18.2", actors, memoryOf(v1alpha1.ComponentTargetSidecar)},
		{docs10, scenario, "app restarts", "", "0", actors, restartsOf(v1alpha1.ComponentApp)},
		{docs10, scenario, "sidecar restarts", "", "0", actors, restartsOf(v1alpha1.ComponentTargetSidecar)},
		{release18, scenario, "p50", "ms", "1.60", actors, at(n, p50)},
		{release18, scenario, "p90", "ms", "2.42", actors, at(n, p90)},
		{release18, scenario, "p99", "ms", "4.87", actors, at(n, p99)},
		{release18, scenario, "app CPU", "vCPU", "0.429", actors, cpuOf(v1alpha1.ComponentApp)},
		{release18, scenario, "app memory", "MB", "450", actors, memoryOf(v1alpha1.ComponentApp)},
		{release18, scenario, "sidecar CPU", "vCPU", "0.008", actors, cpuOf(v1alpha1.ComponentTargetSidecar)},
		{release18, scenario, "sidecar memory", "MB", "33", actors, memoryOf(v1alpha1.ComponentTargetSidecar)},
	}
}

func controlPlaneFigures() []figure {
	var out []figure
	for _, part := range []struct {
		component   v1alpha1.Component
		cpu, memory string
	}{
		{v1alpha1.ComponentOperator, "0.001", "12.5"}, {v1alpha1.ComponentSentry, "0.005", "13.6"},
		{v1alpha1.ComponentInjector, "0.002", "14.6"}, {v1alpha1.ComponentPlacement, "0.001", "20.9"},
	} {
		out = append(out,
			figure{docs10, "control plane, one replica each", string(part.component) + " CPU", "vCPU", part.cpu, controlPlane, idle(false, cpuOfParts, part.component)},
			figure{docs10, "control plane, one replica each", string(part.component) + " memory", "MB", part.memory, controlPlane, idle(false, memoryOfParts, part.component)})
	}
	return append(out,
		figure{docs10, "control plane, one replica each", "total CPU", "vCPU", "0.009", controlPlane, idle(false, cpuOfParts, published...)},
		figure{docs10, "control plane, one replica each", "total memory", "MB", "61.6", controlPlane, idle(false, memoryOfParts, published...)},
		figure{docs10, "control plane, HA", "total CPU", "vCPU", "0.02", controlPlane, idle(true, cpuOfParts, published...)},
		figure{docs10, "control plane, HA", "total memory", "MB", "185", controlPlane, idle(true, memoryOfParts, published...)})
}

// published are the parts that the published table has; the scheduler came with Dapr 1.14.
var published = []v1alpha1.Component{v1alpha1.ComponentOperator, v1alpha1.ComponentSentry, v1alpha1.ComponentInjector, v1alpha1.ComponentPlacement}

func some(v float64) *float64 { return &v }

func millis(l *v1alpha1.Latency) *float64 {
	if l == nil {
		return nil
	}
	return some(float64(l.Duration) / float64(time.Millisecond))
}

func added(pick func(*v1alpha1.Added) *v1alpha1.AddedLatency) func(*v1alpha1.PerfRun) *float64 {
	return func(run *v1alpha1.PerfRun) *float64 {
		if len(run.Status.Results) == 0 || run.Status.Results[0].Added == nil || pick(run.Status.Results[0].Added) == nil {
			return nil
		}
		return millis(&pick(run.Status.Results[0].Added).Value)
	}
}

var (
	addedP50 = added(func(a *v1alpha1.Added) *v1alpha1.AddedLatency { return a.P50 })
	addedP90 = added(func(a *v1alpha1.Added) *v1alpha1.AddedLatency { return a.P90 })
	addedP99 = added(func(a *v1alpha1.Added) *v1alpha1.AddedLatency { return a.P99 })
)

// at is a latency through Dapr at a number of connections.
func at(connections int, pick func(*v1alpha1.LatencySummary) *v1alpha1.Latency) func(*v1alpha1.PerfRun) *float64 {
	return func(run *v1alpha1.PerfRun) *float64 {
		for _, r := range run.Status.Results {
			if int(r.Connections) == connections && r.Dapr != nil && r.Dapr.Latency != nil {
				return millis(pick(r.Dapr.Latency))
			}
		}
		return nil
	}
}

func achieved(run *v1alpha1.PerfRun) *float64 {
	if len(run.Status.Results) == 0 || run.Status.Results[0].Dapr == nil {
		return nil
	}
	v, err := strconv.ParseFloat(run.Status.Results[0].Dapr.AchievedRPS, 64)
	if err != nil {
		return nil
	}
	return some(v)
}

func usageOf(run *v1alpha1.PerfRun, c v1alpha1.Component) *v1alpha1.Usage {
	for i := range run.Status.Usage {
		if u := &run.Status.Usage[i]; u.Component == c && u.Arm == v1alpha1.ArmDapr {
			return u
		}
	}
	return nil
}

func cpuOf(c v1alpha1.Component) func(*v1alpha1.PerfRun) *float64 {
	return func(run *v1alpha1.PerfRun) *float64 {
		if u := usageOf(run, c); u != nil && u.CPU != nil {
			return some(u.CPU.AsApproximateFloat64())
		}
		return nil
	}
}

func cpuPer1000(c v1alpha1.Component) func(*v1alpha1.PerfRun) *float64 {
	return func(run *v1alpha1.PerfRun) *float64 {
		if u := usageOf(run, c); u != nil && u.CPUPer1000RPS != nil {
			return some(u.CPUPer1000RPS.AsApproximateFloat64())
		}
		return nil
	}
}

// megabyte: the published tables show metrics-server's figures, in units of 10^6 bytes or of 2^20; they do not say which.
const megabyte = 1 << 20

func memoryOf(c v1alpha1.Component) func(*v1alpha1.PerfRun) *float64 {
	return func(run *v1alpha1.PerfRun) *float64 {
		if u := usageOf(run, c); u != nil && u.Memory != nil {
			return some(u.Memory.Mean.AsApproximateFloat64() / megabyte)
		}
		return nil
	}
}

func restartsOf(c v1alpha1.Component) func(*v1alpha1.PerfRun) *float64 {
	return func(run *v1alpha1.PerfRun) *float64 {
		if u := usageOf(run, c); u != nil {
			return some(float64(u.Restarts))
		}
		return nil
	}
}

func cpuOfParts(u v1alpha1.PartUsage) *float64 {
	if u.CPU == nil {
		return nil
	}
	return some(u.CPU.AsApproximateFloat64())
}

func memoryOfParts(u v1alpha1.PartUsage) *float64 {
	if u.Memory == nil {
		return nil
	}
	return some(u.Memory.AsApproximateFloat64() / megabyte)
}

// idle is a figure of the named parts together in the step Idle, if the cluster's control plane has as many replicas as the figure is about.
func idle(ha bool, pick func(v1alpha1.PartUsage) *float64, components ...v1alpha1.Component) func(*v1alpha1.PerfRun) *float64 {
	return func(run *v1alpha1.PerfRun) *float64 {
		if len(run.Status.ControlPlaneResults) == 0 {
			return nil
		}
		var sum float64
		replicas := 0
		for _, part := range run.Status.ControlPlaneResults[0].Parts {
			for _, c := range components {
				if part.Component != c || pick(part) == nil {
					continue
				}
				replicas++
				sum += *pick(part)
			}
		}
		if replicas == 0 || ha != (replicas > len(components)) {
			return nil
		}
		return some(sum)
	}
}
