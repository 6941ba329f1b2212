package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
)

func (c *cluster) completeSchedules(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	cl, namespace, err := c.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var schedules v1alpha1.PerfScheduleList
	if err := cl.List(cmd.Context(), &schedules, client.InNamespace(namespace)); err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var out []cobra.Completion
	for _, s := range schedules.Items {
		out = append(out, cobra.CompletionWithDesc(s.Name, s.Spec.Schedule))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeRuns completes the names of PerfRuns, for at most so many arguments; -1: for any number.
func (c *cluster) completeRuns(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if most >= 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		cl, namespace, err := c.client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var runs v1alpha1.PerfRunList
		if err := cl.List(cmd.Context(), &runs, client.InNamespace(namespace)); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var out []cobra.Completion
		for _, run := range runs.Items {
			if !slices.Contains(args, run.Name) {
				out = append(out, cobra.CompletionWithDesc(run.Name, string(run.Spec.Scenario)+", "+string(phaseOf(&run))))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
