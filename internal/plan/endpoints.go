package plan

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/measure"
)

// echoPath is the target's own gRPC service.
const echoPath = "/" + measure.EchoService + "/" + measure.EchoMethod

// endpoints are where the requests of both arms go. The baseline is over the caller's protocol whatever the target's sidecar speaks: it is
// what the caller would do without Dapr, and so both arms have the same client, whose time and CPU would be in the difference otherwise.
func endpoints(run *v1alpha1.PerfRun, s v1alpha1.Settings) map[measure.Arm]measure.Endpoint {
	target, method := NamesOf(run).Target, strings.TrimPrefix(measure.TargetPath, "/")
	host := serviceHost(run)
	switch path := s.Path(); {
	case s.Actors != nil:
		return actorEndpoints("http://"+hostPort(host, measure.TargetPort), ActorType(run, s), s.Actors.Method)
	case path.Proxying:
		message := echoMessage(body(run.Spec.EffectivePayload(), s.PayloadBytes))
		return map[measure.Arm]measure.Endpoint{
			measure.Baseline: {URL: directGRPC(host, echoPath), Call: &measure.Call{Message: message}},
			measure.Dapr: {URL: dapr.GRPCURL(echoPath), Call: &measure.Call{
				Message: message, Metadata: map[string]string{dapr.AppIDMetadata: target}}},
		}
	case path.Caller == v1alpha1.ProtocolGRPC:
		invocation := dapr.Invocation{Method: method, ContentType: contentType(run.Spec.EffectivePayload()), Body: body(run.Spec.EffectivePayload(), s.PayloadBytes)}
		return map[measure.Arm]measure.Endpoint{
			measure.Baseline: {URL: directGRPC(host, dapr.OnInvokePath), Call: &measure.Call{Message: invocation.OnInvokeMessage()}},
			measure.Dapr:     {URL: dapr.GRPCURL(dapr.InvokeServicePath), Call: &measure.Call{Message: invocation.InvokeServiceMessage(target)}},
		}
	default:
		return map[measure.Arm]measure.Endpoint{
			measure.Baseline: {Method: "POST", URL: "http://" + hostPort(host, measure.TargetPort) + measure.TargetPath},
			measure.Dapr:     {Method: "POST", URL: dapr.InvokeURL(target, method)},
		}
	}
}

// serviceHost is the name of the Service that the baseline calls, and the only one that the load tester sends requests to.
func serviceHost(run *v1alpha1.PerfRun) string { return NamesOf(run).Target + "." + run.Namespace }

func directGRPC(host, path string) string {
	return "grpc://" + hostPort(host, measure.TargetGRPCPort) + path
}

// httpBody is the body of requests over HTTP. Over gRPC it is in the messages already.
func httpBody(run *v1alpha1.PerfRun, s v1alpha1.Settings) []byte {
	if s.Path().Caller == v1alpha1.ProtocolGRPC {
		return nil
	}
	return body(run.Spec.EffectivePayload(), s.PayloadBytes)
}

// echoMessage is a google.protobuf.BytesValue: its field 1.
func echoMessage(body []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), body)
}
