package results

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// ControlPlane makes the results of scenario ControlPlane's steps from the readings at their ends.
func ControlPlane(readings []v1alpha1.ControlPlaneReading) []v1alpha1.ControlPlaneResult {
	var out []v1alpha1.ControlPlaneResult
	for i, step := range v1alpha1.ControlPlaneSteps {
		if i+1 >= len(readings) {
			break
		}
		out = append(out, stepResult(step, readings[i], readings[i+1]))
	}
	return out
}

func stepResult(step v1alpha1.ControlPlaneStep, from, to v1alpha1.ControlPlaneReading) v1alpha1.ControlPlaneResult {
	took := to.Time.Sub(from.Time.Time)
	out := v1alpha1.ControlPlaneResult{Step: step, Duration: metav1.Duration{Duration: took.Round(time.Millisecond)}, Pods: to.Pods}
	var cpu, memory float64
	for _, end := range to.Parts {
		used := v1alpha1.PartUsage{Component: end.Component, Pod: end.Pod}
		i := slices.IndexFunc(from.Parts, func(p v1alpha1.PartReading) bool { return p.Pod == end.Pod })
		switch {
		case end.Error != "":
			used.Note = end.Error
		case i < 0 || from.Parts[i].Error != "":
			used.Note = "it could not be read when the step began"
		case end.CPUTime.Duration < from.Parts[i].CPUTime.Duration:
			used.Note = "it restarted in this step: its counters began again"
		}
		if used.Note != "" {
			out.Total.Unread++
			out.Parts = append(out.Parts, used)
			continue
		}
		begin := from.Parts[i]
		spent := end.CPUTime.Duration - begin.CPUTime.Duration
		used.CPUTime = &metav1.Duration{Duration: spent}
		used.CPU, used.Memory = milli(spent.Seconds()/took.Seconds()), mebi(end.Memory.AsApproximateFloat64())
		used.Work = work(begin, end)
		out.Parts = append(out.Parts, used)
		out.Total.Pods++
		cpu += spent.Seconds() / took.Seconds()
		memory += end.Memory.AsApproximateFloat64()
	}
	out.Total.CPU, out.Total.Memory = *milli(cpu), *mebi(memory)
	return out
}

func work(begin, end v1alpha1.PartReading) []v1alpha1.Work {
	var out []v1alpha1.Work
	for _, name := range slices.Sorted(maps.Keys(end.Counters)) {
		out = append(out, v1alpha1.Work{Name: name, Amount: end.Counters[name] - begin.Counters[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(end.Levels)) {
		out = append(out, v1alpha1.Work{Name: name, Amount: end.Levels[name]})
	}
	return out
}

// ControlPlaneVerdict is Succeeded unless a part of the control plane could not be read throughout, a pod was not there throughout the
// step that is about all of them, or a run that was to measure alone did not.
func ControlPlaneVerdict(s v1alpha1.Settings, steps []v1alpha1.ControlPlaneResult, sharedWith []string) *Outcome {
	out := &Outcome{}
	out.Reasons, out.Warnings = shared(s, sharedWith)
	for _, step := range steps {
		for _, p := range step.Parts {
			if p.Note != "" {
				out.Reasons = append(out.Reasons, v1alpha1.Reason{Reason: v1alpha1.ReasonControlPlaneUnread,
					Message: fmt.Sprintf("%s, pod %s in step %s: %s", p.Component, p.Pod, step.Step, p.Note)})
			}
		}
		if step.Step == v1alpha1.StepSteady && step.Pods != s.ControlPlane.Pods {
			out.Reasons = append(out.Reasons, v1alpha1.Reason{Reason: v1alpha1.ReasonPodsNotReady,
				Message: fmt.Sprintf("%d of %d pods were ready at the end of step %s", step.Pods, s.ControlPlane.Pods, step.Step)})
		}
	}
	out.decide()
	if out.Verdict == v1alpha1.PhaseSucceeded {
		out.Message = controlPlaneHeadline(s, steps)
	}
	return out
}

// controlPlaneHeadline is the answer in one sentence.
func controlPlaneHeadline(s v1alpha1.Settings, steps []v1alpha1.ControlPlaneResult) string {
	total := map[v1alpha1.ControlPlaneStep]v1alpha1.ControlPlaneResult{}
	for _, step := range steps {
		total[step.Step] = step
	}
	up := total[v1alpha1.StepUp]
	var spent time.Duration
	for _, p := range up.Parts {
		if p.CPUTime != nil {
			spent += p.CPUTime.Duration
		}
	}
	idle, steady := total[v1alpha1.StepIdle].Total, total[v1alpha1.StepSteady].Total
	return fmt.Sprintf("the control plane's %d pods take %s vCPU and %s idle, %s and %s with %d pods connected; bringing those up took %s of its CPU time",
		idle.Pods, idle.CPU.String(), idle.Memory.String(), steady.CPU.String(), steady.Memory.String(), s.ControlPlane.Pods, spent.Round(time.Millisecond))
}
