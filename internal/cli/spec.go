package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// specFlags describe a PerfRun. A flag that is not given leaves its field out, so that the defaults are the operator's.
type specFlags struct {
	scenario, payload, baseline, sampling, placement string
	rps, pairs                                       int32
	connections                                      []int32
	duration, warmup                                 time.Duration
	mTLS                                             bool
	thresholds                                       map[string]string
}

const scenarioFlag = "scenario"

// described are the flags that describe a run; the same names as the fields have in the spec.
var described = []string{scenarioFlag, "rps", "payload", "connections", "duration", "warmup", "pairs", "baseline", "mtls", "sampling", "placement", "threshold"}

func (s *specFlags) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.scenario, scenarioFlag, string(v1alpha1.ScenarioInvocation), "what is measured: Invocation, Actors or ControlPlane")
	f.Int32Var(&s.rps, "rps", 0, "requests per second (default 1000, Actors 500)")
	f.StringVar(&s.payload, "payload", "", "`size` of each request's body, such as 1Ki (default 1Ki; Actors: the body {})")
	f.Int32SliceVar(&s.connections, "connections", nil, "numbers of client connections, one point of the sweep each (default 16, Actors 8)")
	f.DurationVar(&s.duration, "duration", 0, "measured time of each arm at each point (default 1m)")
	f.DurationVar(&s.warmup, "warmup", 0, "discarded time of each arm before each point (default 10s)")
	f.Int32Var(&s.pairs, "pairs", 0, "pairs of blocks at each point (default 6; fewer give no interval)")
	f.StringVar(&s.baseline, "baseline", "", "what the path through Dapr is compared with: Direct (default) or None")
	f.BoolVar(&s.mTLS, "mtls", true, "mTLS between the sidecars")
	f.StringVar(&s.sampling, "sampling", "", "traced fraction, from 0 to 1 (default 0.1)")
	f.StringVar(&s.placement, "placement", "", "of load tester and target: DifferentNode (default), SameNode or Any")
	f.StringToStringVar(&s.thresholds, "threshold", nil, "a `limit` under spec.thresholds, such as added.p99=5ms; may be repeated. A run that misses it has Failed")
	for flag, values := range map[string][]string{
		scenarioFlag: {string(v1alpha1.ScenarioInvocation), string(v1alpha1.ScenarioActors), string(v1alpha1.ScenarioControlPlane)},
		"baseline":   {string(v1alpha1.BaselineDirect), string(v1alpha1.BaselineNone)},
		"placement":  {string(v1alpha1.PlacementDifferentNode), string(v1alpha1.PlacementSameNode), string(v1alpha1.PlacementAny)},
		"dry-run":    {dryRunClient, dryRunServer, dryRunNone},
	} {
		utilruntime.Must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
	}
}

// given are the describing flags of the command line.
func (s *specFlags) given(cmd *cobra.Command) []string {
	var out []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(described, f.Name) {
			out = append(out, f.Name)
		}
	})
	return out
}

// perfRun is what the flags describe, without a status and a namespace.
func (s *specFlags) perfRun(cmd *cobra.Command, args []string) (*unstructured.Unstructured, error) {
	spec, err := s.spec(s.given(cmd))
	if err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		return nil, fmt.Errorf("writing the PerfRun: %w", err)
	}
	for path, limit := range s.thresholds {
		if err := unstructured.SetNestedField(fields, limit, append([]string{"thresholds"}, strings.Split(path, ".")...)...); err != nil {
			return nil, fmt.Errorf("reading --threshold %s=%s: %w", path, limit, err)
		}
	}
	run := &unstructured.Unstructured{Object: map[string]any{"spec": fields}}
	run.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("PerfRun"))
	if len(args) > 0 {
		run.SetName(args[0])
	} else {
		run.SetGenerateName(strings.ToLower(s.scenario) + "-")
	}
	return run, nil
}

func (s *specFlags) spec(given []string) (*v1alpha1.PerfRunSpec, error) {
	spec := &v1alpha1.PerfRunSpec{Scenario: v1alpha1.Scenario(s.scenario)}
	for _, flag := range given {
		switch flag {
		case "rps":
			spec.RPS = &s.rps
		case "payload":
			size, err := resource.ParseQuantity(s.payload)
			if err != nil {
				return nil, fmt.Errorf("reading --payload %q: it is a size such as 512 or 1Ki: %w", s.payload, err)
			}
			spec.Payload = &v1alpha1.Payload{Size: &size}
		case "connections":
			spec.Connections = s.connections
		case "duration":
			spec.Duration = &metav1.Duration{Duration: s.duration}
		case "warmup":
			spec.Warmup = &metav1.Duration{Duration: s.warmup}
		case "pairs":
			spec.Pairs = &s.pairs
		case "baseline":
			spec.Baseline = (*v1alpha1.BaselineKind)(&s.baseline)
		case "mtls":
			spec.MTLS = &s.mTLS
		case "sampling":
			spec.Sampling = &s.sampling
		case "placement":
			spec.Placement = (*v1alpha1.Placement)(&s.placement)
		}
	}
	return spec, nil
}
