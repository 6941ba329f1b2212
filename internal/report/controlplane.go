package report

import (
	"fmt"
	"strings"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// controlPlane shows what each part took in each step of scenario ControlPlane, and what drove it.
func controlPlane(run *v1alpha1.PerfRun) []Section {
	var all []Section
	for _, step := range run.Status.ControlPlaneResults {
		s := Section{
			Title: fmt.Sprintf("%s, %s: %s", step.Step, step.Duration.Round(100*time.Millisecond), aboutStep(step)),
			Head:  row("COMPONENT", "POD", "CPU", "CPU TIME", "MEMORY", "DRIVEN BY"),
		}
		for _, part := range step.Parts {
			s.Rows = append(s.Rows, partRow(part))
		}
		s.row("total", fmt.Sprintf("%d pods", step.Total.Pods), cpu(&step.Total.CPU), "", quantity(&step.Total.Memory), "")
		all = append(all, s)
	}
	if n := len(all); n > 0 {
		all[n-1].note("CPU is the mean vCPU over the step, by each process's own counter; memory is resident, at the step's end.")
	}
	return all
}

func aboutStep(step v1alpha1.ControlPlaneResult) string {
	switch step.Step {
	case v1alpha1.StepIdle:
		return "no pods of the run"
	case v1alpha1.StepUp:
		return fmt.Sprintf("%d pods with sidecars brought up", step.Pods)
	case v1alpha1.StepSteady:
		return fmt.Sprintf("%d pods connected, doing nothing", step.Pods)
	default:
		return "the pods taken down"
	}
}

func partRow(u v1alpha1.PartUsage) []string {
	if u.Note != "" {
		return row(string(u.Component), u.Pod, "-", "-", "-", u.Note)
	}
	var driven []string
	for _, w := range u.Work {
		driven = append(driven, fmt.Sprintf("%d %s", w.Amount, w.Name))
	}
	return row(string(u.Component), u.Pod, cpu(u.CPU), u.CPUTime.Duration.Round(time.Millisecond).String(), quantity(u.Memory), strings.Join(driven, ", "))
}

func fleetRows(s v1alpha1.Settings, e *v1alpha1.Environment) [][]string {
	kind := "hosting no actors"
	if s.ControlPlane.ActorHosts {
		kind = "each hosting a type of actors"
	}
	rows := [][]string{row("pods", fmt.Sprintf("%d with sidecars, %s; steps Idle and Steady of %s each", s.ControlPlane.Pods, kind, s.Duration.Duration))}
	if e != nil {
		rows = append(rows, row("cluster", fmt.Sprintf("Kubernetes %s, Dapr %s", known(e.Kubernetes), known(e.Dapr))))
	}
	return rows
}
