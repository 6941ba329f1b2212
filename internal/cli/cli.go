// Package cli holds the commands of `kubectl perfrun`, one file for each. They talk to the API server with the user's own kubeconfig and rights.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Main runs the command of the process's arguments and returns its exit code.
func Main(version string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, says := outcomeOf(newRoot(version).ExecuteContext(ctx))
	if says != "" {
		fmt.Fprintln(os.Stderr, "error:", says)
	}
	return code
}

func newRoot(version string) *cobra.Command {
	root := &cobra.Command{
		Use:           "kubectl-perfrun",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl perfrun"},
		Short:         "Measure what Dapr costs on your own Kubernetes cluster",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c := newCluster()
	c.flags.AddFlags(root.PersistentFlags())
	root.AddCommand(runCommand(c), listCommand(c), watchCommand(c), waitCommand(c), cancelCommand(c), resumeCommand(c), reportCommand(c), rawCommand(c), compareCommand(c), exportCommand(c), triggerCommand(c), dashboardCommand(c))
	utilruntime.Must(root.RegisterFlagCompletionFunc("namespace", cobra.NoFileCompletions))
	return root
}

// outcomeOf tells how the process ends: 0, a verdict's own code (which has been explained already), or 1 with what there is to say.
func outcomeOf(err error) (code int, says string) {
	var verdict verdictError
	switch {
	case err == nil:
		return 0, ""
	case errors.As(err, &verdict):
		return int(verdict), ""
	default:
		return 1, err.Error()
	}
}
