package e2e

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// replicas divides the load among so many load testers.
func replicas(n int32) change {
	return func(s *v1alpha1.PerfRunSpec) { s.LoadTester = &v1alpha1.LoadTesterSettings{Replicas: ptr.To(n)} }
}

func severalLoadTesters() {
	It("divides the load among two replicas of the load tester", func(ctx SpecContext) {
		run := perfRun(cluster.newNamespace(ctx), "two-replicas", blocks(2, 3*time.Second, time.Second), load(200, 4), replicas(2), kept)
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitMeasured(ctx, run, preparing+2*time.Minute)

		Expect(run.Status.Attempt.LoadTesters).To(HaveLen(2))
		Expect(run.Status.Environment.Nodes.LoadTesters).To(And(HaveLen(2), HaveEach(Not(Equal(run.Status.Environment.Nodes.Target)))))
		point := run.Status.Results[0]
		Expect(point.StartSkewMax).To(HaveValue(HaveField("Duration", And(BeNumerically(">", 0), BeNumerically("<", 5*time.Second)))))
		AddReportEntry("start skew", point.StartSkewMax.String())
		measured, valid, sent := daprRequests(run)
		Expect(point.Connections).To(BeEquivalentTo(4))
		Expect(point.Dapr.Requests).To(Or(Equal(measured), Equal(valid)), "requests of the Dapr arm's blocks")
		Expect(decimal(point.Dapr.AchievedRPS)).To(And(BeNumerically(">", 100), BeNumerically("<=", 240)), "achieved rate")
		Expect(cluster.traces(ctx, run).Traced).To(Equal(sent), "requests that reached the target through Dapr, warm-up and priming included")

		pods := map[string]bool{}
		for _, u := range usageOf(run, v1alpha1.ArmDapr, v1alpha1.ComponentCallerSidecar) {
			pods[u.Pod] = true
			Expect(vcpu(u.CPU)).To(BeNumerically(">", 0), "CPU of the sidecar in %s", u.Pod)
			Expect(u.CPUPer1000RPS).NotTo(BeNil())
		}
		for _, tester := range run.Status.Attempt.LoadTesters {
			Expect(pods).To(HaveKey(tester.Pod))
		}

		printed := printedReport(ctx, run)
		AddReportEntry("kubectl perfrun report "+run.Name, "\n"+printed)
		Expect(printed).To(And(ContainSubstring("2 load testers"), ContainSubstring("began each block within")))
		// A heading, and three seconds of four blocks of each load tester.
		seconds := plugin(ctx, "raw", run.Name, "--namespace", run.Namespace, "-o", "csv")
		Expect(strings.Count(seconds, "\n")).To(Equal(1+2*12), seconds)
	}, SpecTimeout(6*time.Minute))
}
