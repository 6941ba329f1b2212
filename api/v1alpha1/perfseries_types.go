package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RunResult is what a schedule keeps of a run.
type RunResult struct {
	// run is the PerfRun's name. It may be deleted by now.
	Run string `json:"run"`
	// time at which the run left the queue.
	Time metav1.Time `json:"time"`
	// verdict of the run. Only what Succeeded or Failed (measured, but a threshold was missed) is compared.
	Verdict Phase `json:"verdict"`
	// environment that it was measured in, by its digest: one of the PerfSeries' environments.
	// +optional
	Environment string `json:"environment,omitempty"`
	// settings that it was measured with, by their digest: one of the PerfSeries' settings.
	// +optional
	Settings string `json:"settings,omitempty"`
	// figures of the run. None unless it was measured.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Figures []Figure `json:"figures,omitempty"`
}

// Figure is one figure of a run.
type Figure struct {
	// metric in the words of the PerfRun's status: added.p50, added.p90, added.p99 and added.cpuPer1000RPS; dapr.p50 and baseline.p50, the arms' own response
	// times, with dapr.p90 and dapr.p99 where there is no baseline; COMPONENT.cpuPer1000RPS (the mean over its pods) and COMPONENT.memory (their sum).
	Metric string `json:"metric"`
	// connections is the point that the figure holds for. Absent where it holds for all.
	// +optional
	Connections int32 `json:"connections,omitempty"`
	// value in the unit of the PerfRun's status.
	Value string `json:"value"`
	// low is the lower end of the run's own 95% interval; absent where it has none.
	// +optional
	Low string `json:"low,omitempty"`
	// high is the upper end of the run's own 95% interval; absent where it has none.
	// +optional
	High string `json:"high,omitempty"`
}

// Direction of a change. All figures are costs: more is worse.
//
// +kubebuilder:validation:Enum=Regression;Improvement
type Direction string

// The directions.
const (
	// DirectionRegression is an increase.
	DirectionRegression Direction = "Regression"
	// DirectionImprovement is a decrease.
	DirectionImprovement Direction = "Improvement"
)

// Size of a change, relative to the level before it: "0.25" is a quarter more.
type Size struct {
	// value of the change.
	Value string `json:"value"`
	// low is the lower end of its 95% interval.
	Low string `json:"low"`
	// high is the upper end of its 95% interval.
	High string `json:"high"`
}

// FigureChange is a figure's lasting change.
type FigureChange struct {
	// metric that changed.
	Metric string `json:"metric"`
	// connections is the point that the figure holds for. Absent where it holds for all.
	// +optional
	Connections int32 `json:"connections,omitempty"`
	// direction of the change.
	Direction Direction `json:"direction"`
	// before is the level of the results before the change, back to the change before that; their geometric mean where all results are positive.
	Before string `json:"before"`
	// after is the level of the results from the change on, up to the next change.
	After string `json:"after"`
	// size of the change.
	Size Size `json:"size"`
	// since is the first run of the new level.
	Since string `json:"since"`
	// time of that run.
	Time metav1.Time `json:"time"`
	// results from the change on, up to the next change.
	Results int32 `json:"results"`
}

// EnvironmentStep is where the environment or the settings changed: results from before and after are compared, and no regression is made of it.
type EnvironmentStep struct {
	// since is the first run in the new environment.
	Since string `json:"since"`
	// time of that run.
	Time metav1.Time `json:"time"`
	// causes are what is different, such as "Dapr 1.17.0 -> 1.18.0".
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Causes []string `json:"causes"`
	// comparisons of the figures that differ by detection.minChange or more with an interval that leaves out 0, largest first, at most 20. None until both
	// environments have two results.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Comparisons []StepComparison `json:"comparisons,omitempty"`
}

// StepComparison is a figure before and after a step: the last level of the former environment, and the first of the new one.
type StepComparison struct {
	// metric that is compared.
	Metric string `json:"metric"`
	// connections is the point that the figure holds for. Absent where it holds for all.
	// +optional
	Connections int32 `json:"connections,omitempty"`
	// before is the level before the step.
	Before string `json:"before"`
	// after is the level after it.
	After string `json:"after"`
	// size of the difference.
	Size Size `json:"size"`
}

// SeriesContext is what figures hold for: an environment, or settings.
type SeriesContext struct {
	// digest by which results name it.
	Digest string `json:"digest"`
	// values by their path, such as dapr: "1.18.0" or nodes.target: n2.
	Values map[string]string `json:"values"`
}

// PerfSeries holds the results of a PerfSchedule of the same name, and outlives its runs. Written by perfrun alone: at most 500 results, and
// less than 900 KiB in all; the oldest go first.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=perfseries,singular=perfseries,categories=all
// +kubebuilder:printcolumn:name="Last run",type=string,JSONPath=`.results[-1:].run`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PerfSeries struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// results in the order of their time, oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	Results []RunResult `json:"results,omitempty"`

	// environments that the results were measured in, as the runs' status.environment has them, but for what is counted anew in each run.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	Environments []SeriesContext `json:"environments,omitempty"`

	// settings that the results were measured with: those in force, and what the spec says of the pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	Settings []SeriesContext `json:"settings,omitempty"`
}

// PerfSeriesList is a list of PerfSeries.
//
// +kubebuilder:object:root=true
type PerfSeriesList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PerfSeries `json:"items"`
}
