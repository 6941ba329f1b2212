package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/report"
)

func watchCommand(on *cluster) *cobra.Command {
	return &cobra.Command{
		Use:   "watch NAME",
		Short: "Follow a PerfRun to its verdict, then print its result",
		Long:  "Follow a PerfRun to its verdict, then print its result.\n" + exitCodes,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, namespace, err := on.client()
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
