package sink

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/usage"
)

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func message(spans ...*trace.Span) *collector.ExportTraceServiceRequest {
	return &collector.ExportTraceServiceRequest{ResourceSpans: []*trace.ResourceSpans{{ScopeSpans: []*trace.ScopeSpans{{Spans: spans}}}}}
}

func TestItCountsWhatIsExported(t *testing.T) {
	options := Options{Addr: freeAddr(t), CountsAddr: freeAddr(t), Log: slog.New(slog.DiscardHandler)}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, options) }()

	conn, err := grpc.NewClient(options.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	root := &trace.Span{TraceId: make([]byte, 16), SpanId: []byte("12345678"), Name: "CallLocal/target/echo"}
	child := &trace.Span{TraceId: make([]byte, 16), SpanId: []byte("87654321"), ParentSpanId: root.SpanId}
	first, second := message(root, child), message(child)
	for _, m := range []*collector.ExportTraceServiceRequest{first, second} {
		if _, err := collector.NewTraceServiceClient(conn).Export(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	got, err := usage.Fetcher{}.Exported(t.Context(), "http://"+options.CountsAddr+measure.SinkCountsPath)
	if err != nil {
		t.Fatal(err)
	}
	want := measure.Exported{Instance: got.Instance, Spans: 3, Traces: 1, Bytes: int64(proto.Size(first) + proto.Size(second))}
	if got != want || got.Instance == "" {
		t.Errorf("got %+v, want %+v", got, want)
	}

	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("it does not end")
	}
}

func TestAPortThatIsTakenIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for _, options := range []Options{{Addr: l.Addr().String(), CountsAddr: freeAddr(t)}, {Addr: freeAddr(t), CountsAddr: l.Addr().String()}} {
		if err := Serve(t.Context(), options); err == nil {
			t.Errorf("%+v: no error", options)
		}
	}
}
