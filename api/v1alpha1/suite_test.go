package v1alpha1_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"perfrun.dev/perfrun/api/v1alpha1"
)

const configDir = "../../config"

var (
	restConfig *rest.Config
	// strict refuses unknown fields, as kubectl does.
	strict client.Client
)

// TestAPIServer applies what people write to a real API server that knows the generated CustomResourceDefinition.
func TestAPIServer(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "PerfRun API")
}

var _ = BeforeSuite(func() {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		Fail("KUBEBUILDER_ASSETS names no folder with kube-apiserver and etcd; `make test` finds or builds one")
	}
	scheme := runtime.NewScheme()
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())

	server := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join(configDir, "crd", "bases")},
		ErrorIfCRDPathMissing: true,
		// Two cores may be compiling something else meanwhile.
		ControlPlaneStartTimeout: 2 * time.Minute,
	}
	var err error
	restConfig, err = server.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(server.Stop)

	c, err := client.New(restConfig, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	strict = client.WithFieldValidation(c, "Strict")
})
