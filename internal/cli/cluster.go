package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// cluster is the one that kubectl's own flags name: --kubeconfig, --context, --namespace, --as and so on.
type cluster struct {
	flags *genericclioptions.ConfigFlags
}

func newCluster() *cluster { return &cluster{flags: genericclioptions.NewConfigFlags(true)} }

// client makes a client and names the namespace to look in.
func (c *cluster) client() (client.WithWatch, string, error) {
	config, err := c.flags.ToRESTConfig()
	if err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	// What the API server warns of is for the reader, as with kubectl.
	config.WarningHandler = rest.NewWarningWriter(os.Stderr, rest.WarningWriterOptions{Deduplicate: true})
	namespace, _, err := c.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	// controller-runtime complains on the user's terminal about programs that do not say where it shall log.
	log.SetLogger(logr.Discard())
	cl, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, "", fmt.Errorf("connecting to the cluster: %w", err)
	}
	return cl, namespace, nil
}

func get(ctx context.Context, c client.Reader, namespace, name string) (*v1alpha1.PerfRun, error) {
	run := &v1alpha1.PerfRun{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, run)
	if err != nil {
		return nil, fmt.Errorf("reading PerfRun %s/%s: %w", namespace, name, explain(err))
	}
	return run, nil
}

// explain adds the way out to an error that says little of it.
func explain(err error) error {
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("this cluster knows no PerfRuns; install perfrun first (make deploy, or its Helm chart): %w", err)
	}
	return err
}
