package stage

import (
	"testing"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
)

func TestPlacesInTheQueue(t *testing.T) {
	for _, c := range []struct {
		ahead int
		after time.Duration
	}{{1, 50 * time.Second}, {10, 50 * time.Second}, {11, 55 * time.Second}, {1000, 5000 * time.Second}} {
		d := Decide(ready(v1alpha1.PhaseQueued, func(o *Observation) { o.Ahead = c.ahead }))
		if d.Phase != v1alpha1.PhaseQueued || d.Place != c.ahead || d.After != c.after {
			t.Errorf("with %d ahead: %+v", c.ahead, d)
		}
	}
	if d := Decide(ready(v1alpha1.PhaseQueued)); d.Phase != v1alpha1.PhasePreparing || d.Place != 0 {
		t.Errorf("with nobody ahead: %+v", d)
	}
}
