package e2e

import (
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// fortioServing is `fortio server`, which sends back what it is sent.
var fortioServing = []string{"server", "-grpc-port", "disabled", "-tcp-port", "disabled", "-udp-port", "disabled", "-redirect-port", "disabled"}

// application puts an image in the target's place.
func application(image string, args ...string) change {
	return func(s *v1alpha1.PerfRunSpec) {
		s.Target = &v1alpha1.TargetSettings{Image: ptr.To(image), Args: args, RunAsUser: ptr.To[int64](65532)}
	}
}

func stockFortio() string {
	GinkgoHelper()
	image := os.Getenv(fortioImage)
	if image == "" {
		Skip(fortioImage + " names no image of Fortio that the cluster can run")
	}
	return image
}

// ownImages: an application that is not perfrun's is measured as exactly as perfrun's own, and one that cannot be measured is told why.
func ownImages() {
	It("measures an application that is not perfrun's", func(ctx SpecContext) {
		image := stockFortio()
		run := perfRun(cluster.newNamespace(ctx), "own-image", application(image, fortioServing...), blocks(2, 4*time.Second, time.Second))
		Expect(cluster.Create(ctx, run)).To(Succeed())
		cluster.awaitMeasured(ctx, run, preparing+2*time.Minute)
		Expect(run.Status.Environment.Images.Target).To(HaveSuffix(image))
		for _, arm := range []v1alpha1.Arm{v1alpha1.ArmBaseline, v1alpha1.ArmDapr} {
			for _, u := range usageOf(run, arm, v1alpha1.ComponentApp, v1alpha1.ComponentTargetSidecar) {
				Expect(u.Source).To(Equal(v1alpha1.SourceProc), "%s: %s", u.Component, u.Note)
				Expect(vcpu(u.CPU)).To(BeNumerically(">", 0), "CPU of %s", u.Component)
				Expect(u.Memory.Mean.Value()).To(BeNumerically(">", 0), "memory of %s", u.Component)
				Expect(decimal(u.Coverage)).To(BeNumerically(">=", 0.9), "coverage of %s in %s", u.Component, arm)
			}
		}
		Expect(run.Status.Environment.Sampling).To(BeEmpty(), "nobody has counted")
		Expect(run.Status.Warnings).To(ContainElement(HaveField("Reason", v1alpha1.ReasonSamplingUnknown)))
	}, SpecTimeout(5*time.Minute))

	DescribeTable("says what is wrong with an application that",
		func(ctx SpecContext, image func() string, args []string, reason string, says string) {
			run := perfRun(cluster.newNamespace(ctx), "bad-image", application(image(), args...))
			Expect(cluster.Create(ctx, run)).To(Succeed())
			cluster.await(ctx, run, preparing, "waiting or ended because of "+reason, func(r *v1alpha1.PerfRun) bool {
				return conditionOf(r, v1alpha1.ConditionSucceeded).Reason == reason
			})
			Expect(conditionOf(run, v1alpha1.ConditionSucceeded).Message).To(ContainSubstring(says))
		},
		Entry("cannot be pulled", func() string { return "image.invalid/none:1" }, nil, v1alpha1.ReasonImagePull, "image.invalid/none:1", SpecTimeout(4*time.Minute)),
		Entry("crashes", stockFortio, []string{"serve"}, v1alpha1.ReasonContainerFailing, "container target", SpecTimeout(4*time.Minute)),
		Entry("answers with errors", stockFortio, append([]string{"server", "-echo-server-default-params", "status=503"}, fortioServing[1:]...),
			v1alpha1.ReasonPathNotWorking, "status 503", SpecTimeout(4*time.Minute)),
	)
}
