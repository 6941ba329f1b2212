package sink

import (
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// FuzzExport: whatever arrives as OTLP is counted or refused.
func FuzzExport(f *testing.F) {
	good, err := proto.Marshal(message(&trace.Span{SpanId: []byte("12345678")}, &trace.Span{ParentSpanId: []byte("12345678")}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte{})
	f.Add([]byte("\n\x00"))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		req := &collector.ExportTraceServiceRequest{}
		if proto.Unmarshal(encoded, req) != nil {
			return
		}
		c := &counter{}
		if _, err := c.Export(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		// The shortest span is two bytes: its field and its length.
		if spans, traces, bytes := c.spans.Load(), c.traces.Load(), c.bytes.Load(); traces < 0 || traces > spans || 2*spans > int64(len(encoded)) || bytes < 0 {
			t.Errorf("%d spans, %d traces, %d bytes in %d", spans, traces, bytes, len(encoded))
		}
	})
}
