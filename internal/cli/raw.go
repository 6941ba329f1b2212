package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/rawdata"
)

// rawOptions are the flags of `kubectl perfrun raw`.
type rawOptions struct {
	file, digest                   string
	output, dir, series, histogram string
	percentiles                    []float64
	blocks                         []int
	arm                            string
	connections                    int
}

const rawLong = `Read the raw data of a finished PerfRun: the histograms of every block, and how it went second by second.

They are in a ConfigMap that status.raw names, and are refused unless their digest is the one in the status.
Without --block, --arm and --connections everything is taken; the blocks of one arm at one point are merged, without loss.

Outputs (-o):
  percentiles  a table of any percentiles (--percentile) of response and service time
  hgrm         HdrHistogram's text format, in milliseconds; one arm at one point, or with --dir a file for each
  fortio       JSON as of a run of Fortio's; one arm at one point, or with --dir a file for each: 'fortio report -data-dir DIR' shows them
  csv          requests, errors, p50 and p99 by second (--series requests), or CPU and memory (--series usage); with --dir both
  json         the whole document, described in docs/rawdata.schema.json
  gzip         the same as it is stored, for --file`

const rawExample = `  kubectl perfrun raw invoke --percentile 99.99
  kubectl perfrun raw invoke -o fortio --dir results && fortio report -data-dir results
  kubectl perfrun raw invoke -o hgrm --arm dapr --connections 16 > dapr.hgrm
  kubectl perfrun raw invoke -o gzip > invoke.json.gz && kubectl perfrun raw --file invoke.json.gz -o csv`

func rawCommand(on *cluster) *cobra.Command {
	var o rawOptions
	cmd := &cobra.Command{
		Use:               "raw NAME | raw --file FILE",
		Short:             "Read a PerfRun's raw data: any percentile, .hgrm, CSV, Fortio's JSON",
		Long:              rawLong,
		Example:           rawExample,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: on.completeRuns(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRaw(cmd.Context(), on, o, args, cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "", "read this file (from -o gzip or -o json) and no cluster")
	f.StringVar(&o.digest, "digest", "", "with --file: the digest that it must have, from status.raw.digest; of a file from -o gzip")
	f.StringVarP(&o.output, "output", "o", "percentiles", "percentiles, hgrm, fortio, csv, json or gzip")
	f.StringVar(&o.dir, "dir", "", "write hgrm, fortio or csv into files in this folder, which is made if need be, instead of printing")
	f.Float64SliceVar(&o.percentiles, "percentile", nil, "print this `percentile`, 0 to 100 (the largest sample); may be repeated (default 50, 75, 90, 95, 99, 99.9)")
	f.StringVar(&o.histogram, "histogram", string(rawdata.Response), "which times hgrm and fortio hold: response (from the due time), service (from the actual send) or lag (how late the load tester was)")
	f.StringVar(&o.series, "series", "requests", "which series csv holds: requests or usage")
	f.IntSliceVar(&o.blocks, "block", nil, "take this `block` alone, counted from 0; may be repeated")
	f.StringVar(&o.arm, "arm", "", "take this arm alone: baseline or dapr")
	f.IntVar(&o.connections, "connections", 0, "take the point with this number of connections alone")
	return cmd
}

func runRaw(ctx context.Context, on *cluster, o rawOptions, args []string, out io.Writer) error {
	selection, err := o.selection()
	if err != nil {
		return err
	}
	if err := o.check(args); err != nil {
		return err
	}
	var file []byte
	if o.file != "" {
		file, err = rawFile(o.file, o.digest)
	} else {
		file, err = rawOf(ctx, on, args[0])
	}
	if err != nil {
		return err
	}
	document, err := rawdata.Decode(file)
	if err != nil {
		return err
	}
	switch o.output {
	case "gzip":
		_, err = out.Write(file)
		return err
	case "json":
		return document.WriteJSON(out)
	case "percentiles":
		if len(o.percentiles) == 0 {
			o.percentiles = []float64{50, 75, 90, 95, 99, 99.9}
		}
		return document.WritePercentiles(out, selection, o.percentiles)
	case "csv":
		return writeSeries(document, selection, o, out)
	default:
		return writeGroups(document, selection, o, out)
	}
}

// selection of blocks that the flags make.
func (o *rawOptions) selection() (rawdata.Selection, error) {
	s := rawdata.Selection{Blocks: o.blocks, Connections: o.connections}
	switch strings.ToLower(o.arm) {
	case "":
	case "baseline":
		s.Arm = measure.Baseline
	case "dapr":
		s.Arm = measure.Dapr
	default:
		return s, fmt.Errorf("there is no arm %q: --arm is baseline or dapr", o.arm)
	}
	if o.connections < 0 {
		return s, fmt.Errorf("--connections %d is no number of connections", o.connections)
	}
	return s, nil
}

// check tells what is wrong about the flags before anything is read.
func (o *rawOptions) check(args []string) error {
	oneOf := func(flag, value string, allowed ...string) error {
		for _, a := range allowed {
			if value == a {
				return nil
			}
		}
		return fmt.Errorf("--%s %q is none of %s", flag, value, strings.Join(allowed, ", "))
	}
	for _, p := range o.percentiles {
		if math.IsNaN(p) || p < 0 || p > 100 {
			return fmt.Errorf("there is no percentile %g: it is a number from 0 to 100", p)
		}
	}
	switch {
	case len(args) == 0 && o.file == "":
		return errors.New("whose raw data? Give the name of a PerfRun, or --file")
	case len(args) > 0 && o.file != "":
		return errors.New("give the name of a PerfRun or --file, not both")
	case o.digest != "" && o.file == "":
		return errors.New("--digest goes with --file; in the cluster the digest is always looked at")
	case o.dir != "" && (o.output == "percentiles" || o.output == "json" || o.output == "gzip"):
		return fmt.Errorf("--dir goes with -o hgrm, fortio and csv; -o %s is printed", o.output)
	}
	return errors.Join(
		oneOf("output", o.output, "percentiles", "hgrm", "fortio", "csv", "json", "gzip"),
		oneOf("histogram", o.histogram, string(rawdata.Response), string(rawdata.Service), string(rawdata.Lag)),
		oneOf("series", o.series, "requests", "usage"))
}

func rawFile(path, digest string) ([]byte, error) {
	opened, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the raw data: %w", err)
	}
	defer func() { _ = opened.Close() }()
	file, err := io.ReadAll(io.LimitReader(opened, rawdata.MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading the raw data: %w", err)
	}
	if digest != "" {
		err = rawdata.Verify(file, digest)
	}
	return file, err
}

// rawOf reads a PerfRun's raw data from the cluster, and refuses what does not have the digest of the status.
func rawOf(ctx context.Context, on *cluster, name string) ([]byte, error) {
	c, namespace, err := on.client()
	if err != nil {
		return nil, err
	}
	run, err := get(ctx, c, namespace, name)
	if err != nil {
		return nil, err
	}
	return rawFrom(ctx, c, run)
}

func rawFrom(ctx context.Context, c client.Reader, run *v1alpha1.PerfRun) ([]byte, error) {
	who := "PerfRun " + run.Namespace + "/" + run.Name
	raw := run.Status.Raw
	if raw == nil {
		if kept := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionRawData); kept != nil {
			return nil, fmt.Errorf("%s has no raw data: %s", who, kept.Message)
		}
		return nil, fmt.Errorf("%s has no raw data; they are written when a measurement ends, and its phase is %s", who, phaseOf(run))
	}
	kept := &corev1.ConfigMap{}
	err := c.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: raw.ConfigMap}, kept)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("the raw data of %s are gone: someone has deleted its ConfigMap %s", who, raw.ConfigMap)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the raw data of %s: %w", who, err)
	}
	file := kept.BinaryData[rawdata.Key]
	if err := rawdata.Verify(file, raw.Digest); err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s of %s: %w", raw.ConfigMap, who, err)
	}
	return file, nil
}

