package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/schedule"
	"perfrun.dev/perfrun/internal/trend"
)

const (
	namespace = "perfrun-trend"
	name      = "short"
	// patience with one run: its load takes 20 s.
	patience = 3 * time.Minute
	// maxSpoilt is how many runs may be Inconclusive, as on a machine that others use too, before this gives up.
	maxSpoilt = 8
)

// shortRuns is a schedule whose runs measure for 6 s through each arm, pinned to nodes so that all are of one environment.
func shortRuns() *v1alpha1.PerfSchedule {
	on := func(node string) map[string]string { return map[string]string{corev1.LabelHostname: node} }
	return &v1alpha1.PerfSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.PerfScheduleSpec{
			Schedule: "* * * * *",
			RunTemplate: v1alpha1.RunTemplate{Spec: v1alpha1.PerfRunSpec{
				Scenario: v1alpha1.ScenarioInvocation, RPS: ptr.To[int32](500), Connections: []int32{8},
				Duration: &metav1.Duration{Duration: 6 * time.Second}, Warmup: &metav1.Duration{Duration: 2 * time.Second},
				LoadTester: &v1alpha1.LoadTesterSettings{PodSettings: v1alpha1.PodSettings{NodeSelector: on(loadTesterNode)}},
				Target:     &v1alpha1.TargetSettings{PodSettings: v1alpha1.PodSettings{NodeSelector: on(targetNode)}},
			}},
		},
	}
}

// story is what has happened so far.
type story struct {
	options
	client.Client
	key client.ObjectKey
	chronicle
}

func newStory(ctx context.Context, o options) (*story, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("registering kinds: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	s := &story{options: o, Client: c, key: client.ObjectKey{Namespace: namespace, Name: name}}
	if err := s.delay(ctx, loadTesterNode, "0"); err != nil {
		return nil, err
	}
	return s, s.begin(ctx)
}

// begin makes the schedule anew and leaves its first run to its times. The others are triggered, since no schedule is shorter than a minute.
func (s *story) begin(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := s.Create(ctx, ns); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the namespace: %w", err)
	}
	anew := shortRuns()
	if err := s.Delete(ctx, anew.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationForeground)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the former schedule: %w", err)
	}
	err := s.until(ctx, "the former schedule to be gone", func() (bool, error) {
		err := s.Create(ctx, anew.DeepCopy())
		return err == nil, ignore(err, apierrors.IsAlreadyExists)
	})
	if err != nil {
		return err
	}
	say("waiting for the first run, which is due with the next minute")
	p := &v1alpha1.PerfSchedule{}
	err = s.until(ctx, "the first run", func() (bool, error) {
		err := s.Get(ctx, s.key, p)
		return err == nil && p.Status.LastScheduleTime != nil, err
	})
	if err != nil {
		return err
	}
	return s.patch(ctx, func(p *v1alpha1.PerfSchedule) { p.Spec.Suspend = ptr.To(true) })
}

// tell goes through a chapter.
func (s *story) tell(ctx context.Context, c chapter) error {
	say("%s", c.title)
	for _, command := range c.delay {
		// The one before ends with it.
		if err := s.delay(ctx, command...); err != nil {
			return err
		}
	}
	s.open(c)
	for !s.done() {
		p, err := s.measure(ctx)
		if err != nil {
			return err
		}
		for _, change := range s.add(p.Status.Results[0], p.Status.Changes) {
			say("  reported: %s", trend.Describe(change))
		}
		if s.spoilt > maxSpoilt {
			return fmt.Errorf("%d runs could not be compared; the last is %s", s.spoilt, p.Status.Results[0].Verdict)
		}
	}
	s.close()
	return nil
}

// measure asks for a run, unless the first is on its way, and returns the schedule once it holds the result.
func (s *story) measure(ctx context.Context) (*v1alpha1.PerfSchedule, error) {
	if len(s.runs) > 0 {
		trigger := fmt.Sprint(time.Now().UnixNano())
		err := s.patch(ctx, func(p *v1alpha1.PerfSchedule) { p.Annotations = map[string]string{schedule.AnnotationTrigger: trigger} })
		if err != nil {
			return nil, err
		}
	}
	p := &v1alpha1.PerfSchedule{}
	err := s.until(ctx, "a result", func() (bool, error) {
		if err := s.Get(ctx, s.key, p); err != nil {
			return false, err
		}
		return p.Status.Series != nil && int(p.Status.Series.Results) > len(s.runs), nil
	})
	if err != nil {
		return nil, err
	}
	result := p.Status.Results[0]
	regressed := ptr.Deref(meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionRegressed), metav1.Condition{})
	say("  %2d %s %s:%s; Regressed %s", len(s.runs)+1, result.Run, result.Verdict, brief(result), regressed.Status)
	return p, nil
}

// brief shows the medians.
func brief(r v1alpha1.RunResult) string {
	var out strings.Builder
	for _, f := range r.Figures {
		if strings.HasSuffix(f.Metric, ".p50") {
			fmt.Fprintf(&out, " %s %s", f.Metric, f.Value)
		}
	}
	return out.String()
}

func (s *story) patch(ctx context.Context, mutate func(*v1alpha1.PerfSchedule)) error {
	p := &v1alpha1.PerfSchedule{}
	if err := s.Get(ctx, s.key, p); err != nil {
		return fmt.Errorf("reading the schedule: %w", err)
	}
	next := p.DeepCopy()
	mutate(next)
	if err := s.Patch(ctx, next, client.MergeFrom(p)); err != nil {
		return fmt.Errorf("changing the schedule: %w", err)
	}
	return nil
}

func (s *story) until(ctx context.Context, what string, done wait.ConditionFunc) error {
	err := wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, patience, true, func(context.Context) (bool, error) { return done() })
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}

func ignore(err error, what func(error) bool) error {
	if err != nil && what(err) {
		return nil
	}
	return err
}

// delay passes on what the program says of it.
func (s *story) delay(ctx context.Context, arguments ...string) error {
	cmd := exec.CommandContext(ctx, s.localcluster, append([]string{"delay"}, arguments...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("changing the way between the nodes: %w", err)
	}
	return nil
}

func (s *story) restore(ctx context.Context) {
	if err := s.delay(ctx, loadTesterNode, "0"); err != nil {
		fmt.Fprintln(os.Stderr, "trend:", err)
	}
}

// save writes down the schedule and its series.
func (s *story) save(ctx context.Context, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	for file, o := range map[string]client.Object{"schedule.yaml": &v1alpha1.PerfSchedule{}, "series.yaml": &v1alpha1.PerfSeries{}} {
		if err := s.Get(ctx, s.key, o); err != nil {
			return fmt.Errorf("reading what is to be saved: %w", err)
		}
		o.SetManagedFields(nil)
		text, err := yaml.Marshal(o)
		if err != nil {
			return fmt.Errorf("writing %s: %w", file, err)
		}
		if err := os.WriteFile(filepath.Join(folder, file), text, 0o644); err != nil { //nolint:gosec // nothing in it is secret
			return fmt.Errorf("writing %s: %w", file, err)
		}
	}
	return nil
}

func say(format string, args ...any) {
	fmt.Printf(time.Now().UTC().Format("15:04:05 ")+format+"\n", args...)
}
