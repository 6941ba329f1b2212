package dapr

// Work is a metric of a part of the control plane that counts what drives its CPU and memory (the published table of variants: docs.dapr.io,
// "Service invocation performance").
type Work struct {
	// Metric in Prometheus text format, summed over its labels.
	Metric string
	// Name for people.
	Name string
	// Level: it goes up and down, as the number of those that are connected does. Otherwise it counts up.
	Level bool
}

var works = map[Part][]Work{
	// What drives the operator, the pods that ask for Components and Configurations, it does not count.
	Sentry:   {{Metric: "dapr_sentry_cert_sign_request_received_total", Name: "certificate requests"}},
	Injector: {{Metric: "dapr_injector_sidecar_injection_requests_total", Name: "admission requests"}},
	Placement: {
		{Metric: "dapr_placement_runtimes_total", Name: "connected sidecars", Level: true},
		{Metric: "dapr_placement_actor_runtimes_total", Name: "connected actor hosts", Level: true},
	},
	// A sidecar connects several times, and each counts.
	Scheduler: {{Metric: "dapr_scheduler_sidecars_connected", Name: "connections of sidecars", Level: true}},
}

// WorkOf a part of the control plane: what it counts of it. Metrics that a version of Dapr does not have are absent from its page.
func WorkOf(p Part) []Work { return works[p] }
