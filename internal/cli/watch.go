package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/report"
)

func watchCommand(on *cluster) *cobra.Command {
	return &cobra.Command{
		Use:               "watch NAME",
		Short:             "Follow a PerfRun to its verdict, then print its result",
		Long:              "Follow a PerfRun to its verdict, then print its result. Ctrl-C leaves the run going.\n" + exitCodes,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: on.completeRuns(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			namespace, _, err := on.flags.ToRawKubeConfigLoader().Namespace()
			if err != nil {
				return fmt.Errorf("reading the kubeconfig: %w", err)
			}
			return watch(cmd.Context(), on, namespace, args[0], cmd.OutOrStdout())
		},
	}
}

// watch follows the run to its verdict, and returns that as an error.
func watch(ctx context.Context, on *cluster, namespace, name string, out io.Writer) error {
	c, _, err := on.client()
	if err != nil {
		return err
	}
	file, isFile := out.(*os.File)
	live := isFile && term.IsTerminal(int(file.Fd()))
	run, err := follow(ctx, c, namespace, name, &report.Progress{Out: out, Start: time.Now(), Live: live})
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("interrupted; the run goes on. Follow it again: kubectl perfrun watch %[1]s -n %[2]s. End it: kubectl perfrun cancel %[1]s -n %[2]s", name, namespace)
	case err != nil:
		return err
	}
	if err := report.Write(out, run); err != nil {
		return err
	}
	return verdictOf(run)
}

// follow shows how the run goes on until it has a verdict. A moment without API server is no end; when the context ends before the run, what
// was seen last is returned as well.
func follow(ctx context.Context, c client.Reader, namespace, name string, progress *report.Progress) (*v1alpha1.PerfRun, error) {
	run, err := get(ctx, c, namespace, name)
	if err != nil {
		return nil, err
	}
	err = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		latest, err := get(ctx, c, namespace, name)
		switch {
		case client.IgnoreNotFound(err) == nil && err != nil:
			return false, fmt.Errorf("it was deleted: %w", err)
		case err != nil:
			progress.Say(time.Now(), err.Error())
			return false, nil
		case latest.UID != run.UID:
			return false, replaced(run.UID)
		}
		run = latest
		progress.Show(time.Now(), run)
		return run.Status.Phase.Finished(), nil
	})
	progress.End()
	if err != nil {
		return run, fmt.Errorf("following PerfRun %s/%s: %w", namespace, name, err)
	}
	return run, nil
}

func replaced(uid types.UID) error {
	return fmt.Errorf("it was deleted, and another was created with its name; the one that was followed had the uid %s", uid)
}
