// Reproduce measures what Dapr has published about its performance, on the cluster that the kubeconfig names, and prints each published
// figure beside the measured one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/report"
)

func main() {
	var o options
	var only string
	flag.StringVar(&o.samples, "samples", "config/samples/published", "folder of the PerfRuns, one for each published test")
	flag.StringVar(&only, "only", "", "measure only these samples, by comma; the rows of the others stay without a measured figure")
	flag.StringVar(&o.namespace, "namespace", "perfrun-reproduce", "namespace to measure in; made if it is not there")
	flag.StringVar(&o.csv, "csv", ".local/reproduction.csv", "file for the table as CSV")
	flag.StringVar(&o.markdown, "markdown", "", "file for the table as Markdown; empty: none")
	flag.BoolVar(&o.merge, "merge", false, "keep the figures of the CSV of an earlier time where this one measures none: those of other samples, and of a control plane with HA or without")
	flag.DurationVar(&o.duration, "duration", 0, "time of each arm at each point instead of the published minute, to try it out")
	flag.Parse()
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "reproduce:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop is called before
	}
}

type options struct {
	samples, namespace, csv, markdown string
	only                              []string
	duration                          time.Duration
	merge                             bool
	client                            client.Client
}

func (o *options) run(ctx context.Context) error {
	if err := o.connect(); err != nil {
		return err
	}
	names := []string{invocation, grpc, connections, actors, controlPlane}
	for _, name := range o.only {
		if !slices.Contains(names, name) {
			return fmt.Errorf("-only %s: must be among %s", name, strings.Join(names, ", "))
		}
	}
	err := o.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.namespace}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making namespace %s: %w", o.namespace, err)
	}
	results := table{started: time.Now(), runs: map[string]*v1alpha1.PerfRun{}, shortened: o.duration}
	if err := o.readEarlier(&results); err != nil {
		return err
	}
	for _, name := range names {
		if len(o.only) > 0 && !slices.Contains(o.only, name) {
			continue
		}
		run, err := o.measure(ctx, name)
		if err != nil {
			return err
		}
		results.runs[name] = run
	}
	if results.machine, err = o.machine(ctx); err != nil {
		return err
	}
	fmt.Println()
	if err := results.text(os.Stdout); err != nil {
		return err
	}
	if err := write(o.csv, results.csv); err != nil {
		return err
	}
	if o.markdown == "" {
		return nil
	}
	return write(o.markdown, results.markdown)
}

// readEarlier takes over the earlier table, before a long measurement would be in vain because of it.
func (o *options) readEarlier(results *table) error {
	if !o.merge {
		return nil
	}
	text, err := os.ReadFile(o.csv)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = results.keep(text)
	}
	if err != nil {
		return fmt.Errorf("reading the earlier table %s: %w; leave -merge out to write it anew", o.csv, err)
	}
	return nil
}

func (o *options) connect() error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if o.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	return nil
}

// measure runs a sample to its verdict. One of an earlier time is deleted first: what is measured cannot be changed, nor measured again.
func (o *options) measure(ctx context.Context, name string) (*v1alpha1.PerfRun, error) {
	text, err := os.ReadFile(filepath.Join(o.samples, name+".yaml"))
	if err != nil {
		return nil, err
	}
	run := &v1alpha1.PerfRun{}
	if err := yaml.UnmarshalStrict(text, run); err != nil {
		return nil, fmt.Errorf("reading sample %s: %w", name, err)
	}
	run.Namespace = o.namespace
	if o.duration > 0 {
		run.Spec.Duration = &metav1.Duration{Duration: o.duration}
	}
	key := client.ObjectKeyFromObject(run)
	if err := o.client.Delete(ctx, run.DeepCopy()); client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("deleting PerfRun %s: %w", key, err)
	}
	fmt.Printf("\n%s\n", key)
	progress := report.Progress{Out: os.Stdout, Start: time.Now()}
	created := false
	err = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		if !created {
			// The one of an earlier time may still be on its way out.
			err := o.client.Create(ctx, run.DeepCopy())
			created = err == nil
			switch {
			case apierrors.IsAlreadyExists(err):
				return false, nil
			case meta.IsNoMatchError(err):
				return false, errors.New("the cluster does not know PerfRuns: install the operator (make deploy)")
			}
			return false, err
		}
		latest := &v1alpha1.PerfRun{}
		if err := o.client.Get(ctx, key, latest); err != nil {
			if apierrors.IsNotFound(err) {
				return false, errors.New("it was deleted")
			}
			progress.Say(time.Now(), err.Error())
			return false, nil
		}
		run = latest
		progress.Show(time.Now(), run)
		return run.Status.Phase.Finished(), nil
	})
	progress.End()
	if err != nil {
		return nil, fmt.Errorf("following PerfRun %s: %w", key, err)
	}
	return run, nil
}

// machine names the nodes of the cluster by what matters for the figures.
func (o *options) machine(ctx context.Context) (string, error) {
	var nodes corev1.NodeList
	if err := o.client.List(ctx, &nodes); err != nil {
		return "", fmt.Errorf("listing nodes: %w", err)
	}
	var kinds []string
	count := map[string]int{}
	for i := range nodes.Items {
		info, capacity := nodes.Items[i].Status.NodeInfo, nodes.Items[i].Status.Capacity
		kind := fmt.Sprintf("%s CPUs, %s memory, %s, Linux %s", capacity.Cpu(), capacity.Memory(), info.OSImage, info.KernelVersion)
		if count[kind] == 0 {
			kinds = append(kinds, kind)
		}
		count[kind]++
	}
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d node(s) of %s", count[kind], kind)
	}
	return strings.Join(kinds, "; "), nil
}

func write(path string, content func() ([]byte, error)) error {
	text, err := content()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return err
	}
	fmt.Println("written to", path)
	return nil
}
