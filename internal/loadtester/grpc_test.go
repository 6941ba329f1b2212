package loadtester

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/target"
)

const echoPath = "/" + measure.EchoService + "/" + measure.EchoMethod

// overGRPC turns a plan into one that calls the echo service at addr.
func overGRPC(t *testing.T, addr string, plan *measure.Plan) *measure.Plan {
	t.Helper()
	message, err := proto.Marshal(wrapperspb.Bytes(plan.Body))
	if err != nil {
		t.Fatal(err)
	}
	endpoint := measure.Endpoint{URL: "grpc://" + addr + echoPath, Call: &measure.Call{Message: message, Metadata: map[string]string{"dapr-app-id": "target"}}}
	plan.Body, plan.Endpoints = nil, map[measure.Arm]measure.Endpoint{measure.Baseline: endpoint, measure.Dapr: endpoint}
	if err := plan.Validate(); err != nil {
		t.Fatal(err)
	}
	return plan
}

// accepting counts the connections that it accepts.
type accepting struct {
	net.Listener
	n atomic.Int64
}

func (a *accepting) Accept() (net.Conn, error) {
	conn, err := a.Listener.Accept()
	if err == nil {
		a.n.Add(1)
	}
	return conn, err
}

func listening(t *testing.T, addr string) *accepting {
	t.Helper()
	listener, err := net.Listen("tcp", addr) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	return &accepting{Listener: listener}
}

func grpcServing(t *testing.T, server *grpc.Server) (addr string, listener *accepting) {
	t.Helper()
	listener = listening(t, "127.0.0.1:0")
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String(), listener
}

// calling serves every call with handle, which says how it ends.
func calling(t *testing.T, handle func(context.Context) error) (addr string) {
	t.Helper()
	addr, _ = grpcServing(t, grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		in := &wrapperspb.BytesValue{}
		if err := s.RecvMsg(in); err != nil {
			return err
		}
		if err := handle(s.Context()); err != nil {
			return err
		}
		return s.SendMsg(in)
	})))
	return addr
}

func TestCallsOverGRPCAreRecorded(t *testing.T) {
	t.Parallel()
	addr, listener := grpcServing(t, target.New().GRPCServer())
	report, conns := driven(context.Background(), t, overGRPC(t, addr, planFor("", 400, 4, time.Second)))
	if report.Succeeded != 400 || len(report.Errors) != 0 || report.Skipped != 0 {
		t.Errorf("succeeded %d, errors %v, skipped %d", report.Succeeded, report.Errors, report.Skipped)
	}
	if p50, ok := decoded(t, report.Service).Quantile(0.5); !ok || p50 > 50*ms {
		t.Errorf("a call took %s", p50)
	}
	if runtime.GOOS == "linux" && report.Unstamped > 4 {
		t.Errorf("%d of 400 answers without the kernel's time", report.Unstamped)
	}
	// One for each of the four, and the one that asks first.
	if n := listener.n.Load(); len(conns) != 4 || n != 5 {
		t.Errorf("%d connections", n)
	}
}

// TestGRPCArrival: what a call takes is at least what its server takes, and at most what the caller sees.
func TestGRPCArrival(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	const slow = 30 * ms
	plan := overGRPC(t, calling(t, func(context.Context) error { time.Sleep(slow); return nil }), planFor("", 2, 1, time.Second))
	client, err := newGRPCClient(plan, plan.Endpoints[measure.Baseline])
	if err != nil {
		t.Fatal(err)
	}
	defer client.close()
	stamped := 0
	for range 20 {
		start := time.Now()
		got := client.exchange(context.Background(), time.Now())
		took := time.Since(start)
		if got.code != 200 {
			t.Fatalf("code %d", got.code)
		}
		if got.arrived.IsZero() {
			continue
		}
		stamped++
		if d := got.arrived.Sub(start.Round(0)); d < slow || d > took {
			t.Errorf("the answer arrived after %s, the call took %s", d, took)
		}
	}
	if stamped < 15 {
		t.Errorf("the kernel told of %d arrivals", stamped)
	}
}

