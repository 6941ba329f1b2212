// Package e2e runs perfrun on a real cluster with real Dapr: the one that KUBECONFIG names, where the operator is deployed.
// It scales Dapr's injector and metrics-server down, cordons nodes and puts everything back: not for a cluster that others rely on.
package e2e

import (
	"os"
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

var _ = BeforeSuite(func(ctx SpecContext) {
	cluster = connect()
	cluster.expectOperator(ctx)
	cluster.expectWhole(ctx)
	cluster.awaitEmptyQueue(ctx)
}, NodeTimeout(6*time.Minute))

var _ = AfterSuite(func(ctx SpecContext) {
	if cluster != nil {
		cluster.awaitNamespacesGone(ctx)
	}
}, NodeTimeout(2*time.Minute))

// One after the other: runs measure one at a time, and several specs change the cluster. Each stands by itself, so that one failure
// does not hide what the others have to say.
var _ = Describe("perfrun on a cluster with Dapr", Serial, Ordered, ContinueOnFailure, func() {
	refusals()
	sampleRun()
	paths()
	fortioAgrees()
	ownImages()
	severalLoadTesters()
	validity()
	actors()
	controlPlaneScenario()
	interruptions()
	queue()
	podSecurity()
	mutualTLS()
	telemetry()
	obstacles()
	apiServerAway()
})
