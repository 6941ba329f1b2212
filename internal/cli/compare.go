package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/compare"
	"perfrun.dev/perfrun/internal/report"
	"perfrun.dev/perfrun/internal/results"
)

const compareLong = `Compare run B with run A: each figure's difference with its 95% interval, and whether that is more than the noise within the runs.

It reads the raw data of both. Runs with other settings or in another environment are refused, with what is different; --anyway compares
them all the same, and says it. The interval is of the difference of the medians, each run's pairs of blocks being drawn by themselves.
It does not know what differs from run to run, such as where pods came to lie on their nodes: two runs of the same may differ by more.`

func compareCommand(on *cluster) *cobra.Command {
	var anyway bool
	var output string
	cmd := &cobra.Command{
		Use:               "compare A B",
		Short:             "Say what is different between two PerfRuns, and what is noise",
		Long:              compareLong,
		Example:           "  kubectl perfrun compare before after\n  kubectl perfrun compare dapr-1-17 dapr-1-18 --anyway",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: on.completeRuns(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, namespace, err := on.client()
			if err != nil {
				return err
			}
			found, err := compareRuns(cmd.Context(), c, namespace, args[0], args[1], anyway)
			if err != nil {
				return err
			}
			return found.write(cmd.OutOrStdout(), output)
		},
	}
	cmd.Flags().BoolVar(&anyway, "anyway", false, "compare although settings or environment are different")
	cmd.Flags().StringVarP(&output, "output", "o", outputTable, "table, json or yaml")
	utilruntime.Must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{outputTable, "json", "yaml"}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// comparison is what `compare` prints.
type comparison struct {
	A string `json:"a"`
	B string `json:"b"`
	// Obstacles are what is different between the runs themselves.
	Obstacles   []string             `json:"obstacles,omitempty"`
	Differences []compare.Difference `json:"differences"`
}

func compareRuns(ctx context.Context, c client.Reader, namespace, nameA, nameB string, anyway bool) (*comparison, error) {
	var runs [2]*v1alpha1.PerfRun
	var samples [2][]results.Samples
	for i, name := range []string{nameA, nameB} {
		run, err := get(ctx, c, namespace, name)
		if err != nil {
			return nil, err
		}
		document, err := documentOf(ctx, c, run)
		if err != nil {
			return nil, err
		}
		if samples[i], err = results.SamplesOf(&run.Status, &document.Report); err != nil {
			return nil, fmt.Errorf("reading the raw data of PerfRun %s/%s: %w", namespace, name, err)
		}
		runs[i] = run
	}
	obstacles, err := compare.Obstacles(runs[0], runs[1])
	if err != nil {
		return nil, err
	}
	if len(obstacles) > 0 && !anyway {
		return nil, fmt.Errorf("%s and %s are not comparable:\n  %s\n--anyway compares them all the same", nameA, nameB, strings.Join(obstacles, "\n  "))
	}
	out := &comparison{A: nameA, B: nameB, Obstacles: obstacles, Differences: compare.Differences(samples[0], samples[1])}
	if len(out.Differences) == 0 {
		return nil, fmt.Errorf("%s and %s have no figure in common: they were measured at other numbers of connections, or all blocks of one are invalid", nameA, nameB)
	}
	return out, nil
}

func (c *comparison) write(out io.Writer, format string) error {
	var text []byte
	var err error
	switch format {
	case outputTable:
		s := c.section()
		return s.Write(out)
	case "json":
		text, err = json.MarshalIndent(c, "", "  ")
		text = append(text, '\n')
	case "yaml":
		text, err = yaml.Marshal(c)
	default:
		return fmt.Errorf("-o %q is none of table, json, yaml", format)
	}
	if err != nil {
		return fmt.Errorf("writing the comparison: %w", err)
	}
	_, err = out.Write(text)
	return err
}

// outcomes in words.
var outcomes = map[compare.Outcome]string{
	compare.Higher: "B is higher", compare.Lower: "B is lower", compare.WithinNoise: "within noise", compare.Undecided: "fewer than 6 pairs: no interval",
}

func (c *comparison) section() report.Section {
	s := report.Section{
		Title: fmt.Sprintf("B (%s) compared with A (%s)", c.B, c.A),
		Head:  []string{"METRIC", "CONNECTIONS", "A", "B", "B - A", "95% FROM", "95% TO", "DETECTABLE", ""},
	}
	dash := func(text string) string {
		if text == "" {
			return "-"
		}
		return text
	}
	for _, d := range c.Differences {
		s.Rows = append(s.Rows, []string{d.Metric, fmt.Sprint(d.Connections), d.A, d.B, d.Change, dash(d.Low), dash(d.High), dash(d.Detectable), outcomes[d.Outcome]})
	}
	s.Notes = append(s.Notes, "The intervals know the noise within each run, and not what differs from run to run: a schedule's series does (docs/regressions.md).",
		"One interval in twenty leaves out 0 by chance.")
	for _, o := range c.Obstacles {
		s.Notes = append(s.Notes, "Not alike: "+o)
	}
	return s
}
