package target

import (
	"context"

	commonv1 "github.com/dapr/dapr/pkg/proto/common/v1"
	runtimev1 "github.com/dapr/dapr/pkg/proto/runtime/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"perfrun.dev/perfrun/internal/measure"
)

// messageRoom is how much longer than its body a message may be.
const messageRoom = 64 << 10

// GRPCServer is the application over gRPC: what Dapr calls in an application (AppCallback), and a service of the target's own, which
// can be called through Dapr's proxy. Both answer with the request's body. Its options are gRPC's defaults, as in most applications.
func (t *Target) GRPCServer() *grpc.Server {
	server := grpc.NewServer(grpc.MaxRecvMsgSize(maxBodyBytes + messageRoom))
	runtimev1.RegisterAppCallbackServer(server, &callback{target: t})
	server.RegisterService(&echoService, t)
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	return server
}

// callback is what a sidecar calls in a gRPC application.
type callback struct {
	runtimev1.UnimplementedAppCallbackServer
	target *Target
}

// OnInvoke is service invocation.
func (c *callback) OnInvoke(ctx context.Context, in *commonv1.InvokeRequest) (*commonv1.InvokeResponse, error) {
	c.target.countTraceIn(ctx)
	return &commonv1.InvokeResponse{Data: in.GetData(), ContentType: in.GetContentType()}, nil
}

// ListTopicSubscriptions: there are none.
func (*callback) ListTopicSubscriptions(context.Context, *emptypb.Empty) (*runtimev1.ListTopicSubscriptionsResponse, error) {
	return &runtimev1.ListTopicSubscriptionsResponse{}, nil
}

// ListInputBindings: there are none.
func (*callback) ListInputBindings(context.Context, *emptypb.Empty) (*runtimev1.ListInputBindingsResponse, error) {
	return &runtimev1.ListInputBindingsResponse{}, nil
}

// echoService is
//
//	service perfrun.v1.Echo { rpc Echo(google.protobuf.BytesValue) returns (google.protobuf.BytesValue) {} }
//
// written out, since its messages are Protobuf's own and there is nothing else to generate.
var echoService = grpc.ServiceDesc{
	ServiceName: measure.EchoService,
	HandlerType: (*echoer)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: measure.EchoMethod,
		Handler: func(server any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := &wrapperspb.BytesValue{}
			if err := decode(in); err != nil {
				return nil, err
			}
			return server.(echoer).echoBytes(ctx, in), nil //nolint:forcetypeassert // RegisterService has looked
		},
	}},
}

type echoer interface {
	echoBytes(ctx context.Context, in *wrapperspb.BytesValue) *wrapperspb.BytesValue
}

func (t *Target) echoBytes(ctx context.Context, in *wrapperspb.BytesValue) *wrapperspb.BytesValue {
	t.countTraceIn(ctx)
	return in
}

// countTraceIn counts a gRPC call's trace context. Dapr sends it twice, as text and in OpenCensus's binary format; either will do.
func (t *Target) countTraceIn(ctx context.Context) {
	if values := metadata.ValueFromIncomingContext(ctx, "traceparent"); len(values) == 1 {
		t.count(parseTraceparent(values[0]))
	} else if values := metadata.ValueFromIncomingContext(ctx, "grpc-trace-bin"); len(values) == 1 {
		t.count(parseTraceBin(values[0]))
	}
}
