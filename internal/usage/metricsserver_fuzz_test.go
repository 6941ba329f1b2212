package usage

import (
	"encoding/json"
	"math"
	"testing"

	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// FuzzWindows: whatever the API group metrics.k8s.io answers, what is kept of it is an amount of something.
func FuzzWindows(f *testing.F) {
	for _, usage := range []string{`{"cpu":"123456789n","memory":"54Mi"}`, `{"cpu":"-1","memory":"-1"}`, `{"cpu":"1e308"}`, `{"memory":"99999999999999999999"}`, `{}`} {
		f.Add([]byte(`{"items":[{"metadata":{"namespace":"n","name":"p"},"timestamp":"2026-01-02T03:04:05Z","window":"15s","containers":[{"name":"c","usage":` + usage + `}]}]}`))
	}
	f.Add([]byte(`{"items":[{"metadata":{"namespace":"n","name":"p"},"window":"-15s","containers":[{"name":"c"}]}]}`))
	components := map[Container]string{{"n", "p", "c"}: "app"}
	f.Fuzz(func(t *testing.T, text []byte) {
		var list metricsv1beta1.PodMetricsList
		if json.Unmarshal(text, &list) != nil {
			return
		}
		for _, w := range Windows(list.Items, components) {
			if w.Component != "app" || w.Length <= 0 || !(w.CPU >= 0) || math.IsInf(w.CPU, 0) || w.WorkingSet < 0 {
				t.Errorf("%+v", w)
			}
			if _, err := json.Marshal(w); err != nil {
				t.Errorf("%+v cannot be posted: %v", w, err)
			}
		}
	})
}
