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
)

// Main runs the command of the process's arguments and returns its exit code.
func Main(version string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return codeOf(newRoot(version).ExecuteContext(ctx))
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
	root.AddCommand(watchCommand(c), reportCommand(c), rawCommand(c))
	return root
}

// codeOf tells how the process ends: 0, a verdict's own code (which has been explained already), or 1 with the error printed.
func codeOf(err error) int {
	var verdict verdictError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &verdict):
		return int(verdict)
	default:
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
}
