// Command perfrun measures what Dapr costs on a Kubernetes cluster. One binary and one image hold the operator (manager), the pods that it creates
// (loadtester, target, meter, sink) and the commands for people (watch, report, raw), so that their versions cannot differ.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set at build time with -ldflags "-X main.version=...".
var version = "dev"

func main() {
	root := &cobra.Command{
		Use:           "perfrun",
		Short:         "Measure what Dapr costs on your own Kubernetes cluster",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(managerCommand(), loadTesterCommand(), targetCommand(), sinkCommand(), meterCommand(), watchCommand(), reportCommand(), rawCommand())

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root.ExecuteContext(ctx)
	stop()
	os.Exit(codeOf(err))
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
		fmt.Fprintln(os.Stderr, "perfrun:", err)
		return 1
	}
}
