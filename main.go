// Command perfrun is what runs in the cluster: the operator (manager) and the pods that it creates (loadtester, target, meter, sink). It is one binary
// in one image, so that their versions cannot differ. What people use is a program of its own, cmd/kubectl-perfrun.
package main

import (
	"context"
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
	root.AddCommand(managerCommand(), loadTesterCommand(), targetCommand(), sinkCommand(), meterCommand())

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root.ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "perfrun:", err)
		os.Exit(1)
	}
}
