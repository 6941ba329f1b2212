package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"perfrun.dev/perfrun/internal/measure"
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
	cmd.Flags().StringVar(&options.Addr, "listen", fmt.Sprintf(":%d", measure.TargetPort), "address of the application")
	cmd.Flags().StringVar(&options.GRPCAddr, "grpc-listen", "", "address of the application over gRPC; none unless set")
	cmd.Flags().StringVar(&options.TracesAddr, "traces-listen", fmt.Sprintf(":%d", measure.TargetTracesPort),
		"address that tells the load tester how many requests arrived with a trace context, and how many sampled")
	cmd.Flags().StringVar(&options.ActorType, "actor-type", "", "type of the actors that it hosts; none if empty")
	return cmd
}
