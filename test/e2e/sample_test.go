package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
)

const (
	checkout   = "../.."
	sampleFile = checkout + "/config/samples/perfrun_invocation.yaml"
)

// sampleRun follows what the README tells a newcomer to apply to the figures that it promises.
func sampleRun() {
	It("measures the sample run", func(ctx SpecContext) {
		run := measureSample(ctx)
		succeeded := run.Status.Phase == v1alpha1.PhaseSucceeded

		printed := printedReport(ctx, run)
		AddReportEntry("kubectl perfrun report "+run.Name, "\n"+printed)
		Expect(printed).To(And(ContainSubstring("Dapr adds"), ContainSubstring("callerSidecar"), ContainSubstring("scheduler")))
		Expect(conditionOf(run, v1alpha1.ConditionSucceeded).ObservedGeneration).To(Equal(run.Generation))
		// Otherwise the machine did too much besides, and nothing else is wrong (awaitMeasured sees to that): the figures are there all the same.
		if succeeded {
			Expect(conditionOf(run, v1alpha1.ConditionSucceeded)).To(And(
				HaveField("Status", BeEquivalentTo("True")), HaveField("Reason", v1alpha1.ReasonMeasured)))
			Expect(run.Status.Reasons).To(BeEmpty())
		}
		Expect(run.Status.Progress).To(And(HaveField("Block", int32(12)), HaveField("Blocks", int32(12)), HaveField("Display", "100%")))
		expectLatency(run)
		expectEnvironment(run)
		expectUsage(run)
		expectColumns(ctx, run)
		cluster.expectNothingLeft(ctx, run.Namespace, time.Minute)
		expectRawData(ctx, run)
		if os.Getenv(prometheusImage) == "" {
			Skip(prometheusImage + " names no image of a Prometheus that the cluster can run: all but the metrics was seen")
		}
		expectMetrics(ctx, run)
	}, SpecTimeout(12*time.Minute))
}

// measureSample follows the sample to its verdict: 140 s of load, and what comes before and after.
func measureSample(ctx context.Context) *v1alpha1.PerfRun {
	GinkgoHelper()
	namespace := cluster.newNamespace(ctx)
	var printed bytes.Buffer
	follower := pluginCommand(ctx, "run", "--filename", sampleFile, "--namespace", namespace)
	follower.Stdout = &printed
	Expect(follower.Start()).To(Succeed())
	run := &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "invoke"}}
	Eventually(func() error { return cluster.Get(ctx, client.ObjectKeyFromObject(run), run) }, 10*time.Second, 200*time.Millisecond).Should(Succeed())
	cluster.awaitPhase(ctx, run, v1alpha1.PhaseMeasuring, preparing)
	cluster.awaitMeasured(ctx, run, 4*time.Minute)
	// What it returns is the exit code, which is looked at.
	_ = follower.Wait()
	AddReportEntry("kubectl perfrun run", "\n"+printed.String())
	Expect(follower.ProcessState.ExitCode()).To(Equal(map[v1alpha1.Phase]int{v1alpha1.PhaseSucceeded: 0, v1alpha1.PhaseInconclusive: 3}[run.Status.Phase]))
	Expect(printed.String()).To(And(HavePrefix("perfrun.perfrun.dev/invoke created\n"), MatchRegexp(`\d+%  Dapr, 16 connections, pair \d of 6, about .* to go; Baseline p50 \d`)))
	return run
}

// printedReport is what `kubectl perfrun report` prints.
func printedReport(ctx context.Context, run *v1alpha1.PerfRun) string {
	GinkgoHelper()
	return plugin(ctx, "report", run.Name, "--namespace", run.Namespace)
}

// plugin runs `kubectl perfrun`, as `make build` has built it.
func plugin(ctx context.Context, args ...string) string {
	GinkgoHelper()
	printed, err := pluginCommand(ctx, args...).Output()
	Expect(err).NotTo(HaveOccurred(), "running kubectl perfrun %s", args[0])
	return string(printed)
}

func pluginCommand(ctx context.Context, args ...string) *exec.Cmd {
	GinkgoHelper()
	bin, err := filepath.Abs(checkout + "/.local/bin")
	Expect(err).NotTo(HaveOccurred())
	command := exec.CommandContext(ctx, checkout+"/hack/kubectl.sh", append([]string{"perfrun"}, args...)...)
	command.Env, command.Stderr = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH")), GinkgoWriter
	return command
}

// expectRawData asks for the raw data after clean-up: they are whole, and say what the status says.
func expectRawData(ctx context.Context, run *v1alpha1.PerfRun) {
	GinkgoHelper()
	Expect(run.Status.Raw).NotTo(BeNil())
	Expect(run.Status.Raw.SeriesStep.Duration).To(Equal(time.Second))
	printed := plugin(ctx, "raw", run.Name, "--namespace", run.Namespace, "--percentile", "99")
	Expect(printed).To(And(ContainSubstring("Baseline"), ContainSubstring("Dapr")))
	// Raw data hold every block, the results only the valid ones.
	if len(run.Status.InvalidBlocks) == 0 {
		for _, arm := range []*v1alpha1.ArmResult{run.Status.Results[0].Baseline, run.Status.Results[0].Dapr} {
			Expect(printed).To(ContainSubstring(arm.Latency.P99.String()))
		}
	}
	// A heading, and ten seconds of twelve blocks.
	seconds := plugin(ctx, "raw", run.Name, "--namespace", run.Namespace, "-o", "csv")
	Expect(strings.Count(seconds, "\n")).To(Equal(1+120), seconds)
}

