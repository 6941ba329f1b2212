package results

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// partsAt is a reading of two parts of which each has used so many seconds.
func partsAt(second int, pods int32, sentry, placement float64, requests, hosts int64) v1alpha1.ControlPlaneReading {
	cpu := func(s float64) metav1.Duration {
		return metav1.Duration{Duration: time.Duration(s * float64(time.Second))}
	}
	return v1alpha1.ControlPlaneReading{
		Time: metav1.NewMicroTime(time.Unix(int64(second), 0)), Pods: pods,
		Parts: []v1alpha1.PartReading{
			{Component: v1alpha1.ComponentSentry, Pod: "sentry-0", CPUTime: cpu(sentry), Memory: resource.MustParse("20Mi"), Counters: map[string]int64{"certificate requests": requests}},
			{Component: v1alpha1.ComponentPlacement, Pod: "placement-0", CPUTime: cpu(placement), Memory: resource.MustParse("30Mi"), Levels: map[string]int64{"connected actor hosts": hosts}},
		},
	}
}

func TestControlPlaneSteps(t *testing.T) {
	readings := []v1alpha1.ControlPlaneReading{
		partsAt(0, 0, 10, 5, 100, 0), partsAt(10, 0, 10.5, 5, 101, 0), partsAt(14, 3, 11.5, 5.2, 107, 3), partsAt(24, 3, 12, 5.3, 107, 3), partsAt(30, 0, 12, 5.4, 107, 0),
	}
	if got := ControlPlane(readings[:1]); len(got) != 0 {
		t.Errorf("one reading makes no step, got %v", got)
	}
	type figures struct{ cpu, time, work string }
	want := map[string]figures{
		"Idle sentry": {"50m", "500ms", "certificate requests 1"}, "Idle placement": {"0", "0s", "connected actor hosts 0"},
		"Up sentry": {"250m", "1s", "certificate requests 6"}, "Up placement": {"50m", "200ms", "connected actor hosts 3"},
		"Steady sentry": {"50m", "500ms", "certificate requests 0"}, "Steady placement": {"10m", "100ms", "connected actor hosts 3"},
		"Down sentry": {"0", "0s", "certificate requests 0"}, "Down placement": {"17m", "100ms", "connected actor hosts 0"},
	}
	got := map[string]figures{}
	steps := ControlPlane(readings)
	for _, step := range steps {
		for _, p := range step.Parts {
			got[string(step.Step)+" "+string(p.Component)] = figures{p.CPU.String(), p.CPUTime.Duration.String(),
				p.Work[0].Name + " " + resource.NewQuantity(p.Work[0].Amount, resource.DecimalSI).String()}
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(figures{})); diff != "" {
		t.Error(diff)
	}
	if total := steps[1].Total; total.CPU.String() != "300m" || total.Memory.String() != "50Mi" || total.Pods != 2 {
		t.Errorf("total %+v", total)
	}
	settings := v1alpha1.Settings{ControlPlane: &v1alpha1.ControlPlaneInForce{Pods: 3}}
	out := ControlPlaneVerdict(settings, steps, nil)
	if out.Verdict != v1alpha1.PhaseSucceeded || out.Reason != v1alpha1.ReasonMeasured || !strings.Contains(out.Message, "bringing those up took 1.2s") {
		t.Errorf("%s %s %s", out.Verdict, out.Reason, out.Message)
	}
}

func TestControlPlaneThatChangesIsInconclusive(t *testing.T) {
	settings := v1alpha1.Settings{ControlPlane: &v1alpha1.ControlPlaneInForce{Pods: 3}}
	for name, tc := range map[string]struct {
		spoil func(r []v1alpha1.ControlPlaneReading)
		says  string
	}{
		"restarted":  {func(r []v1alpha1.ControlPlaneReading) { r[2].Parts[0].CPUTime.Duration = time.Second }, "sentry, pod sentry-0 in step Up: it restarted"},
		"replaced":   {func(r []v1alpha1.ControlPlaneReading) { r[2].Parts[0].Pod = "sentry-1" }, "pod sentry-1 in step Up: it could not be read when the step began"},
		"unreadable": {func(r []v1alpha1.ControlPlaneReading) { r[1].Parts[1].Error = "refused" }, "placement, pod placement-0 in step Idle: refused"},
		"a pod lost": {func(r []v1alpha1.ControlPlaneReading) { r[3].Pods = 2 }, "2 of 3 pods were ready at the end of step Steady"},
	} {
		t.Run(name, func(t *testing.T) {
			readings := []v1alpha1.ControlPlaneReading{
				partsAt(0, 0, 10, 5, 0, 0), partsAt(1, 0, 11, 6, 0, 0), partsAt(2, 3, 12, 7, 0, 0), partsAt(3, 3, 13, 8, 0, 0), partsAt(4, 0, 14, 9, 0, 0),
			}
			tc.spoil(readings)
			out := ControlPlaneVerdict(settings, ControlPlane(readings), nil)
			if out.Verdict != v1alpha1.PhaseInconclusive || !strings.Contains(out.Message, tc.says) {
				t.Errorf("%s: %s", out.Verdict, out.Message)
			}
		})
	}
}
