package main

import (
	"github.com/spf13/cobra"

	"perfrun.dev/perfrun/internal/target"
)

func targetCommand() *cobra.Command {
	var options target.Options
	cmd := &cobra.Command{
		Use:   "target",
		Short: "Run as the application under test: answer every request with its own body (the operator starts it in a pod)",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return target.Serve(cmd.Context(), options) },
	}
	cmd.Flags().StringVar(&options.Addr, "listen", ":8080", "address of the application")
	cmd.Flags().StringVar(&options.UsageAddr, "usage-listen", ":8081", "address that serves the pod's CPU and memory to the load tester")
	return cmd
}
