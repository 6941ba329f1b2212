package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
)

const (
	configDir = "../../config"
	// statuses are those of real runs.
	statuses = configDir + "/argocd/perfrun.dev/PerfRun/testdata/"
)

var (
	kubeconfig string
	admin      client.Client
)

// TestCommands runs the commands on a real API server. There is no operator: the specs write the statuses, of which most are those of real runs.
func TestCommands(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "kubectl perfrun")
}

var _ = BeforeSuite(func() {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		Fail("KUBEBUILDER_ASSETS names no folder with kube-apiserver and etcd; `make test` finds or builds one")
	}
	server := &envtest.Environment{
		CRDDirectoryPaths: []string{filepath.Join(configDir, "crd", "bases")}, ErrorIfCRDPathMissing: true,
		ControlPlaneStartTimeout: 2 * time.Minute,
	}
	config, err := server.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(server.Stop)
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(rbacv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	admin, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	user, err := server.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	Expect(err).NotTo(HaveOccurred())
	text, err := user.KubeConfig()
	Expect(err).NotTo(HaveOccurred())
	kubeconfig = filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(os.WriteFile(kubeconfig, text, 0o600)).To(Succeed())
})

// outcome of a command: what it printed and how it would have ended.
type outcome struct {
	Out  string
	Code int
	Says string
}

// perfrun runs the command on the suite's API server.
func perfrun(ctx context.Context, namespace string, args ...string) outcome {
	GinkgoHelper()
	root := newRoot("test")
	var out, errOut bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&errOut)
	root.SetArgs(append([]string{"--kubeconfig", kubeconfig, "--namespace", namespace}, args...))
	code, says := outcomeOf(root.ExecuteContext(ctx))
	return outcome{Out: out.String() + errOut.String(), Code: code, Says: says}
}

// namespace is a fresh one.
func namespace(ctx context.Context) string {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "cli-"}}
	Expect(admin.Create(ctx, ns)).To(Succeed())
	return ns.Name
}

// recorded creates a PerfRun with the spec and status of a real run, with changes if there are any, and returns its name.
func recorded(ctx context.Context, namespace, file string, changes ...func(*v1alpha1.PerfRun)) string {
	GinkgoHelper()
	text, err := os.ReadFile(statuses + file)
	Expect(err).NotTo(HaveOccurred())
	run := &v1alpha1.PerfRun{}
	Expect(yaml.Unmarshal(text, run)).To(Succeed())
	run.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: strings.TrimSuffix(file, ".yaml")}
	for _, change := range changes {
		change(run)
	}
	status := run.Status
	Expect(admin.Create(ctx, run)).To(Succeed())
	run.Status = status
	Expect(admin.Status().Update(ctx, run)).To(Succeed())
	return run.Name
}
