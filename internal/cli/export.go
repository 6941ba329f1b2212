package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/export"
)

// exportOptions are the flags of `kubectl perfrun export`.
type exportOptions struct {
	schedule, format, name string
	inconclusive           bool
}

// The formats of exports.
const (
	formatGitHub      = "github-action-benchmark"
	formatBencher     = "bencher"
	formatOtava       = "otava"
	formatOtavaConfig = "otava-config"
	formatSMP         = "smp"
)

const exportLong = `Write results as the files that other tools follow benchmarks by: one run, several, or all results of a PerfSchedule.

Formats (-o):
  github-action-benchmark  JSON for the action of that name, tool customSmallerIsBetter; of a schedule, its latest result
  bencher                  Bencher Metric Format, for 'bencher run --adapter json'; of a schedule, its latest result
  otava                    CSV for Apache Otava: a row for each run that is comparable with the latest
  otava-config             Otava's configuration for that CSV, in a file NAME.csv
  smp                      messages of the Service Mesh Performance specification as JSON; of one run

A benchmark is called after its schedule, or after the run (without the random end of a generated name), unless --name says otherwise: trackers compare by name.`

const exportExample = `  kubectl perfrun export invoke -o github-action-benchmark > benchmark.json
  kubectl perfrun export --schedule nightly -o otava > nightly.csv
  kubectl perfrun export --schedule nightly -o otava-config > otava.yaml && otava analyze --config-file otava.yaml nightly`

func exportCommand(on *cluster) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:               "export NAME... | export --schedule SCHEDULE",
		Short:             "Write results for github-action-benchmark, Bencher, Apache Otava or as Service Mesh Performance",
		Long:              exportLong,
		Example:           exportExample,
		ValidArgsFunction: on.completeRuns(-1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 0) == (o.schedule == "") {
				return errors.New("whose results? Give names of PerfRuns, or --schedule")
			}
			return o.export(cmd, on, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.schedule, "schedule", "", "export the results of this PerfSchedule, those of deleted runs too")
	f.StringVarP(&o.format, "output", "o", "", "github-action-benchmark, bencher, otava, otava-config or smp")
	f.StringVar(&o.name, "name", "", "name of the benchmark")
	f.BoolVar(&o.inconclusive, "inconclusive", false, "export runs too that were Inconclusive")
	utilruntime.Must(cmd.MarkFlagRequired("output"))
	utilruntime.Must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(
		[]string{formatGitHub, formatBencher, formatOtava, formatOtavaConfig, formatSMP}, cobra.ShellCompDirectiveNoFileComp)))
	utilruntime.Must(cmd.RegisterFlagCompletionFunc("schedule", on.completeSchedules))
	return cmd
}

func (o *exportOptions) export(cmd *cobra.Command, on *cluster, names []string) error {
	c, namespace, err := on.client()
	if err != nil {
		return err
	}
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	if o.format == formatSMP {
		return o.exportSMP(ctx, c, namespace, names, out)
	}
	var runs []export.Measured
	if o.schedule != "" {
		runs, err = o.ofSchedule(ctx, c, namespace)
	} else {
		runs, err = o.ofRuns(ctx, c, namespace, names)
	}
	if err != nil {
		return err
	}
	switch o.format {
	case formatGitHub:
		return export.GitHubActionBenchmark(out, o.latest(runs))
	case formatBencher:
		return export.Bencher(out, o.latest(runs))
	case formatOtava, formatOtavaConfig:
		table, err := export.NewTable(runs)
		if err != nil {
			return err
		}
		if o.format == formatOtavaConfig {
			return table.WriteConfig(out)
		}
		if table.LeftOut > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "%d results are left out: not measured in the environment and with the settings of the latest, or Inconclusive.\n", table.LeftOut)
		}
		return table.WriteCSV(out)
	default:
		return fmt.Errorf("-o %q is none of %s, %s, %s, %s, %s", o.format, formatGitHub, formatBencher, formatOtava, formatOtavaConfig, formatSMP)
	}
}

func (o *exportOptions) exportSMP(ctx context.Context, c client.Reader, namespace string, names []string, out io.Writer) error {
	if len(names) != 1 {
		return errors.New("-o smp takes the name of one PerfRun")
	}
	run, err := get(ctx, c, namespace, names[0])
	if err != nil {
		return err
	}
	if err := o.usable(run.Name, run.Status.Phase); err != nil {
		return err
	}
	return export.ServiceMeshPerformance(out, run)
}

func (o *exportOptions) ofRuns(ctx context.Context, c client.Reader, namespace string, names []string) ([]export.Measured, error) {
	var out []export.Measured
	for _, name := range names {
		run, err := get(ctx, c, namespace, name)
		if err != nil {
			return nil, err
		}
		if err := o.usable(name, run.Status.Phase); err != nil {
			return nil, err
		}
		m, err := export.OfRun(o.benchmark(run), run)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// usable refuses figures that hold under other conditions than were asked for: a tracker would take them for the benchmark's.
func (o *exportOptions) usable(run string, verdict v1alpha1.Phase) error {
	if verdict == v1alpha1.PhaseInconclusive && !o.inconclusive {
		return fmt.Errorf("PerfRun %s was Inconclusive: its figures do not hold under the declared conditions; --inconclusive exports them all the same", run)
	}
	return nil
}

func (o *exportOptions) ofSchedule(ctx context.Context, c client.Reader, namespace string) ([]export.Measured, error) {
	series := &v1alpha1.PerfSeries{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: o.schedule}, series); err != nil {
		return nil, fmt.Errorf("reading the results of PerfSchedule %s/%s: %w", namespace, o.schedule, explain(err))
	}
	name := o.name
	if name == "" {
		name = o.schedule
	}
	all, err := export.OfSeries(name, series)
	if err != nil {
		return nil, err
	}
	var out []export.Measured
	for _, m := range all {
		if o.usable(m.Run, m.Verdict) == nil {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("PerfSchedule %s/%s has no results to export yet", namespace, o.schedule)
	}
	return out, nil
}

// latest result of a schedule: trackers keep those before. Of runs by their names, all.
func (o *exportOptions) latest(runs []export.Measured) []export.Measured {
	if o.schedule == "" {
		return runs
	}
	return runs[len(runs)-1:]
}

// benchmark is a name that is the same from run to run.
func (o *exportOptions) benchmark(run *v1alpha1.PerfRun) string {
	owner := metav1.GetControllerOf(run)
	switch {
	case o.name != "":
		return o.name
	case owner != nil && owner.Kind == "PerfSchedule":
		return owner.Name
	case run.GenerateName != "":
		return strings.TrimRight(run.GenerateName, "-")
	default:
		return run.Name
	}
}