func TestGRPCErrorsAreCountedByCode(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	plan := overGRPC(t, calling(t, func(ctx context.Context) error {
		if _, set := ctx.Deadline(); set {
			return status.Error(codes.Internal, "the call has a deadline")
		}
		switch n.Add(1) % 5 {
		case 1:
			return status.Error(codes.Unavailable, "come back later")
		case 2:
			return status.Error(codes.ResourceExhausted, "enough")
		case 3:
			<-ctx.Done()
		}
		return nil
	}), planFor("", 50, 5, time.Second))
	plan.RequestTimeout = 200 * ms
	report, _ := driven(context.Background(), t, plan)
	// The call that asks and those that prime were six.
	want := map[string]int64{"Unavailable": 10, "ResourceExhausted": 10, "-1": 10}
	got := map[string]int64{}
	for code, count := range report.Errors {
		got[measure.CodeName(code)] = count
	}
	if d := cmp.Diff(want, got); d != "" || report.Succeeded != 20 {
		t.Errorf("succeeded %d, errors %s", report.Succeeded, d)
	}
}

func TestGRPCServerThatGoesAndComesBack(t *testing.T) {
	t.Parallel()
	listener := listening(t, "127.0.0.1:0")
	addr := listener.Addr().String()
	first := target.New().GRPCServer()
	go func() { _ = first.Serve(listener) }()
	plan := overGRPC(t, addr, planFor("", 2, 1, time.Second))
	client, err := newGRPCClient(plan, plan.Endpoints[measure.Baseline])
	if err != nil {
		t.Fatal(err)
	}
	defer client.close()
	ctx := context.Background()
	if code := client.exchange(ctx, time.Now()).code; code != 200 {
		t.Fatalf("at first: code %d", code)
	}
	first.Stop()
	if code := client.exchange(ctx, time.Now()).code; code != noAnswer {
		t.Errorf("while nobody listens: code %d", code)
	}
	second := target.New().GRPCServer()
	go func() { _ = second.Serve(listening(t, addr)) }()
	defer second.Stop()
	for end := time.Now().Add(5 * time.Second); ; {
		code := client.exchange(ctx, time.Now()).code
		if code == 200 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the server is back: code %d", code)
		}
		time.Sleep(20 * ms)
	}
}

func TestGRPCPathThatDoesNotWorkSaysWhy(t *testing.T) {
	t.Parallel()
	hanging := calling(t, func(ctx context.Context) error { <-ctx.Done(); return nil })
	refusing := calling(t, func(context.Context) error { return status.Error(codes.PermissionDenied, "not for you") })
	closed := listening(t, "127.0.0.1:0")
	_ = closed.Close()
	for name, tc := range map[string]struct{ addr, says string }{
		"a refusal":         {refusing, `status PermissionDenied, "not for you"`},
		"no answer":         {hanging, "no answer within 300ms"},
		"nobody listens":    {closed.Addr().String(), "connection refused"},
		"a server of HTTP":  {strings.TrimSuffix(strings.TrimPrefix(echoServer(t), "http://"), "/echo"), "http2"},
		"an unknown method": {func() string { a, _ := grpcServing(t, grpc.NewServer()); return a }(), "unknown service " + measure.EchoService},
	} {
		plan := overGRPC(t, tc.addr, planFor("", 50, 2, time.Second))
		plan.RequestTimeout = 300 * ms
		_, err := RunPlan(context.Background(), plan, Environment{ProcRoot: t.TempDir()})
		var f *Failure
		if !errors.As(err, &f) || f.Cause != measure.CausePath || !strings.Contains(f.Message, tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGRPCMetadataAndLargeMessages(t *testing.T) {
	t.Parallel()
	var without atomic.Int64
	plan := planFor("", 20, 2, time.Second)
	plan.Body = make([]byte, 1<<20)
	plan = overGRPC(t, calling(t, func(ctx context.Context) error {
		if ids := metadata.ValueFromIncomingContext(ctx, "dapr-app-id"); len(ids) != 1 || ids[0] != "target" {
			without.Add(1)
		}
		return nil
	}), plan)
	report, _ := driven(context.Background(), t, plan)
	if report.Succeeded != 20 || without.Load() != 0 {
		t.Errorf("succeeded %d, errors %v, %d without metadata", report.Succeeded, report.Errors, without.Load())
	}
}
