package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/sink"
)

func sinkCommand() *cobra.Command {
	var options sink.Options
	cmd := &cobra.Command{
		Use:   "sink",
		Short: "Run as the trace sink: count the traces that sidecars export (the operator starts it in a pod)",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return sink.Serve(cmd.Context(), options) },
	}
	cmd.Flags().StringVar(&options.Addr, "listen", fmt.Sprintf(":%d", measure.SinkPort), "address that takes traces: OTLP over gRPC")
	cmd.Flags().StringVar(&options.CountsAddr, "counts-listen", fmt.Sprintf(":%d", measure.SinkCountsPort), "address that tells the load tester what has arrived")
	return cmd
}
