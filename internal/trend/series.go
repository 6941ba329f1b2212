// Package trend keeps the results of a schedule's runs and says when their figures changed. No client, no clock.
package trend

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

const (
	// MaxResults of a series.
	MaxResults = 500
	// maxBytes of a series as JSON. The API server takes 1.5 MiB of a request to etcd, and 3 MiB of a body; a series is also read at once by those who look at it.
	maxBytes = 900 << 10
)

// Add puts a finished run's result into the series. It is false where the result is there already.
func Add(series *v1alpha1.PerfSeries, run *v1alpha1.PerfRun) (bool, error) {
	if Has(series.Results, run) {
		return false, nil
	}
	result := v1alpha1.RunResult{Run: run.Name, Time: began(run), Verdict: run.Status.Phase}
	if measured(run.Status.Phase) || run.Status.Phase == v1alpha1.PhaseInconclusive {
		result.Figures = Figures(&run.Status)
	}
	if len(result.Figures) > 0 {
		environment, settings, err := Contexts(run)
		if err != nil {
			return false, err
		}
		result.Environment, result.Settings = environment.Digest, settings.Digest
		series.Environments = remember(series.Environments, environment)
		series.Settings = remember(series.Settings, settings)
	}
	at, _ := slices.BinarySearchFunc(series.Results, result, func(a, b v1alpha1.RunResult) int {
		if a.Time.After(b.Time.Time) {
			return 1
		}
		return -1
	})
	series.Results = slices.Insert(series.Results, at, result)
	return true, bound(series)
}

// Has tells whether the result of a run is among these. Its name alone does not say: a trigger that comes again gives its run the name of one that may be
// gone by then.
func Has(results []v1alpha1.RunResult, run *v1alpha1.PerfRun) bool {
	at := began(run)
	return slices.ContainsFunc(results, func(r v1alpha1.RunResult) bool { return r.Run == run.Name && r.Time.Equal(&at) })
}

// began is when a run left the queue; if it never did, when it was created.
func began(run *v1alpha1.PerfRun) metav1.Time {
	return ptr.Deref(run.Status.StartTime, run.CreationTimestamp)
}

// measured under the declared conditions: these verdicts' figures may be compared.
func measured(verdict v1alpha1.Phase) bool {
	return verdict == v1alpha1.PhaseSucceeded || verdict == v1alpha1.PhaseFailed
}

// bound drops the oldest results until the series is within its limits, and then what only they referred to.
func bound(series *v1alpha1.PerfSeries) error {
	if extra := len(series.Results) - MaxResults; extra > 0 {
		series.Results = slices.Delete(series.Results, 0, extra)
	}
	for {
		forget(series)
		text, err := json.Marshal(series)
		if err != nil {
			return fmt.Errorf("measuring the series: %w", err)
		}
		if len(text) <= maxBytes || len(series.Results) <= 1 {
			return nil
		}
		// As many as are too much by their mean size, and one more: the next round sees whether that was enough.
		surplus := 1 + (len(text)-maxBytes)*len(series.Results)/len(text)
		series.Results = slices.Delete(series.Results, 0, min(surplus, len(series.Results)-1))
	}
}

func forget(series *v1alpha1.PerfSeries) {
	environments, settings := map[string]bool{}, map[string]bool{}
	for _, r := range series.Results {
		environments[r.Environment], settings[r.Settings] = true, true
	}
	unused := func(used map[string]bool) func(v1alpha1.SeriesContext) bool {
		return func(c v1alpha1.SeriesContext) bool { return !used[c.Digest] }
	}
	series.Environments = slices.DeleteFunc(series.Environments, unused(environments))
	series.Settings = slices.DeleteFunc(series.Settings, unused(settings))
}

func remember(known []v1alpha1.SeriesContext, c v1alpha1.SeriesContext) []v1alpha1.SeriesContext {
	if slices.ContainsFunc(known, func(k v1alpha1.SeriesContext) bool { return k.Digest == c.Digest }) {
		return known
	}
	return append(known, c)
}

// Contexts are what the run's figures hold for: the environment as observed, and the settings, which are those in force and
// whatever else the spec says of the pods.
func Contexts(run *v1alpha1.PerfRun) (environment, settings v1alpha1.SeriesContext, err error) {
	observed := v1alpha1.Environment{}
	if run.Status.Environment != nil {
		observed = *run.Status.Environment
	}
	// Counted anew in each run; what was asked for is among the settings.
	observed.Sampling = ""
	// Each run has other neighbours; that it had any is what makes it another environment.
	if len(observed.SharedWith) > 0 {
		observed.SharedWith = []string{"other runs"}
	}
	if environment, err = contextOf(observed); err != nil {
		return environment, settings, err
	}
	settings, err = contextOf(struct {
		Scenario   v1alpha1.Scenario            `json:"scenario"`
		InForce    v1alpha1.Settings            `json:"inForce"`
		Payload    *v1alpha1.Payload            `json:"payload,omitempty"`
		Sidecar    *v1alpha1.SidecarSettings    `json:"sidecar,omitempty"`
		LoadTester *v1alpha1.LoadTesterSettings `json:"loadTester,omitempty"`
		Target     *v1alpha1.TargetSettings     `json:"target,omitempty"`
	}{run.Spec.Scenario, run.Spec.EffectiveSettings(), digested(run.Spec.Payload), run.Spec.Sidecar, run.Spec.LoadTester, run.Spec.Target})
	return environment, settings, err
}

// digested replaces a body given in full, which may be longer than all the rest.
func digested(p *v1alpha1.Payload) *v1alpha1.Payload {
	if p == nil || p.Body == nil {
		return p
	}
	short := "sha256:" + digest([]byte(*p.Body))
	return &v1alpha1.Payload{Body: &short}
}

func contextOf(v any) (v1alpha1.SeriesContext, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return v1alpha1.SeriesContext{}, fmt.Errorf("writing down what a run's figures hold for: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return v1alpha1.SeriesContext{}, fmt.Errorf("writing down what a run's figures hold for: %w", err)
	}
	values := map[string]string{}
	flatten(values, "", fields)
	return v1alpha1.SeriesContext{Digest: digestOf(values), Values: values}, nil
}

func flatten(out map[string]string, prefix string, fields map[string]any) {
	for name, value := range fields {
		path := strings.TrimPrefix(prefix+"."+name, ".")
		switch v := value.(type) {
		case map[string]any:
			flatten(out, path, v)
		case string:
			out[path] = v
		case float64:
			out[path] = strconv.FormatFloat(v, 'f', -1, 64)
		default:
			// It was read from JSON, and can be written again.
			text, _ := json.Marshal(v)
			out[path] = string(text)
		}
	}
}

// digestOf is the same for the same values: JSON orders the keys of a map.
func digestOf(values map[string]string) string {
	text, _ := json.Marshal(values)
	return digest(text)
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:16]
}
