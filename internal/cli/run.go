package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// runOptions are the flags of `kubectl perfrun run`, but for those that describe the run.
type runOptions struct {
	file, dryRun string
	detach       bool
	print        *genericclioptions.PrintFlags
	spec         specFlags
}

const runLong = `Create a PerfRun from a file or from flags, follow it to its verdict and print its result.

Flags that are left out leave out their fields: the defaults repeat the published Dapr test.
Ctrl-C leaves the run going; 'kubectl perfrun watch' goes on from there, and 'kubectl perfrun cancel' ends it.
` + exitCodes

const runExample = `  kubectl perfrun run -f perfrun.yaml
  kubectl perfrun run invoke --rps 500 --connections 8,16,32 --duration 30s
  kubectl perfrun run --scenario Actors --threshold added.p99=5ms --threshold errorRatio=0.001
  kubectl perfrun run nightly --payload 4Ki --dry-run -o yaml > perfrun.yaml`

func runCommand(on *cluster) *cobra.Command {
	o := runOptions{print: genericclioptions.NewPrintFlags("created")}
	cmd := &cobra.Command{
		Use:     "run [NAME] | run -f FILE",
		Short:   "Measure: create a PerfRun, follow it, print its result",
		Long:    runLong,
		Example: runExample,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd, args); err != nil {
				return err
			}
			run, err := o.create(cmd, on, args)
			if err != nil || o.detach || o.dryRun != dryRunNone {
				return err
			}
			return watch(cmd.Context(), on, run.GetNamespace(), run.GetName(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "filename", "f", "", "create the PerfRun of this `file`, URL or - (the standard input) instead")
	f.StringVar(&o.dryRun, "dry-run", dryRunNone, "print the PerfRun and create none: client, or server to have it checked there")
	f.Lookup("dry-run").NoOptDefVal = dryRunClient
	f.BoolVar(&o.detach, "detach", false, "create the PerfRun and do not follow it")
	o.spec.bind(cmd)
	o.print.AddFlags(cmd)
	return cmd
}

// What --dry-run may be, as for kubectl.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// check tells what is wrong about the flags before anything is done.
func (o *runOptions) check(cmd *cobra.Command, args []string) error {
	described := o.spec.given(cmd)
	switch {
	case o.dryRun != dryRunNone && o.dryRun != dryRunClient && o.dryRun != dryRunServer:
		return fmt.Errorf("--dry-run %q is none of client, server, none", o.dryRun)
	case o.file != "" && (len(args) > 0 || len(described) > 0):
		return errors.New("give a file, or a name and flags, not both; `--dry-run -o yaml` makes a file of flags")
	case cmd.Flags().Changed("output") && o.dryRun == dryRunNone && !o.detach:
		return errors.New("-o prints the PerfRun, and goes with --dry-run or --detach; `kubectl perfrun report -o` writes a page of the result")
	}
	return nil
}

// create makes the PerfRun, unless it is a dry run, and prints what it made.
func (o *runOptions) create(cmd *cobra.Command, on *cluster, args []string) (*unstructured.Unstructured, error) {
	run, err := o.object(cmd, on, args)
	if err != nil {
		return nil, err
	}
	if o.dryRun != dryRunClient {
		if err := o.send(cmd.Context(), on, run); err != nil {
			return nil, err
		}
	}
	return run, o.printTo(cmd.OutOrStdout(), run)
}

func (o *runOptions) send(ctx context.Context, on *cluster, run *unstructured.Unstructured) error {
	c, _, err := on.client()
	if err != nil {
		return err
	}
	var options []client.CreateOption
	if o.dryRun == dryRunServer {
		options = append(options, client.DryRunAll)
	}
	// A field that the API server does not know would be measured without.
	if err := client.WithFieldValidation(c, metav1.FieldValidationStrict).Create(ctx, run, options...); err != nil {
		return fmt.Errorf("creating the PerfRun: %w", explain(err))
	}
	return nil
}

func (o *runOptions) printTo(out io.Writer, run *unstructured.Unstructured) error {
	if o.dryRun != dryRunNone && *o.print.OutputFormat == "" {
		*o.print.OutputFormat = "yaml"
	}
	printer, err := o.print.ToPrinter()
	if err != nil {
		return err
	}
	return printer.PrintObj(run, out)
}

// object is the PerfRun to be created, with its namespace.
func (o *runOptions) object(cmd *cobra.Command, on *cluster, args []string) (*unstructured.Unstructured, error) {
	namespace, explicit, err := on.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	var run *unstructured.Unstructured
	if o.file != "" {
		run, err = o.read(on)
	} else {
		run, err = o.spec.perfRun(cmd, args)
	}
	if err != nil {
		return nil, err
	}
	switch own := run.GetNamespace(); {
	case own == "":
		run.SetNamespace(namespace)
	case explicit && own != namespace:
		return nil, fmt.Errorf("%s is in namespace %s, and --namespace is %s; leave out one of the two", o.file, own, namespace)
	}
	return run, nil
}

// read takes the one PerfRun of the file, as kubectl reads files.
func (o *runOptions) read(on *cluster) (*unstructured.Unstructured, error) {
	infos, err := resource.NewBuilder(on.flags).Unstructured().Local().
		FilenameParam(false, &resource.FilenameOptions{Filenames: []string{o.file}}).Flatten().Do().Infos()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", o.file, err)
	}
	if len(infos) != 1 {
		return nil, fmt.Errorf("%s holds %d objects; `run` follows one PerfRun, `kubectl create` makes many", o.file, len(infos))
	}
	run, ok := infos[0].Object.(*unstructured.Unstructured)
	want := schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "PerfRun"}
	if got := infos[0].Object.GetObjectKind().GroupVersionKind().GroupKind(); !ok || got != want {
		return nil, fmt.Errorf("%s holds a %s, and no %s", o.file, got, want)
	}
	return run, nil
}
