package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/meter"
)

func meterCommand() *cobra.Command {
	var options meter.Options
	cmd := &cobra.Command{
		Use:   "meter",
		Short: "Serve the CPU and memory of the other containers of the pod to the load tester (the operator starts it beside the target)",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return meter.Serve(cmd.Context(), options) },
	}
	cmd.Flags().StringVar(&options.Addr, "listen", fmt.Sprintf(":%d", measure.TargetUsagePort), "address to serve on")
	return cmd
}
