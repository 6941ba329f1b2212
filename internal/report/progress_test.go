package report

import (
	"bytes"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
)

func TestProgress(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	end := metav1.NewTime(noon.Add(time.Minute))
	p50, p99 := v1alpha1.NewLatency(1446*time.Microsecond), v1alpha1.NewLatency(50*time.Millisecond)
	run := &v1alpha1.PerfRun{Status: v1alpha1.PerfRunStatus{Phase: v1alpha1.PhaseMeasuring,
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Message: "block 1 of 12 measured"}},
		Progress: &v1alpha1.Progress{Block: 1, Blocks: 12, Percent: 25, Activity: "Dapr, 16 connections, pair 1 of 6", EstimatedCompletion: &end,
			Latest: []v1alpha1.BlockLatency{{Arm: v1alpha1.ArmDapr, Connections: 16, P50: &p50, P99: &p99}}}}}
	const line = "[#####...............]  25%  Dapr, 16 connections, pair 1 of 6, about 1m0s to go; Dapr p50 1.446ms, p99 50ms"

	var log bytes.Buffer
	p := Progress{Out: &log, Start: noon}
	p.Show(noon, &v1alpha1.PerfRun{})
	for second := range 16 {
		p.Show(noon.Add(time.Duration(second)*time.Second), run)
		end = metav1.NewTime(end.Add(time.Second))
	}
	if want := "[   0.0s] waiting for the operator to look at the PerfRun\n[   0.0s] " + line + "\n[  15.0s] " + line + "\n"; log.String() != want {
		t.Errorf("in a log, a line for what is new and one in %s:\n%s, want\n%s", quiet, log.String(), want)
	}

	var terminal bytes.Buffer
	end = metav1.NewTime(noon.Add(time.Minute))
	p = Progress{Out: &terminal, Start: noon, Live: true}
	p.Show(noon, run)
	p.Say(noon, "short")
	if want := "\r[   0.0s] " + line + "\r[   0.0s] short"; terminal.String()[:len(want)] != want || terminal.Len() != 2*(len("\r[   0.0s] ")+len(line)) {
		t.Errorf("on a terminal, one line that is written over: %q", terminal.String())
	}
}
