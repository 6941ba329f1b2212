package target

import (
	"context"
	"net"
	"strings"
	"testing"

	commonv1 "github.com/dapr/dapr/pkg/proto/common/v1"
	runtimev1 "github.com/dapr/dapr/pkg/proto/runtime/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"perfrun.dev/perfrun/internal/measure"
)

// overGRPC is a client of a target that serves gRPC.
func overGRPC(t *testing.T, target *Target) *grpc.ClientConn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	server := target.GRPCServer()
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return clientOf(t, listener.Addr().String())
}

func clientOf(t *testing.T, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func echo(ctx context.Context, conn *grpc.ClientConn, body string) (string, error) {
	out := &wrapperspb.BytesValue{}
	err := conn.Invoke(ctx, "/"+measure.EchoService+"/"+measure.EchoMethod, wrapperspb.Bytes([]byte(body)), out)
	return string(out.GetValue()), err
}

func TestGRPCAnswersWithTheRequest(t *testing.T) {
	conn, ctx := overGRPC(t, New()), context.Background()
	for _, body := range []string{"", "hello", strings.Repeat("x", maxBodyBytes)} {
		in := &commonv1.InvokeRequest{Method: "echo", Data: &anypb.Any{Value: []byte(body)}, ContentType: "text/plain"}
		out, err := runtimev1.NewAppCallbackClient(conn).OnInvoke(ctx, in)
		if err != nil || string(out.GetData().GetValue()) != body || out.GetContentType() != "text/plain" {
			t.Errorf("OnInvoke of %d bytes: %d bytes of %s, %v", len(body), len(out.GetData().GetValue()), out.GetContentType(), err)
		}
		if answer, err := echo(ctx, conn, body); err != nil || answer != body {
			t.Errorf("Echo of %d bytes: %d bytes, %v", len(body), len(answer), err)
		}
	}
	if _, err := echo(ctx, conn, strings.Repeat("x", maxBodyBytes+messageRoom)); err == nil {
		t.Error("a message that is too long was taken")
	}
}

// TestGRPCIsWhatASidecarExpects: it asks any gRPC application for subscriptions and bindings when it starts.
func TestGRPCIsWhatASidecarExpects(t *testing.T) {
	conn, ctx := overGRPC(t, New()), context.Background()
	app := runtimev1.NewAppCallbackClient(conn)
	topics, err := app.ListTopicSubscriptions(ctx, &emptypb.Empty{})
	if err != nil || len(topics.GetSubscriptions()) != 0 {
		t.Errorf("subscriptions: %v, %v", topics, err)
	}
	bindings, err := app.ListInputBindings(ctx, &emptypb.Empty{})
	if err != nil || len(bindings.GetBindings()) != 0 {
		t.Errorf("bindings: %v, %v", bindings, err)
	}
	health, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil || health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", health, err)
	}
}

// bin is the trace context of parent with flags, as OpenCensus encodes it.
func bin(flags byte) string {
	return "\x00\x00\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36\x01\x00\xf0\x67\xaa\x0b\xa9\x02\xb7\x02" + string([]byte{flags})
}

func TestGRPCCountsTraces(t *testing.T) {
	target := New()
	conn := overGRPC(t, target)
	for _, md := range []metadata.MD{
		{},
		metadata.Pairs("traceparent", parent+"01"),
		metadata.Pairs("traceparent", parent+"00"),
		metadata.Pairs("grpc-trace-bin", bin(1)),
		metadata.Pairs("grpc-trace-bin", bin(0)),
		// As Dapr sends it: counted once.
		metadata.Pairs("traceparent", parent+"01", "grpc-trace-bin", bin(1)),
		metadata.Pairs("grpc-trace-bin", "xx"),
	} {
		ctx := metadata.NewOutgoingContext(context.Background(), md)
		if _, err := echo(ctx, conn, "x"); err != nil {
			t.Fatal(err)
		}
		if _, err := runtimev1.NewAppCallbackClient(conn).OnInvoke(ctx, &commonv1.InvokeRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if traced, sampled := target.traced.Load(), target.sampled.Load(); traced != 10 || sampled != 6 {
		t.Errorf("traced %d, sampled %d", traced, sampled)
	}
}

func TestParseTraceBin(t *testing.T) {
	valid := bin(1)
	tests := map[string]struct {
		s               string
		traced, sampled bool
	}{
		"sampled":             {valid, true, true},
		"not sampled":         {bin(0), true, false},
		"random, not sampled": {bin(2), true, false},
		"another version":     {"\x01" + valid[1:], false, false},
		"another field":       {valid[:18] + "\x03" + valid[19:], false, false},
		"no flags":            {valid[:27], false, false},
		"longer":              {valid + "\x00", false, false},
		"no trace":            {valid[:2] + strings.Repeat("\x00", 16) + valid[18:], false, false},
		"no parent":           {valid[:19] + strings.Repeat("\x00", 8) + valid[27:], false, false},
		"empty":               {"", false, false},
	}
	for name, tc := range tests {
		if traced, sampled := parseTraceBin(tc.s); traced != tc.traced || sampled != tc.sampled {
			t.Errorf("%s: got %v, %v", name, traced, sampled)
		}
	}
}
