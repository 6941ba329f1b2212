package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/schedule"
)

func triggerCommand(on *cluster) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "trigger SCHEDULE",
		Short: "Measure at once what a PerfSchedule measures",
		Long: `Measure at once what a PerfSchedule measures, whatever its times, suspension or concurrency policy say; the result counts like any other.
It prints the name of the run. With --watch it follows the run to its verdict, as 'kubectl perfrun watch' does.
` + exitCodes,
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return on.completeSchedules(cmd, args, toComplete)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			namespace, name, err := trigger(cmd.Context(), on, args[0], cmd.OutOrStdout())
			if err != nil || !follow {
				return err
			}
			return watch(cmd.Context(), on, namespace, name, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVarP(&follow, "watch", "w", false, "follow the run to its verdict")
	return cmd
}

// created is how long the operator may take to create a run.
const created = 15 * time.Second

// trigger asks for a run, waits until there is one and prints its name.
func trigger(ctx context.Context, on *cluster, name string, out io.Writer) (namespace, run string, err error) {
	c, namespace, err := on.client()
	if err != nil {
		return "", "", err
	}
	s := &v1alpha1.PerfSchedule{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, s); err != nil {
		return "", "", fmt.Errorf("reading PerfSchedule %s/%s: %w", namespace, name, explain(err))
	}
	before := s.DeepCopy()
	value := time.Now().UTC().Format(time.RFC3339Nano)
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[schedule.AnnotationTrigger] = value
	if err := c.Patch(ctx, s, client.MergeFrom(before)); err != nil {
		return "", "", fmt.Errorf("asking PerfSchedule %s/%s for a run: %w", namespace, name, err)
	}
	run = schedule.ManualName(name, value)
	err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, created, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: run}, &v1alpha1.PerfRun{})
		return err == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		return "", "", fmt.Errorf("waiting for PerfRun %s/%s, which the operator has been asked for; `kubectl get perfschedule %s -o yaml` shows the condition Accepted: %w", namespace, run, name, err)
	}
	_, err = fmt.Fprintf(out, "perfrun.perfrun.dev/%s created\n", run)
	return namespace, run, err
}
