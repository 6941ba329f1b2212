// Package sink receives the traces that sidecars export, counts them and throws them away. What a sidecar spends on exporting is then in its
// figures, and how much of it arrived is known.
package sink

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync/atomic"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/serving"
)

// Options of Serve.
type Options struct {
	// Addr takes OTLP over gRPC.
	Addr string
	// CountsAddr serves measure.SinkCountsPath and measure.PathHealth.
	CountsAddr string
	// Log tells when the ports are open; nil means slog.Default.
	Log *slog.Logger
}

// Serve serves until ctx ends. It returns nil after such an end, and an error if a port cannot be opened or served.
func Serve(ctx context.Context, opts Options) error {
	c := &counter{instance: rand.Text()}
	receiver := grpc.NewServer()
	collector.RegisterTraceServiceServer(receiver, c)
	return serving.Run(ctx, opts.Log,
		serving.GRPC("traces", opts.Addr, receiver),
		serving.HTTP("counts", opts.CountsAddr, &http.Server{Handler: c.handler()}))
}

// counter is the receiver of OTLP.
type counter struct {
	collector.UnimplementedTraceServiceServer
	instance             string
	spans, traces, bytes atomic.Int64
}

// Export counts the spans of a message. One without a parent begins a trace: for a request that came without a trace context, that is the
// caller's sidecar's.
func (c *counter) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	var spans, traces int64
	for _, resource := range req.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				spans++
				if len(span.GetParentSpanId()) == 0 {
					traces++
				}
			}
		}
	}
	c.spans.Add(spans)
	c.traces.Add(traces)
	c.bytes.Add(int64(proto.Size(req)))
	return &collector.ExportTraceServiceResponse{}, nil
}

func (c *counter) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+measure.PathHealth, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET "+measure.SinkCountsPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		// An error here is the client's who has gone.
		_ = json.NewEncoder(w).Encode(measure.Exported{Instance: c.instance, Spans: c.spans.Load(), Traces: c.traces.Load(), Bytes: c.bytes.Load()})
	})
	return mux
}
