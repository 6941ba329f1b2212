// Package metrics says what Prometheus is told of PerfRuns and PerfSchedules: what is kept of a status, small enough for a thousand of them, and the samples that
// it gives. docs/prometheus.md describes the families; a test compares the two.
package metrics

import (
	"slices"
	"strings"
)

// Family is a metric: its samples differ by their labels.
type Family struct {
	Name, Help string
	Labels     []string
	// Counter: it only goes up. All others are gauges: each result replaces the former one.
	Counter bool
}

// Sample is one figure.
type Sample struct {
	Family *Family
	// Labels are the values of the family's labels.
	Labels []string
	Value  float64
}

// Object is whose figures they are: a PerfRun, or the PerfSchedule that it belongs to. All that is told of a schedule's runs carries the schedule's
// name, so that a run more is no label more.
type Object struct{ Namespace, Kind, Name string }

// ofObject are the labels of everything that is told of an object.
var ofObject = []string{"namespace", "kind", "name"}

func (o Object) sample(f *Family, value float64, labels ...string) Sample {
	return Sample{Family: f, Value: value, Labels: append([]string{o.Namespace, o.Kind, o.Name}, labels...)}
}

// Families are all families of objects.
var Families []*Family

func family(name, help string, labels ...string) *Family {
	return add(Family{Name: "perfrun_" + name, Help: help, Labels: slices.Concat(ofObject, labels)})
}

// ofSchedule are the labels of everything that is told of schedules alone.
var ofSchedule = []string{"namespace", "name"}

func scheduleFamily(name, help string, labels ...string) *Family {
	return add(Family{Name: "perfrun_schedule_" + name, Help: help, Labels: slices.Concat(ofSchedule, labels), Counter: strings.HasSuffix(name, "_total")})
}

func add(f Family) *Family {
	Families = append(Families, &f)
	return &f
}

// What is told of the latest result.
var (
	resultInfo = family("result_info", "Which run the result is of, and what it holds for. Always 1.", "run", "uid", "scenario", "dapr", "kubernetes", "mtls", "sampling")
	verdict    = family("verdict", "The verdict of the latest result, with the reason of the condition Succeeded. Always 1.", "verdict", "reason")
	completed  = family("completed_timestamp_seconds", "When the verdict was reached, in seconds since 1970.")

	latency     = family("latency_seconds", "Response time of an arm at a point, by percentile.", "connections", "arm", "percentile")
	latencyMean = family("latency_mean_seconds", "Mean response time of an arm at a point.", "connections", "arm")
	latencyMax  = family("latency_max_seconds", "Longest response time of an arm at a point.", "connections", "arm")
	errors      = family("error_ratio", "Requests without a good answer, as a fraction of an arm's requests at a point.", "connections", "arm")
	rate        = family("achieved_requests_per_second", "Good answers per second of an arm at a point.", "connections", "arm")

	added     = family("added_latency_seconds", "What Dapr adds to a percentile of the response time at a point: the median over pairs of blocks.", "connections", "percentile")
	addedLow  = family("added_latency_low_seconds", "Lower end of the 95% interval of what Dapr adds.", "connections", "percentile")
	addedHigh = family("added_latency_high_seconds", "Upper end of the 95% interval of what Dapr adds.", "connections", "percentile")

	perRequest     = family("added_cpu_per_request_seconds", "CPU time of all sidecars for each good answer at a point: 0.001 is 1 vCPU for each 1000 requests per second.", "connections")
	perRequestLow  = family("added_cpu_per_request_low_seconds", "Lower end of the 95% interval of the sidecars' CPU time for each good answer.", "connections")
	perRequestHigh = family("added_cpu_per_request_high_seconds", "Upper end of the 95% interval of the sidecars' CPU time for each good answer.", "connections")

	cpu    = family("cpu_cores", "Mean CPU of a component's pods together, over exactly the measured blocks of an arm.", "arm", "component")
	memory = family("memory_bytes", "Mean memory of a component's pods together, over the measured blocks of an arm. Kinds of memory do not compare.", "arm", "component", "memory")

	stepDuration = family("control_plane_step_seconds", "Length of a step of scenario ControlPlane.", "step")
	stepCPU      = family("control_plane_cpu_cores", "Mean CPU of a part of the control plane in a step of scenario ControlPlane.", "step", "component")
	stepMemory   = family("control_plane_memory_bytes", "Resident memory of a part of the control plane at the end of a step of scenario ControlPlane.", "step", "component")
)

// What is told of runs that are neither finished nor waiting.
var (
	active   = family("active", "Number of runs in a phase that has the cluster: Preparing, Measuring or Collecting.", "phase")
	progress = family("progress_ratio", "How much of its load a measuring run has behind it; of several, the least.")
)

// What is told of schedules, beside the latest result of their runs.
var (
	accepted   = scheduleFamily("accepted", "1 if the schedule can be followed, else 0.")
	suspended  = scheduleFamily("suspended", "1 if spec.suspend holds the schedule's runs back, else 0.")
	activeRuns = scheduleFamily("active_runs", "Number of the schedule's runs that are not finished.")
	lastTime   = scheduleFamily("last_timestamp_seconds", "Scheduled time of the last run that was created for one, in seconds since 1970.")
	nextTime   = scheduleFamily("next_timestamp_seconds", "When the next run is due, in seconds since 1970.")
	lastGood   = scheduleFamily("last_success_timestamp_seconds", "When a run last Succeeded, in seconds since 1970.")
	missed     = scheduleFamily("missed_total", "Number of scheduled times that passed without a run, but for those that were skipped.")
	skipped    = scheduleFamily("skipped_total", "Number of scheduled times at which another run was not finished.")
	kept       = scheduleFamily("results", "Number of results that the schedule's PerfSeries holds.")
	regressed  = scheduleFamily("regressed", "1 if a figure is worse than it was, 0 if none is. None with too few results to tell.")
	change     = scheduleFamily("change_ratio", "Size of a figure's latest lasting change, relative to the level before: 0.25 is a quarter more.", "metric", "connections")
)
