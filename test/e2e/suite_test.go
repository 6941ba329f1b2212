// Package e2e runs perfrun on a real cluster with real Dapr: the one that KUBECONFIG names, where the operator is deployed.
// It scales Dapr's injector and metrics-server down, cordons nodes and puts everything back: not for a cluster that others rely on.
package e2e

import (
	"os"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestE2E(t *testing.T) {
	if kubeconfig, set := os.LookupEnv("KUBECONFIG"); !set {
		t.Skip("KUBECONFIG is not set; `make e2e` runs this suite on a local cluster")
	} else if kubeconfig == "" {
		t.Fatal("KUBECONFIG is empty: there is no cluster to test on")
	}
	RegisterFailHandler(Fail)
	RunSpecs(t, "perfrun end to end")
}

// cluster is the one that KUBECONFIG names.
var cluster *testCluster

// The first process looks at the cluster, and names the suite for all of them.
var _ = SynchronizedBeforeSuite(func(ctx SpecContext) []byte {
	cluster = connect(strconv.FormatInt(time.Now().UnixNano(), 10))
	cluster.expectOperator(ctx)
	cluster.expectWhole(ctx)
	cluster.awaitEmptyQueue(ctx)
	return []byte(cluster.suite)
}, func(_ SpecContext, suite []byte) {
	cluster = connect(string(suite))
}, NodeTimeout(6*time.Minute))

var _ = SynchronizedAfterSuite(func() {}, func(ctx SpecContext) {
	if cluster == nil {
		return
	}
	// It needs half a minute to come back, and no namespace goes without it.
	expectMetricsServed(ctx)
	cluster.awaitNamespacesGone(ctx)
}, NodeTimeout(3*time.Minute))

// Several at a time, as many as Ginkgo is given processes, with runs that wait for nobody (perfRun): these specs are about what happens
// and what is said, not about how long it takes. The longest come first.
var _ = Describe("perfrun on a cluster with Dapr", func() {
	actors()
	validity()
	severalLoadTesters()
	ownImages()
	paths()
	schedules()
	mutualTLS()
	telemetry()
	interruptions()
	refusals()
})

// One after the other, when all others are done: these specs measure something, change the cluster, or need the whole of it. Each stands
// by itself, so that one failure does not hide what the others have to say.
var _ = Describe("perfrun with a cluster to itself", Serial, Ordered, ContinueOnFailure, func() {
	sampleRun()
	fortioAgrees()
	thresholds()
	controlPlaneScenario()
	obstacles()
	queue()
	clusterMTLS()
	clusterFails()
	apiServerAway()
})
