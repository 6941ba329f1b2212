package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// paths are the ways of service invocation over gRPC; HTTP to HTTP is the sample run's.
func paths() {
	const http, grpc = v1alpha1.ProtocolHTTP, v1alpha1.ProtocolGRPC
	DescribeTable("measures service invocation",
		func(ctx SpecContext, caller, target v1alpha1.Protocol, proxying bool, display string) {
			run := perfRun(cluster.newNamespace(ctx), "path", func(s *v1alpha1.PerfRunSpec) {
				s.Invocation = &v1alpha1.Invocation{Caller: &caller, Target: &target, Proxying: ptr.To(proxying)}
			})
			Expect(cluster.Create(ctx, run)).To(Succeed())
			cluster.awaitPhase(ctx, run, v1alpha1.PhaseMeasuring, preparing)
			cluster.awaitMeasured(ctx, run, time.Minute)
			Expect(run.Status.Settings.Invocation).To(HaveField("Display", display))
			point := run.Status.Results[0]
			for _, arm := range []*v1alpha1.ArmResult{point.Baseline, point.Dapr} {
				Expect(arm.Requests).To(BeNumerically(">=", 400), "of 800, where others measure beside")
				Expect(arm.Errors).To(BeZero(), "errors by code: %v", arm.ErrorCodes)
			}
			// Neither can its sign be told where others measure beside; that the sidecars are on the path, their CPU tells.
			Expect(point.Added.P50).NotTo(BeNil(), "added p50")
			for _, u := range usageOf(run, v1alpha1.ArmDapr, sidecars...) {
				Expect(vcpu(u.CPUPer1000RPS)).To(BeNumerically(">", 0.05), "CPU of %s for each 1000 requests/s", u.Component)
			}
			Expect(decimal(run.Status.Environment.Sampling)).To(BeNumerically("~", 0.1, 0.07), "sampling as seen at the target")
			AddReportEntry(display, conditionOf(run, v1alpha1.ConditionSucceeded).Message)
		},
		Entry("from HTTP to gRPC", SpecTimeout(4*time.Minute), http, grpc, false, "HTTP to gRPC"),
		Entry("from gRPC to HTTP", SpecTimeout(4*time.Minute), grpc, http, false, "gRPC to HTTP"),
		Entry("from gRPC to gRPC", SpecTimeout(4*time.Minute), grpc, grpc, false, "gRPC to gRPC"),
		Entry("through Dapr's gRPC proxy", SpecTimeout(4*time.Minute), grpc, grpc, true, "gRPC to gRPC, proxied"),
	)
}
