// Pictures makes the screenshots of the README and docs/ from real runs on the cluster that the kubeconfig names: a schedule's trend, a
// dashboard with a run under way and a queue, a report. About 6 minutes.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	planned "perfrun.dev/perfrun/internal/schedule"
	"perfrun.dev/perfrun/test/browser"
)

// namespace that the runs are in; deleted at the end.
const namespace = "shop"

// largest picture, in bytes: they are part of the repository.
const largest = 256 << 10

func main() {
	out := flag.String("out", "docs/images", "folder for the pictures")
	plugin := flag.String("plugin", ".local/bin/kubectl-perfrun", "the plugin")
	trend := flag.String("trend", "", "NAMESPACE/NAME of a PerfSchedule to take the trend's picture of, such as the one that `make trend` leaves behind; empty: one is made, of runs of today, with nothing to report")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := take(ctx, *out, *plugin, *trend)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func take(ctx context.Context, out, plugin, trend string) error {
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := c.Create(ctx, ns); err != nil {
		return fmt.Errorf("creating namespace %s: %w", namespace, err)
	}
	defer func() { _ = c.Delete(context.WithoutCancel(ctx), ns) }()
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	address, err := dashboard(ctx, plugin)
	if err != nil {
		return err
	}
	s := &scene{ctx: ctx, client: c, out: out}
	return s.play(address, trend)
}

// dashboard starts the plugin's, and returns its address. It ends with the context.
func dashboard(ctx context.Context, plugin string) (string, error) {
	cmd := exec.CommandContext(ctx, plugin, "dashboard")
	cmd.Stderr = os.Stderr
	printed, err := cmd.StdoutPipe()
	if err != nil {
		return "", fmt.Errorf("starting the dashboard: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("starting the dashboard: %w", err)
	}
	line, err := bufio.NewReader(printed).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("reading the dashboard's address: %w", err)
	}
	return strings.TrimSpace(line), nil
}

type scene struct {
	ctx    context.Context
	client client.Client
	out    string
	tab    *browser.Tab
}

func (s *scene) play(address, trend string) error {
	b, stop, err := browser.Start()
	if err != nil {
		return err
	}
	defer stop()
	if s.tab, err = b.Tab(); err != nil {
		return err
	}
	origin, _, _ := strings.Cut(address, "/?")
	if err := s.tab.Open(address); err != nil {
		return fmt.Errorf("opening the dashboard: %w", err)
	}
	if trend == "" {
		trend = namespace + "/nightly"
		if err := s.schedule("nightly"); err != nil {
			return err
		}
	}
	if err := s.picture("trend", origin+"/schedules/"+trend, 1100, `document.querySelectorAll("figure").length > 0`); err != nil {
		return err
	}
	if err := s.run("checkout", 20*time.Second); err != nil {
		return err
	}
	if err := s.verdict("checkout"); err != nil {
		return err
	}
	if err := s.picture("report", origin+"/runs/"+namespace+"/checkout", 1100, `document.querySelectorAll("figure").length > 5`); err != nil {
		return err
	}
	for _, name := range []string{"cart", "payment", "catalogue"} {
		if err := s.run(name, 20*time.Second); err != nil {
			return err
		}
	}
	return s.picture("dashboard", origin+"/?namespace="+namespace, 1000, `document.querySelector("progress")?.value > 40`)
}

// spec of all runs: small enough for a laptop's cluster, with intervals.
func spec(length time.Duration) v1alpha1.PerfRunSpec {
	return v1alpha1.PerfRunSpec{
		Scenario: v1alpha1.ScenarioInvocation, RPS: new(int32(300)), Connections: []int32{8}, Duration: &metav1.Duration{Duration: length},
		Warmup: &metav1.Duration{Duration: 2 * time.Second}, Sidecar: &v1alpha1.SidecarSettings{CPU: new(resource.MustParse("2"))},
	}
}

func (s *scene) run(name string, length time.Duration) error {
	run := &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec(length)}
	if err := s.client.Create(s.ctx, run); err != nil {
		return fmt.Errorf("creating run %s: %w", name, err)
	}
	return nil
}

func (s *scene) verdict(name string) error {
	return s.until("the verdict of "+name, 5*time.Minute, func() (bool, error) {
		run := &v1alpha1.PerfRun{}
		err := s.client.Get(s.ctx, client.ObjectKey{Namespace: namespace, Name: name}, run)
		return run.Status.Phase.Finished(), err
	})
}

// results that a schedule of our own gets: enough for it to compare.
const results = 12

// schedule that has results, one triggered after the other.
func (s *scene) schedule(name string) error {
	schedule := &v1alpha1.PerfSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.PerfScheduleSpec{Schedule: "0 3 * * *", Detection: &v1alpha1.Detection{IgnoreNodes: new(true)}, RunTemplate: v1alpha1.RunTemplate{Spec: spec(6 * time.Second)}}}
	if err := s.client.Create(s.ctx, schedule); err != nil {
		return fmt.Errorf("creating schedule %s: %w", name, err)
	}
	for i := range results {
		if err := s.client.Get(s.ctx, client.ObjectKeyFromObject(schedule), schedule); err != nil {
			return fmt.Errorf("reading schedule %s: %w", name, err)
		}
		trigger := client.MergeFrom(schedule.DeepCopy())
		metav1.SetMetaDataAnnotation(&schedule.ObjectMeta, planned.AnnotationTrigger, fmt.Sprint(i))
		if err := s.client.Patch(s.ctx, schedule, trigger); err != nil {
			return fmt.Errorf("triggering schedule %s: %w", name, err)
		}
		err := s.until(fmt.Sprintf("result %d of %s", i+1, name), 3*time.Minute, func() (bool, error) {
			err := s.client.Get(s.ctx, client.ObjectKeyFromObject(schedule), schedule)
			return schedule.Status.Series != nil && int(schedule.Status.Series.Results) > i, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) until(what string, within time.Duration, done func() (bool, error)) error {
	fmt.Println("waiting for", what)
	err := wait.PollUntilContextTimeout(s.ctx, 200*time.Millisecond, within, true, func(context.Context) (bool, error) { return done() })
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}

// picture of the page at this address, once the condition holds.
func (s *scene) picture(name, address string, height int64, condition string) error {
	if err := errors.Join(s.tab.Look(browser.View{Width: 1100, Height: height}), s.tab.Open(address)); err != nil {
		return fmt.Errorf("opening %s: %w", address, err)
	}
	if err := s.until("the page of picture "+name, 3*time.Minute, func() (bool, error) { return browser.Evaluate[bool](s.tab, condition) }); err != nil {
		return err
	}
	shot, err := s.tab.PNG()
	if err != nil {
		return fmt.Errorf("taking picture %s: %w", name, err)
	}
	decoded, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		return fmt.Errorf("reading picture %s: %w", name, err)
	}
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, decoded); err != nil {
		return fmt.Errorf("writing picture %s: %w", name, err)
	}
	if small.Len() > largest {
		return fmt.Errorf("picture %s has %d bytes, more than %d", name, small.Len(), largest)
	}
	path := filepath.Join(s.out, name+".png")
	fmt.Printf("%s: %d bytes\n", path, small.Len())
	return os.WriteFile(path, small.Bytes(), 0o644)
}
