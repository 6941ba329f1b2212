package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/page"
	"perfrun.dev/perfrun/internal/rawdata"
	"perfrun.dev/perfrun/internal/report"
)

func reportCommand(on *cluster) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "report NAME",
		Short: "Print a PerfRun's result: latency of both arms, what Dapr adds, CPU and memory",
		Long: `Print a PerfRun's result: latency of both arms, what Dapr adds, CPU and memory.
With -o it is one HTML page instead, with figures and their tables, which needs nothing from elsewhere.`,
		Example:           "  kubectl perfrun report invoke\n  kubectl perfrun report invoke -o report.html",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: on.completeRuns(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, namespace, err := on.client()
			if err != nil {
				return err
			}
			run, err := get(cmd.Context(), c, namespace, args[0])
			switch {
			case err != nil:
				return err
			case output == "":
				return report.Write(cmd.OutOrStdout(), run)
			default:
				return writePage(cmd.Context(), c, run, output, cmd.OutOrStdout())
			}
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write an HTML page to this `file`; - prints it")
	return cmd
}

// writePage writes the run's page to a file and says so. What is missing of the raw data is said on the page.
func writePage(ctx context.Context, c client.Reader, run *v1alpha1.PerfRun, path string, out io.Writer) error {
	raw, err := documentOf(ctx, c, run)
	missing := ""
	if err != nil && run.Status.Phase.Finished() && len(run.Status.Results) > 0 {
		missing = page.WithoutRaw(err)
	}
	var content bytes.Buffer
	if err := page.Write(&content, run, raw, missing); err != nil {
		return err
	}
	if path == "-" {
		_, err := content.WriteTo(out)
		return err
	}
	if err := os.WriteFile(path, content.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	_, err = fmt.Fprintln(out, path)
	return err
}

func documentOf(ctx context.Context, c client.Reader, run *v1alpha1.PerfRun) (*rawdata.Document, error) {
	file, err := rawFrom(ctx, c, run)
	if err != nil {
		return nil, err
	}
	return rawdata.Decode(file)
}
