package dapr

import (
	"fmt"
	"net"
	"strconv"

	commonv1 "github.com/dapr/dapr/pkg/proto/common/v1"
	runtimev1 "github.com/dapr/dapr/pkg/proto/runtime/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// AppIDMetadata is the gRPC metadata that makes a sidecar pass a call of a service unknown to it on to another application.
const AppIDMetadata = "dapr-app-id"

// OnInvokePath is the gRPC method that a sidecar calls in an application for service invocation.
const OnInvokePath = runtimev1.AppCallback_OnInvoke_FullMethodName

// InvokeServicePath is the gRPC method of service invocation in a sidecar.
const InvokeServicePath = runtimev1.Dapr_InvokeService_FullMethodName

// InvokeURL is service invocation of a method of an application, through the sidecar of the pod that calls.
func InvokeURL(appID, method string) string {
	return fmt.Sprintf("http://127.0.0.1:%d/v1.0/invoke/%s/method/%s", HTTPPort, appID, method)
}

// GRPCURL is a gRPC method of the sidecar of the pod that calls.
func GRPCURL(path string) string {
	return "grpc://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(GRPCPort)) + path
}

// Invocation is a call of an application's method over gRPC.
type Invocation struct {
	Method, ContentType string
	Body                []byte
}

// OnInvokeMessage is the call as an application receives it, in Protobuf's encoding.
func (i Invocation) OnInvokeMessage() []byte { return encoded(i.request()) }

// InvokeServiceMessage is the call as a sidecar receives it from its own application, for another.
func (i Invocation) InvokeServiceMessage(appID string) []byte {
	return encoded(&runtimev1.InvokeServiceRequest{Id: appID, Message: i.request()})
}

// request has a verb in any case: an application that speaks HTTP cannot be called without.
func (i Invocation) request() *commonv1.InvokeRequest {
	return &commonv1.InvokeRequest{
		Method: i.Method, Data: &anypb.Any{Value: i.Body}, ContentType: i.ContentType,
		HttpExtension: &commonv1.HTTPExtension{Verb: commonv1.HTTPExtension_POST},
	}
}

// encoded encodes a message of strings and bytes, which cannot fail but for text that is not UTF-8.
func encoded(m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("encoding %T: %v", m, err))
	}
	return b
}
