package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/report"
)

// verdictError is a verdict that is not Succeeded, as the exit code that scripts tell them apart by.
type verdictError int

// The exit codes of verdicts. 1 is any other error.
const (
	exitFailed       verdictError = 2
	exitInconclusive verdictError = 3
	exitError        verdictError = 4
)

func (v verdictError) Error() string { return fmt.Sprintf("verdict with exit code %d", int(v)) }

// clusterFlags say which cluster and namespace to talk to, as kubectl's do.
type clusterFlags struct{ kubeconfig, context, namespace string }

func (c *clusterFlags) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.kubeconfig, "kubeconfig", "", "path of the kubeconfig (default: $KUBECONFIG, or ~/.kube/config)")
	cmd.Flags().StringVar(&c.context, "context", "", "context of the kubeconfig to use")
	cmd.Flags().StringVarP(&c.namespace, "namespace", "n", "", "namespace of the PerfRun (default: the context's)")
}

// client makes a client and names the namespace to look in.
func (c *clusterFlags) client() (client.Client, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	namespace := c.namespace
	if namespace == "" {
		if namespace, _, err = loader.Namespace(); err != nil {
			return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
		}
	}
	cl, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		return nil, "", fmt.Errorf("connecting to the cluster: %w", err)
	}
	return cl, namespace, nil
}

func watchCommand() *cobra.Command {
	var flags clusterFlags
	cmd := &cobra.Command{
		Use:   "watch NAME",
		Short: "Follow a PerfRun to its verdict, then print its result",
		Long:  "Follow a PerfRun to its verdict, then print its result.\nExit codes: 0 Succeeded, 2 Failed (a threshold was missed), 3 Inconclusive, 4 Error, 1 anything else.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, namespace, err := flags.client()
			if err != nil {
				return err
			}
			run, err := follow(cmd.Context(), c, namespace, args[0], cmd.OutOrStdout())
			if err != nil {
				return err
			}
			if err := report.Write(cmd.OutOrStdout(), run); err != nil {
				return err
			}
			return verdictOf(run)
		},
	}
	flags.bind(cmd)
	return cmd
}

func get(ctx context.Context, c client.Client, namespace, name string) (*v1alpha1.PerfRun, error) {
	run := &v1alpha1.PerfRun{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, run); err != nil {
		return nil, fmt.Errorf("reading PerfRun %s/%s: %w", namespace, name, err)
	}
	return run, nil
}

// follow prints how the run goes on until it has a verdict. A moment without API server is no end.
func follow(ctx context.Context, c client.Client, namespace, name string, out io.Writer) (*v1alpha1.PerfRun, error) {
	run, err := get(ctx, c, namespace, name)
	if err != nil {
		return nil, err
	}
	file, isFile := out.(*os.File)
	progress := report.Progress{Out: out, Start: time.Now(), Live: isFile && term.IsTerminal(int(file.Fd()))}
	err = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		latest, err := get(ctx, c, namespace, name)
		switch {
		case client.IgnoreNotFound(err) == nil && err != nil:
			return false, err
		case err != nil:
			progress.Say(time.Now(), err.Error())
			return false, nil
		}
		run = latest
		progress.Show(time.Now(), run)
		return run.Status.Phase.Finished(), nil
	})
	progress.End()
	if err != nil {
		return nil, fmt.Errorf("following PerfRun %s/%s: %w", namespace, name, err)
	}
	return run, nil
}

func verdictOf(run *v1alpha1.PerfRun) error {
	switch run.Status.Phase {
	case v1alpha1.PhaseFailed:
		return exitFailed
	case v1alpha1.PhaseInconclusive:
		return exitInconclusive
	case v1alpha1.PhaseError:
		return exitError
	default:
		return nil
	}
}