func phaseOf(run *v1alpha1.PerfRun) v1alpha1.Phase {
	if run.Status.Phase == "" {
		return v1alpha1.PhaseQueued
	}
	return run.Status.Phase
}

func writeSeries(d *rawdata.Document, s rawdata.Selection, o rawOptions, out io.Writer) error {
	writers := map[string]func(io.Writer) error{
		"requests": func(w io.Writer) error { return d.WriteRequests(w, s) },
		"usage":    func(w io.Writer) error { return d.WriteUsage(w, s) },
	}
	if o.dir == "" {
		return writers[o.series](out)
	}
	for _, series := range []string{"usage", "requests"} {
		if err := writeFile(o.dir, d.PerfRun.Name+"-"+series+".csv", out, writers[series]); err != nil {
			return err
		}
	}
	return nil
}

// writeGroups writes hgrm or fortio: formats of one distribution each.
func writeGroups(d *rawdata.Document, s rawdata.Selection, o rawOptions, out io.Writer) error {
	groups, err := d.Groups(s)
	if err != nil {
		return err
	}
	which := rawdata.Histogram(o.histogram)
	write := func(g *rawdata.Group) func(io.Writer) error {
		if o.output == "hgrm" {
			return func(w io.Writer) error { return rawdata.WriteHGRM(w, g, which) }
		}
		return func(w io.Writer) error { return d.WriteFortio(w, g, which) }
	}
	if o.dir == "" {
		if len(groups) > 1 {
			return fmt.Errorf("-o %s prints one arm at one point, and %d are selected: choose with --arm and --connections, or write a file for each with --dir",
				o.output, len(groups))
		}
		return write(groups[0])(out)
	}
	for _, g := range groups {
		name := g.Name
		if which != rawdata.Response {
			name += "-" + string(which)
		}
		if err := writeFile(o.dir, name+map[string]string{"hgrm": ".hgrm", "fortio": ".json"}[o.output], out, write(g)); err != nil {
			return err
		}
	}
	return nil
}

// writeFile makes a file in the folder and says so. Where there is nothing to write, there is no file.
func writeFile(dir, name string, out io.Writer, write func(io.Writer) error) error {
	var content bytes.Buffer
	if err := write(&content); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	_, err := fmt.Fprintln(out, path)
	return err
}
