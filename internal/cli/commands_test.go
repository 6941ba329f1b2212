package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// finish gives a PerfRun the verdict of a real run, as soon as it is there.
func finish(ctx context.Context, namespace, name, file string) {
	defer GinkgoRecover()
	// The spec may be over before the answer to the update is read.
	ctx = context.WithoutCancel(ctx)
	text, err := os.ReadFile(statuses + file)
	Expect(err).NotTo(HaveOccurred())
	real, run := &v1alpha1.PerfRun{}, &v1alpha1.PerfRun{}
	Expect(yaml.Unmarshal(text, real)).To(Succeed())
	Eventually(func() error {
		return admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, run)
	}, 10*time.Second, 50*time.Millisecond).Should(Succeed())
	run.Status = real.Status
	Expect(admin.Status().Update(ctx, run)).To(Succeed())
}

func stored(ctx context.Context, namespace, name string) *v1alpha1.PerfRun {
	GinkgoHelper()
	run := &v1alpha1.PerfRun{}
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, run)).To(Succeed())
	return run
}

var _ = Describe("kubectl perfrun", func() {
	DescribeTable("run creates what it is told and ends with the verdict", func(ctx SpecContext, verdict string, code int) {
		ns := namespace(ctx)
		file := filepath.Join(GinkgoT().TempDir(), "run.yaml")
		Expect(os.WriteFile(file, []byte(`{apiVersion: perfrun.dev/v1alpha1, kind: PerfRun, metadata: {name: invoke}, spec: {scenario: Invocation, rps: 50}}`), 0o600)).To(Succeed())
		go finish(ctx, ns, "invoke", verdict)
		got := perfrun(ctx, ns, "run", "-f", file)
		Expect(got.Code).To(Equal(code), got.Says)
		Expect(got.Out).To(And(HavePrefix("perfrun.perfrun.dev/invoke created\n"), ContainSubstring("PerfRun "+ns+"/invoke: ")))
		Expect(stored(ctx, ns, "invoke").Spec.RPS).To(HaveValue(BeEquivalentTo(50)))
	},
		Entry("Succeeded", "succeeded.yaml", 0),
		Entry("Failed", "failed.yaml", 2),
		Entry("Inconclusive", "inconclusive.yaml", 3),
		Entry("Error", "error.yaml", 4),
	)

	It("runs what flags describe, and leaves out what they leave out", func(ctx SpecContext) {
		ns := namespace(ctx)
		got := perfrun(ctx, ns, "run", "quick", "--detach", "-o", "name", "--scenario", "Actors", "--rps", "100", "--payload", "2Ki", "--connections", "2,4", "--duration", "6s",
			"--mtls=false", "--threshold", "added.p99=5ms", "--threshold", "errorRatio=0.01")
		Expect(got).To(Equal(outcome{Out: "perfrun.perfrun.dev/quick\n"}))
		spec := stored(ctx, ns, "quick").Spec
		Expect(spec.Thresholds).To(HaveValue(And(HaveField("Added.P99.Duration", 5*time.Millisecond), HaveField("ErrorRatio", HaveValue(Equal("0.01"))))))
		Expect(spec.Payload.Size.String()).To(Equal("2Ki"))
		spec.Thresholds, spec.Payload = nil, nil
		Expect(spec).To(Equal(v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioActors, RPS: ptr.To[int32](100), Connections: []int32{2, 4},
			Duration: &metav1.Duration{Duration: 6 * time.Second}, MTLS: ptr.To(false)}))
		Expect(perfrun(ctx, ns, "run", "--detach").Out).To(MatchRegexp(`^perfrun.perfrun.dev/invocation-\w+ created\n$`))
	})

	It("prints on a dry run what run -f takes, and creates nothing", func(ctx SpecContext) {
		ns := namespace(ctx)
		for _, how := range []string{"--dry-run", "--dry-run=server"} {
			got := perfrun(ctx, ns, "run", "quick", how, "--rps", "100", "--sampling", "1")
			Expect(got.Code).To(BeZero(), got.Says)
			printed := &v1alpha1.PerfRun{}
			Expect(yaml.UnmarshalStrict([]byte(got.Out), printed)).To(Succeed(), got.Out)
			Expect(printed.Spec).To(Equal(v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioInvocation, RPS: ptr.To[int32](100), Sampling: ptr.To("1")}))
			Expect(got.Out).NotTo(ContainSubstring("status"))
		}
		var runs v1alpha1.PerfRunList
		Expect(admin.List(ctx, &runs, client.InNamespace(ns))).To(Succeed())
		Expect(runs.Items).To(BeEmpty())
	})

	DescribeTable("run refuses", func(ctx SpecContext, says string, args ...string) {
		dir := GinkgoT().TempDir()
		for name, text := range map[string]string{
			"two.yaml":  "{apiVersion: perfrun.dev/v1alpha1, kind: PerfRun, metadata: {name: a}}\n---\n{apiVersion: perfrun.dev/v1alpha1, kind: PerfRun, metadata: {name: b}}\n",
			"pod.yaml":  "{apiVersion: v1, kind: Pod, metadata: {name: a}}",
			"typo.yaml": "{apiVersion: perfrun.dev/v1alpha1, kind: PerfRun, metadata: {name: a}, spec: {scenario: Invocation, rate: 3}}",
			"away.yaml": "{apiVersion: perfrun.dev/v1alpha1, kind: PerfRun, metadata: {name: a, namespace: elsewhere}, spec: {scenario: Invocation}}",
		} {
			Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)).To(Succeed())
		}
		for i, arg := range args {
			if filepath.Ext(arg) == ".yaml" {
				args[i] = filepath.Join(dir, arg)
			}
		}
		got := perfrun(ctx, "default", append([]string{"run"}, args...)...)
		Expect(got.Code).To(Equal(1))
		Expect(got.Says).To(ContainSubstring(says))
	},
		Entry("two objects", "holds 2 objects", "-f", "two.yaml"),
		Entry("another kind", "holds a Pod, and no PerfRun.perfrun.dev", "-f", "pod.yaml"),
		Entry("a field that there is not", `unknown field "spec.rate"`, "-f", "typo.yaml"),
		Entry("a file of another namespace", "is in namespace elsewhere", "-f", "away.yaml"),
		Entry("no file", "does not exist", "-f", "none.yaml"),
		Entry("a file and flags", "not both", "-f", "two.yaml", "--rps", "1"),
		Entry("a file and a name", "not both", "a", "-f", "two.yaml"),
		Entry("what the API server refuses", "spec.rps", "a", "--rps", "0"),
		Entry("a limit that there is not", `unknown field "spec.thresholds.added.p42"`, "a", "--threshold", "added.p42=1ms"),
		Entry("no size", "it is a size such as", "a", "--payload", "large"),
		Entry("an odd dry run", `--dry-run "maybe" is none of`, "a", "--dry-run=maybe"),
		Entry("-o for the result", "kubectl perfrun report -o", "a", "-o", "yaml"),
	)

	It("says how to go on when it is interrupted, and the run does", func(ctx SpecContext) {
		ns := namespace(ctx)
		interrupted, interrupt := context.WithCancel(ctx)
		time.AfterFunc(2*time.Second, interrupt)
		got := perfrun(interrupted, ns, "run", "invoke")
		Expect(got.Code).To(Equal(1))
		Expect(got.Says).To(And(ContainSubstring("kubectl perfrun watch invoke -n "+ns), ContainSubstring("kubectl perfrun cancel invoke -n "+ns)))
		Expect(stored(ctx, ns, "invoke").Spec.Suspend).To(BeNil())
	})

	It("waits for a verdict, for so long, and sees a deletion", func(ctx SpecContext) {
		ns := namespace(ctx)
		Expect(perfrun(ctx, ns, "wait", recorded(ctx, ns, "failed.yaml"))).To(And(
			HaveField("Code", 2), HaveField("Out", ContainSubstring("ThresholdMissed: 1 of 1 thresholds missed"))))
		Expect(perfrun(ctx, ns, "wait", recorded(ctx, ns, "measuring.yaml"), "--timeout", "1500ms")).To(And(
			HaveField("Code", 1), HaveField("Says", And(ContainSubstring("no verdict within 1.5s"), ContainSubstring("Measuring: block 11 of 12 measured")))))
		Expect(perfrun(ctx, ns, "wait", "nothing")).To(HaveField("Says", ContainSubstring(`"nothing" not found`)))
		time.AfterFunc(time.Second, func() {
			defer GinkgoRecover()
			// The spec may be over before the answer is read.
			ctx := context.WithoutCancel(ctx)
			Expect(admin.Delete(ctx, stored(ctx, ns, "measuring"))).To(Succeed())
		})
		Expect(perfrun(ctx, ns, "wait", "measuring")).To(And(HaveField("Code", 1), HaveField("Says", ContainSubstring("it was deleted"))))
	})

	It("cancels and resumes, and says what that does", func(ctx SpecContext) {
		ns := namespace(ctx)
		name := recorded(ctx, ns, "measuring.yaml")
		Expect(perfrun(ctx, ns, "resume", name).Says).To(ContainSubstring("is not suspended; its phase is Measuring"))
		Expect(perfrun(ctx, ns, "cancel", name).Out).To(ContainSubstring("its load stops within seconds, and nothing of this attempt counts"))
		Expect(stored(ctx, ns, name).Spec.Suspend).To(HaveValue(BeTrue()))
		Expect(perfrun(ctx, ns, "resume", name).Out).To(ContainSubstring("starts afresh"))
		Expect(stored(ctx, ns, name).Spec.Suspend).To(HaveValue(BeFalse()))
		Expect(perfrun(ctx, ns, "cancel", recorded(ctx, ns, "queued.yaml")).Out).To(ContainSubstring("does not measure before it is resumed"))
		Expect(perfrun(ctx, ns, "cancel", recorded(ctx, ns, "collecting.yaml")).Says).To(ContainSubstring("nothing left to stop"))
		Expect(perfrun(ctx, ns, "cancel", recorded(ctx, ns, "succeeded.yaml")).Says).To(ContainSubstring("has finished: Succeeded"))
	})

	It("lists as a table, wide, as JSON, YAML and names", func(ctx SpecContext) {
		ns := namespace(ctx)
		Expect(perfrun(ctx, ns, "list").Out).To(Equal("No PerfRuns found.\n"))
		for _, file := range []string{"failed.yaml", "measuring.yaml", "queued.yaml"} {
			recorded(ctx, ns, file, func(r *v1alpha1.PerfRun) { r.Labels = map[string]string{"file": strings.TrimSuffix(file, ".yaml")} })
		}
		queued := stored(ctx, ns, "queued")
		queued.Status.QueuePosition = 3
		Expect(admin.Status().Update(ctx, queued)).To(Succeed())
		Expect(perfrun(ctx, ns, "list").Out).To(MatchRegexp(`(?m)^NAME +SCENARIO +PHASE +DONE +CONNECTIONS +RPS +P99 +ADDED P50 +.* AGE\n` +
			`failed +Invocation +Failed +100% +16 +186.1 .*\nmeasuring +Invocation +Measuring +\d+% .*\nqueued +Invocation +Queued +queue 3 `))
		Expect(perfrun(ctx, ns, "get", "failed", "-o", "wide").Out).To(And(ContainSubstring("1.193ms to 1.791ms"), ContainSubstring("n2 to n3"), ContainSubstring("1 of 1 thresholds missed")))
		Expect(perfrun(ctx, ns, "list", "-A", "-l", "file=queued").Out).To(MatchRegexp(`^NAMESPACE +NAME .*\n` + ns + ` +queued `))
		Expect(perfrun(ctx, ns, "list", "-o", "name").Out).To(Equal("perfrun.perfrun.dev/failed\nperfrun.perfrun.dev/measuring\nperfrun.perfrun.dev/queued\n"))
		one := &v1alpha1.PerfRun{}
		Expect(yaml.UnmarshalStrict([]byte(perfrun(ctx, ns, "get", "failed", "-o", "json").Out), one)).To(Succeed())
		Expect(one).To(And(HaveField("Kind", "PerfRun"), HaveField("Status.Phase", v1alpha1.PhaseFailed)))
		all := &v1alpha1.PerfRunList{}
		Expect(yaml.UnmarshalStrict([]byte(perfrun(ctx, ns, "list", "-o", "yaml").Out), all)).To(Succeed())
		Expect(all.Items).To(HaveLen(3))
		Expect(perfrun(ctx, ns, "list", "-o", "jsonpath={.items[*].status.phase}").Out).To(Equal("Failed Measuring Queued"))
		Expect(perfrun(ctx, ns, "list", "-o", "xml").Says).To(ContainSubstring("allowed formats are"))
	})

	It("completes the names of runs and the values of flags", func(ctx SpecContext) {
		ns := namespace(ctx)
		recorded(ctx, ns, "failed.yaml")
		recorded(ctx, ns, "queued.yaml")
		Expect(perfrun(ctx, ns, "__complete", "--kubeconfig", kubeconfig, "-n", ns, "report", "").Out).To(HavePrefix("failed\tInvocation, Failed\nqueued\tInvocation, Queued\n:4\n"))
		Expect(perfrun(ctx, ns, "__complete", "--kubeconfig", kubeconfig, "-n", ns, "report", "failed", "").Out).To(HavePrefix(":4\n"))
		Expect(perfrun(ctx, ns, "__complete", "run", "--scenario", "").Out).To(HavePrefix("Invocation\nActors\nControlPlane\n:4\n"))
	})

	It("has the rights of its user, and takes kubectl's flags", func(ctx SpecContext) {
		ns := namespace(ctx)
		recorded(ctx, ns, "measuring.yaml")
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "viewer"},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{"perfrun.dev"}, Resources: []string{"perfruns"}, Verbs: []string{"get", "list", "watch"}}}}
		Expect(admin.Create(ctx, role)).To(Succeed())
		Expect(admin.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "viewer"},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "viewer"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "reader"}}})).To(Succeed())
		Eventually(func() outcome { return perfrun(ctx, ns, "--as", "reader", "list", "-o", "name") }, 5*time.Second).
			Should(Equal(outcome{Out: "perfrun.perfrun.dev/measuring\n"}))
		Expect(perfrun(ctx, ns, "--as", "reader", "cancel", "measuring").Says).To(ContainSubstring("forbidden"))
		Expect(perfrun(ctx, ns, "--context", "nowhere", "list").Says).To(ContainSubstring(`context "nowhere" does not exist`))
	})
})
