package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// TelemetrySettings configures what the sidecars tell of their work; the fraction of requests that they trace is spec.sampling.
type TelemetrySettings struct {
	// export makes the sidecars export the traces of sampled requests, over OTLP, to a sink that the run brings along, so that what
	// exporting costs is in the figures. Otherwise they make the spans and throw them away, as Dapr does where no exporter is configured,
	// such as in its own performance tests. Default false.
	// +optional
	Export *bool `json:"export,omitempty"`

	// metrics: the sidecars keep metrics and serve them on port 9090, as Dapr has them by default. Without, their CPU and memory come
	// from /proc alone. Default true.
	// +optional
	Metrics *bool `json:"metrics,omitempty"`
}

// Telemetry is what the run's trace sink received from the sidecars, from before the first request to after the last, warm-ups included.
type Telemetry struct {
	// requests through Dapr in that time.
	// +optional
	Requests int64 `json:"requests,omitempty"`
	// spans that arrived.
	// +optional
	Spans *int64 `json:"spans,omitempty"`
	// traces among them: one for each request that was sampled.
	// +optional
	Traces *int64 `json:"traces,omitempty"`
	// bytes of the messages that they came in, as sent over gRPC but for its own framing.
	// +optional
	Bytes *resource.Quantity `json:"bytes,omitempty"`
	// sampling is traces by requests, a decimal.
	// +optional
	Sampling string `json:"sampling,omitempty"`
	// note tells why the figures are missing.
	// +optional
	Note string `json:"note,omitempty"`
}
