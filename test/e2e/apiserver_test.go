package e2e

import (
	"os"
	"os/exec"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// apiServerAway comes last: Dapr's operator restarts, too, when it cannot renew its lease.
func apiServerAway() {
	It("loses nothing while the API server is away for a minute", func(ctx SpecContext) {
		program := os.Getenv("E2E_LOCALCLUSTER")
		if program == "" {
			Skip("E2E_LOCALCLUSTER names no local cluster, and no other's API server can be held")
		}
		api := func(do string) {
			GinkgoHelper()
			out, err := exec.CommandContext(ctx, program, "api", do).CombinedOutput() //nolint:gosec // what the Makefile has built
			Expect(err).NotTo(HaveOccurred(), "%s", out)
		}
		run := perfRun(cluster.newNamespace(ctx), "no-api", kept)
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitLoad(ctx, run, 1, preparing)
		attempt := run.Status.Attempt.DeepCopy()

		By("holding it until the load has long ended, and the manager has lost its lease and its process")
		DeferCleanup(func(SpecContext) { _ = exec.Command(program, "api", "resume").Run() }) //nolint:gosec // as above
		api("pause")
		// The manager gives its lease up when it could not renew it for 10 s, and starts again and again, at longer and longer intervals.
		time.Sleep(time.Minute)
		api("resume")

		cluster.awaitMeasured(ctx, run, 2*time.Minute)
		attempt.EndTime = run.Status.Attempt.EndTime
		Expect(run.Status.Attempt).To(Equal(attempt), "it is another attempt")
		measured, valid, sent := daprRequests(run)
		Expect(run.Status.Results[0].Dapr.Requests).To(Or(Equal(measured), Equal(valid)))
		Expect(cluster.traces(ctx, run).Traced).To(Equal(sent), "requests that reached the target through Dapr")
		var managers corev1.PodList
		Expect(cluster.List(ctx, &managers, client.InNamespace(operatorNamespace))).To(Succeed())
		Expect(managers.Items).To(ContainElement(HaveField("Status.ContainerStatuses", ContainElement(HaveField("RestartCount", BeNumerically(">", 0))))),
			"the manager bore it, and was not tried")
	}, SpecTimeout(6*time.Minute))
}
