package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
)

func cancelCommand(on *cluster) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel NAME",
		Short: "Stop a PerfRun within seconds; nothing of its attempt counts",
		Long: `Stop a PerfRun within seconds: its spec.suspend becomes true. Nothing of the attempt counts, its pods are deleted, and the next run has its turn.
The PerfRun stays. 'kubectl perfrun resume' starts it afresh, 'kubectl delete perfrun' ends it for good.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: on.completeRuns(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return suspend(cmd.Context(), on, args[0], true, cmd.OutOrStdout())
		},
	}
}

func resumeCommand(on *cluster) *cobra.Command {
	return &cobra.Command{
		Use:               "resume NAME",
		Short:             "Put a cancelled PerfRun back into the queue; it starts afresh",
		Long:              "Put a cancelled PerfRun back into the queue, at its place by creation: its spec.suspend becomes false. It starts afresh.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: on.completeRuns(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return suspend(cmd.Context(), on, args[0], false, cmd.OutOrStdout())
		},
	}
}

// suspend writes spec.suspend and says what that does.
func suspend(ctx context.Context, on *cluster, name string, held bool, out io.Writer) error {
	c, namespace, err := on.client()
	if err != nil {
		return err
	}
	run, err := get(ctx, c, namespace, name)
	if err != nil {
		return err
	}
	said, err := suspending(run, held)
	if err != nil {
		return err
	}
	before := run.DeepCopy()
	run.Spec.Suspend = ptr.To(held)
	if err := c.Patch(ctx, run, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("writing spec.suspend of PerfRun %s/%s: %w", namespace, name, err)
	}
	_, err = fmt.Fprintf(out, "PerfRun %s/%s: %s\n", namespace, name, said)
	return err
}

// suspending is what holding the run, or letting it go, comes to; an error where it is too late for either.
func suspending(run *v1alpha1.PerfRun, held bool) (string, error) {
	switch phase := run.Status.Phase; {
	case phase.Finished():
		return "", fmt.Errorf("PerfRun %s/%s has finished: %s", run.Namespace, run.Name, phase)
	case held && phase == v1alpha1.PhaseCollecting:
		return "", fmt.Errorf("the load of PerfRun %s/%s has ended, and its results are being written: there is nothing left to stop", run.Namespace, run.Name)
	case held && phase == v1alpha1.PhaseMeasuring:
		return "suspended; its load stops within seconds, and nothing of this attempt counts", nil
	case held:
		return "suspended; it does not measure before it is resumed", nil
	case !ptr.Deref(run.Spec.Suspend, false):
		return "", fmt.Errorf("PerfRun %s/%s is not suspended; its phase is %s", run.Namespace, run.Name, phaseOf(run))
	default:
		return "resumed; it starts afresh when it is its turn", nil
	}
}
