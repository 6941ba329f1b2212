package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"perfrun.dev/perfrun/internal/report"
)

func waitCommand(on *cluster) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait for a PerfRun's verdict and print it",
		Long: `Wait for a PerfRun's verdict and print it. Unlike 'kubectl wait --for=condition=Succeeded' it returns with every verdict.
` + exitCodes,
		Example:           "  kubectl perfrun wait invoke --timeout 10m",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: on.completeRuns(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, namespace, err := on.client()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			run, err := follow(ctx, c, namespace, args[0], &report.Progress{Out: io.Discard})
			switch {
			case errors.Is(err, context.DeadlineExceeded) && run != nil:
				return fmt.Errorf("no verdict within %s. %s", timeout, report.Verdict(run))
			case err != nil:
				return err
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), report.Verdict(run)); err != nil {
				return err
			}
			return verdictOf(run)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait at most; 0: as long as it takes")
	return cmd
}
