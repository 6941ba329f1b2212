package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// listOptions are the flags of `kubectl perfrun list`.
type listOptions struct {
	all      bool
	selector string
	print    *genericclioptions.PrintFlags
}

// The outputs that are tables.
const (
	outputTable = "table"
	outputWide  = "wide"
)

func listCommand(on *cluster) *cobra.Command {
	o := listOptions{print: genericclioptions.NewPrintFlags("")}
	cmd := &cobra.Command{
		Use:     "list [NAME...]",
		Aliases: []string{"get"},
		Short:   "List PerfRuns: a row for each point, with what Dapr adds",
		Long: `List PerfRuns: a row for each point, with what Dapr adds to its latency and takes of CPU.
-o wide adds the 95% intervals and the conditions that the figures hold under.`,
		Example:           "  kubectl perfrun list\n  kubectl perfrun get invoke -o wide",
		ValidArgsFunction: on.completeRuns(-1),
		RunE: func(cmd *cobra.Command, args []string) error {
			runs, err := o.fetch(cmd.Context(), on, args)
			if err != nil {
				return err
			}
			return o.write(cmd.OutOrStdout(), cmd.ErrOrStderr(), runs, len(args) == 1)
		},
	}
	o.print.AddFlags(cmd)
	f := cmd.Flags()
	f.Lookup("output").Usage = "Output format. One of: (table, wide, json, yaml, name, go-template, jsonpath and their like)."
	f.BoolVarP(&o.all, "all-namespaces", "A", false, "list those of all namespaces")
	f.StringVarP(&o.selector, "selector", "l", "", "label selector")
	return cmd
}

// fetch asks for the PerfRuns as the API server has them, so that what this program does not know of is printed too.
func (o *listOptions) fetch(ctx context.Context, on *cluster, names []string) (*unstructured.UnstructuredList, error) {
	c, namespace, err := on.client()
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("PerfRunList"))
	for _, name := range names {
		run := unstructured.Unstructured{}
		run.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("PerfRun"))
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &run); err != nil {
			return nil, fmt.Errorf("reading PerfRun %s/%s: %w", namespace, name, explain(err))
		}
		list.Items = append(list.Items, run)
	}
	if len(names) > 0 {
		return list, nil
	}
	selector, err := labels.Parse(o.selector)
	if err != nil {
		return nil, fmt.Errorf("reading --selector: %w", err)
	}
	options := []client.ListOption{client.MatchingLabelsSelector{Selector: selector}}
	if !o.all {
		options = append(options, client.InNamespace(namespace))
	}
	if err := c.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("listing PerfRuns: %w", explain(err))
	}
	return list, nil
}

func (o *listOptions) write(out, errOut io.Writer, runs *unstructured.UnstructuredList, single bool) error {
	switch format := *o.print.OutputFormat; format {
	case "", outputTable, outputWide:
		if len(runs.Items) == 0 {
			_, err := fmt.Fprintln(errOut, "No PerfRuns found.")
			return err
		}
		typed, err := typedRuns(runs)
		if err != nil {
			return err
		}
		printer := printers.NewTablePrinter(printers.PrintOptions{Wide: format == outputWide})
		return printer.PrintObj(tableOf(typed, o.all, time.Now()), out)
	}
	printer, err := o.print.ToPrinter()
	if err != nil {
		return err
	}
	if single {
		return printer.PrintObj(&runs.Items[0], out)
	}
	return printer.PrintObj(runs, out)
}

func typedRuns(runs *unstructured.UnstructuredList) ([]v1alpha1.PerfRun, error) {
	out := make([]v1alpha1.PerfRun, len(runs.Items))
	for i, run := range runs.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(run.Object, &out[i]); err != nil {
			return nil, fmt.Errorf("reading PerfRun %s/%s: %w", run.GetNamespace(), run.GetName(), err)
		}
	}
	return out, nil
}
