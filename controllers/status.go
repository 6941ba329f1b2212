package controllers

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/results"
	"perfrun.dev/perfrun/internal/stage"
)

// applyDecision writes a decision into the status: the one place that sets the phase and the root condition.
func applyDecision(run *v1alpha1.PerfRun, d stage.Decision, o stage.Observation) {
	status := &run.Status
	if status.Phase.Finished() {
		return
	}
	settings := o.Settings
	status.Settings = &settings
	if d.Phase == v1alpha1.PhaseSuspended {
		void(status)
	}
	status.Phase = d.Phase
	if status.Phase == "" {
		status.Phase = v1alpha1.PhaseQueued
	}
	status.QueuePosition = int32(d.Place)
	now := metav1.NewTime(o.Now)
	if status.StartTime == nil && status.Phase != v1alpha1.PhaseQueued && status.Phase != v1alpha1.PhaseSuspended {
		status.StartTime = &now
	}
	if status.Phase == v1alpha1.PhaseCollecting && status.Attempt != nil && status.Attempt.EndTime == nil {
		status.Attempt.EndTime = &now
	}
	verdict := metav1.ConditionUnknown
	if d.Phase.Finished() {
		status.CompletionTime = &now
		verdict = metav1.ConditionFalse
		if d.Phase == v1alpha1.PhaseSucceeded {
			verdict = metav1.ConditionTrue
		}
	}
	setCondition(run, status, v1alpha1.ConditionSucceeded, verdict, d.Reason, d.Message)
}

// void forgets an attempt that was stopped: the next one starts afresh.
func void(status *v1alpha1.PerfRunStatus) {
	if status.Attempt != nil || len(status.ControlPlaneReadings) > 0 {
		status.VoidAttempts++
	}
	status.StartTime, status.Attempt, status.Progress, status.Environment = nil, nil, nil, nil
	status.ControlPlaneReadings, status.ControlPlaneResults, status.Rebalances = nil, nil, nil
	meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionMetricsServer)
}

func setMetricsServer(run *v1alpha1.PerfRun, status *v1alpha1.PerfRunStatus, err error) {
	if err != nil {
		setCondition(run, status, v1alpha1.ConditionMetricsServer, metav1.ConditionFalse, v1alpha1.ReasonMetricsServerMissing,
			"CPU and memory come from exact counters alone, without metrics-server's figures beside them: "+err.Error()+
				"; to have them, install metrics-server (the API metrics.k8s.io must be served)")
		return
	}
	setCondition(run, status, v1alpha1.ConditionMetricsServer, metav1.ConditionTrue, v1alpha1.ReasonAvailable, "metrics-server answers")
}

// maxMessage bounds a condition's message; the API server refuses more than 32768.
const maxMessage = 2048

func setCondition(run *v1alpha1.PerfRun, status *v1alpha1.PerfRunStatus, kind string, value metav1.ConditionStatus, reason, message string) {
	if len(message) > maxMessage {
		message = message[:maxMessage] + " ..."
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: kind, Status: value, Reason: reason, Message: message, ObservedGeneration: run.Generation})
}

// announce tells of a new phase, after it has been written.
func (r *PerfRunReconciler) announce(run *v1alpha1.PerfRun, former v1alpha1.Phase) {
	phase := run.Status.Phase
	if phase == former {
		return
	}
	kind := corev1.EventTypeNormal
	if phase.Finished() && phase != v1alpha1.PhaseSucceeded {
		kind = corev1.EventTypeWarning
	}
	c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded)
	if c == nil {
		return
	}
	// An event's note holds at most 1024 bytes.
	note := c.Message
	if len(note) > 1000 {
		note = note[:1000] + " ..."
	}
	r.Recorder.Eventf(run, nil, kind, c.Reason, string(phase), "%s", note)
}

// progress puts the load testers' words into the status.
func progress(o stage.Observation) *v1alpha1.Progress {
	p := stage.Together(o.Testers)
	if p == nil {
		return o.Run.Status.Progress
	}
	out := &v1alpha1.Progress{
		Block: int32(p.MeasuredDone), Blocks: int32(p.Measured), Activity: activity(o, p.Current),
	}
	if len(o.Testers) == 1 && p.State == measure.Running {
		out.Latest = latest(p.Latest)
	}
	if p.LoadTime > 0 {
		out.Percent = int32(100 * p.Elapsed / p.LoadTime)
	}
	out.Display = fmt.Sprintf("%d%%", out.Percent)
	if remaining := p.LoadTime - p.Elapsed; remaining > 0 {
		end := metav1.NewTime(o.Now.Add(remaining).Truncate(time.Second))
		out.EstimatedCompletion = &end
	}
	return out
}

func latest(blocks []measure.BlockLatency) []v1alpha1.BlockLatency {
	at := func(us *int64) *v1alpha1.Latency {
		if us == nil {
			return nil
		}
		l := v1alpha1.NewLatency(time.Duration(*us) * time.Microsecond)
		return &l
	}
	var out []v1alpha1.BlockLatency
	for _, b := range blocks {
		out = append(out, v1alpha1.BlockLatency{Arm: v1alpha1.Arm(b.Arm), Connections: int32(b.Connections), P50: at(b.P50), P99: at(b.P99)})
	}
	return out
}

func applyOutcome(status *v1alpha1.PerfRunStatus, out *results.Outcome) {
	status.Results, status.Usage = out.Results, out.Usage
	status.ActorHosts, status.Rebalances = out.ActorHosts, out.Rebalances
	status.ControlPlane, status.Summary = out.ControlPlane, out.Summary
	status.Thresholds, status.Reasons = out.Thresholds, out.Reasons
	status.InvalidBlocks, status.Warnings = out.InvalidBlocks, out.Warnings
	status.Telemetry = out.Telemetry
	if status.Environment == nil {
		status.Environment = &v1alpha1.Environment{}
	}
	mtls := out.MTLS
	status.Environment.Dapr, status.Environment.MTLS, status.Environment.Sampling = out.DaprVersion, &mtls, out.Sampling
}