func expectLatency(run *v1alpha1.PerfRun) {
	GinkgoHelper()
	Expect(run.Status.Results).To(HaveLen(1))
	point, succeeded := run.Status.Results[0], run.Status.Phase == v1alpha1.PhaseSucceeded
	Expect(point.Connections).To(BeEquivalentTo(16))
	for _, arm := range []*v1alpha1.ArmResult{point.Baseline, point.Dapr} {
		Expect(arm).NotTo(BeNil())
		if succeeded {
			// 99% of what is due, which is one request less than a thousand a second over each connection.
			Expect(decimal(arm.AchievedRPS)).To(BeNumerically(">=", 988), "achieved rate")
			Expect(arm.Skipped).To(BeZero())
		}
		Expect(arm.Errors).To(BeZero(), "errors by code: %v", arm.ErrorCodes)
		for _, l := range []*v1alpha1.LatencySummary{arm.Latency, arm.ServiceTime} {
			Expect(l.P50.Duration).To(BeNumerically(">", 0))
			Expect(l.P50.Duration).To(BeNumerically("<=", l.P90.Duration))
			Expect(l.P90.Duration).To(BeNumerically("<=", l.P99.Duration))
			Expect(l.P99.Duration).To(BeNumerically("<=", l.Max.Duration))
		}
	}
	Expect(point.Added.P50.Value.Duration).To(BeNumerically(">", 0), "added p50")
	pairs := v1alpha1.DefaultPairs
	if succeeded {
		// Where too few would be left, all are counted, and the run is Inconclusive.
		pairs = validPairs(run)
	}
	for _, added := range []*v1alpha1.AddedLatency{point.Added.P50, point.Added.P90, point.Added.P99} {
		Expect(added).NotTo(BeNil())
		Expect(added.Pairs).To(Equal(pairs), "invalid blocks: %v", run.Status.InvalidBlocks)
		if pairs < v1alpha1.DefaultPairs {
			// Fewer than six have no 95% interval.
			continue
		}
		Expect(added.Low.Duration).To(BeNumerically("<=", added.Value.Duration))
		Expect(added.High.Duration).To(BeNumerically(">=", added.Value.Duration))
	}
}

// validPairs is the number of pairs of a run that succeeded without those that a rule has left out, as happens on a busy machine.
func validPairs(run *v1alpha1.PerfRun) int32 {
	invalid := map[int32]bool{}
	for _, b := range run.Status.InvalidBlocks {
		invalid[b.Pair] = true
	}
	return run.Status.Settings.Pairs - int32(len(invalid))
}

func expectEnvironment(run *v1alpha1.PerfRun) {
	GinkgoHelper()
	e := run.Status.Environment
	Expect(e.Kubernetes).To(HavePrefix("v1."))
	Expect(e.Dapr).NotTo(BeEmpty(), "Dapr's version")
	Expect(e.MTLS).To(HaveValue(BeTrue()))
	Expect(decimal(e.Sampling)).To(BeNumerically("~", 0.1, 0.02), "sampling as seen at the target")
	Expect(e.Nodes.LoadTester).NotTo(BeEmpty())
	Expect(e.Nodes.Target).NotTo(Or(BeEmpty(), Equal(e.Nodes.LoadTester)))
	Expect(e.Images.Perfrun).NotTo(BeEmpty())
	Expect(e.Images.Sidecar).NotTo(BeEmpty())
}

// expectColumns asks for what `kubectl get perfruns` shows: the API server makes the table.
func expectColumns(ctx context.Context, run *v1alpha1.PerfRun) {
	GinkgoHelper()
	answer, err := cluster.clientset.RESTClient().Get().
		AbsPath("/apis", v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version, "namespaces", run.Namespace, "perfruns").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	var table metav1.Table
	Expect(yaml.Unmarshal(answer, &table)).To(Succeed())
	Expect(table.Rows).To(HaveLen(1))
	cells := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		cells[column.Name] = table.Rows[0].Cells[i]
	}
	point := run.Status.Results[0]
	Expect(cells).To(And(
		HaveKeyWithValue("Name", run.Name),
		HaveKeyWithValue("Scenario", "Invocation"),
		HaveKeyWithValue("Phase", string(run.Status.Phase)),
		HaveKeyWithValue("Done", "100%"),
		HaveKeyWithValue("RPS", point.Dapr.AchievedRPS),
		HaveKeyWithValue("P90", point.Dapr.Latency.P90.String()),
		HaveKeyWithValue("P99", point.Dapr.Latency.P99.String()),
		HaveKeyWithValue("Added P90", point.Added.P90.Value.String()),
		HaveKeyWithValue("Added P99", point.Added.P99.Value.String()),
		HaveKeyWithValue("Sidecar CPU", run.Status.Summary.SidecarCPU),
		HaveKeyWithValue("Sidecar Memory", run.Status.Summary.SidecarMemory)))
}

// decimal reads a number that the API writes as a string.
func decimal(s string) float64 {
	GinkgoHelper()
	f, err := strconv.ParseFloat(s, 64)
	Expect(err).NotTo(HaveOccurred())
	return f
}
