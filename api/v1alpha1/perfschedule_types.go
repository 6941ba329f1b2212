package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConcurrencyPolicy says what happens when a run is due while one of the schedule's runs is not finished.
//
// +kubebuilder:validation:Enum=Forbid;Allow;Replace
type ConcurrencyPolicy string

// The concurrency policies.
const (
	// ConcurrencyForbid skips the run that is due. The default.
	ConcurrencyForbid ConcurrencyPolicy = "Forbid"
	// ConcurrencyAllow creates it all the same: it waits in the queue, since one run measures at a time.
	ConcurrencyAllow ConcurrencyPolicy = "Allow"
	// ConcurrencyReplace deletes what is not finished, and creates the run that is due.
	ConcurrencyReplace ConcurrencyPolicy = "Replace"
)

// PerfScheduleSpec says when to measure what. All of it may be changed at any time; runs that exist keep what they were created with, and
// results that were measured with other settings are not compared with each other.
type PerfScheduleSpec struct {
	// schedule is a time in five fields as cron has them (minute, hour, day of the month, month, day of the week), such as "0 3 * * *", or one
	// of @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule=`self.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[^ @]+( +[^ ]+){4})$')`,message="schedule must have five fields (minute, hour, day of the month, month, day of the week), such as \"0 3 * * *\", or be one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually"
	// +kubebuilder:validation:XValidation:rule=`!self.matches('^[^ @]+( +[^ ]+){4}$') || self.matches('(?i)^((\\*|[?]|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]*)?(,|$|( +)))+')`,message="the first field of schedule, the minute, must be from 0 to 59, such as 0, */15 or 0,30"
	Schedule string `json:"schedule"`

	// timeZone that schedule is read in, by its name in the IANA database, such as Europe/Berlin. A time that a change of the clocks leaves out
	// is skipped, one that it repeats comes twice, as for a CronJob. Default Etc/UTC.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$') && self.lowerAscii() != 'local'`,message="timeZone must be a name in the IANA database, such as Europe/Berlin or Etc/UTC"
	TimeZone *string `json:"timeZone,omitempty"`

	// suspend stops the creation of scheduled runs; those that exist go on, and perfrun.dev/trigger still works. When it ends, the
	// latest time that passed meanwhile is due at once, unless startingDeadlineSeconds is over. Default false.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// startingDeadlineSeconds is for how many seconds after its time a run may still be created; from 1 to 31536000. Later it is missed.
	// Unset: there is no deadline, and the latest time that passed without an operator is made up for.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31536000
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`

	// concurrencyPolicy says what happens when a run is due while one of the schedule's runs is not finished. Default Forbid.
	// +optional
	ConcurrencyPolicy *ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`

	// successfulRunsHistoryLimit is how many of the runs that Succeeded are kept; from 0 to 100. Their results stay in the PerfSeries. Default 3.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	SuccessfulRunsHistoryLimit *int32 `json:"successfulRunsHistoryLimit,omitempty"`

	// failedRunsHistoryLimit is how many of the runs that ended otherwise are kept; from 0 to 100. Default 3.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	FailedRunsHistoryLimit *int32 `json:"failedRunsHistoryLimit,omitempty"`

	// detection says which changes of the figures are reported (docs/regressions.md).
	// +optional
	Detection *Detection `json:"detection,omitempty"`

	// runTemplate is what the runs are made of.
	// +required
	RunTemplate RunTemplate `json:"runTemplate"`
}

// Detection says which changes of the figures are reported.
type Detection struct {
	// minChange is the smallest relative change that is reported, a decimal from 0 to 10. Default "0.05".
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]([.][0-9]+)?|10([.]0+)?)$')`,message="detection.minChange must be a decimal between 0 and 10 in quotes, such as \"0.1\" for 10%"
	MinChange *string `json:"minChange,omitempty"`

	// ignoreNodes: results from different nodes are compared with each other, because the nodes are alike. Where nodes come and go it takes
	// this, or a nodeSelector, to compare anything. Default false.
	// +optional
	IgnoreNodes *bool `json:"ignoreNodes,omitempty"`

	// acceptedUntil: changes that began with a run up to this time are known, and do not make the condition Regressed true any more. They stay in
	// status.changes. Unset: none are.
	// +optional
	AcceptedUntil *metav1.Time `json:"acceptedUntil,omitempty"`
}

// RunTemplate is what a schedule's runs are made of.
type RunTemplate struct {
	// metadata of the runs. Nothing of the schedule's own is copied.
	// +optional
	Metadata *RunMetadata `json:"metadata,omitempty"`
	// spec of the runs.
	// +required
	Spec PerfRunSpec `json:"spec"`
}

// RunMetadata is what runs may be marked with.
type RunMetadata struct {
	// labels of the runs.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of the runs.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PerfScheduleStatus is how a schedule has gone and what its results have come to.
type PerfScheduleStatus struct {
	// conditions: Accepted (whether the schedule can be followed; False names what is wrong with it) and Regressed (whether a figure is
	// worse, by a change that no later one has made up for and that is not accepted; Unknown with too few results to tell).
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// settings are the values in force: the spec's, and the defaults for what it leaves out.
	// +optional
	Settings *ScheduleSettings `json:"settings,omitempty"`

	// nextScheduleTime is when the next run is due. Absent while the schedule is suspended or not accepted.
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`

	// lastScheduleTime is the scheduled time of the last run that was created for one.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// lastSuccessfulTime is when a run last Succeeded.
	// +optional
	LastSuccessfulTime *metav1.Time `json:"lastSuccessfulTime,omitempty"`

	// decidedTime is the last scheduled time that is settled: its run was created, skipped or missed.
	// +optional
	DecidedTime *metav1.Time `json:"decidedTime,omitempty"`

	// lastTrigger is the value of the annotation perfrun.dev/trigger that a run was last created for.
	// +optional
	LastTrigger string `json:"lastTrigger,omitempty"`

	// skipped counts the scheduled times at which another run was not finished, by concurrencyPolicy Forbid.
	// +optional
	Skipped int64 `json:"skipped,omitempty"`

	// missed counts the scheduled times that passed without a run for any other reason: no operator, suspended, or past startingDeadlineSeconds.
	// More than 100 at a time count as 100.
	// +optional
	Missed int64 `json:"missed,omitempty"`

	// active are the names of the runs that are not finished, oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Active []string `json:"active,omitempty"`

	// series is where all results are kept that there is room for.
	// +optional
	Series *SeriesReference `json:"series,omitempty"`

	// results are the last 10, newest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Results []RunResult `json:"results,omitempty"`

	// changes are where figures changed for good, among results of one environment and the same settings; newest first, at most 32.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Changes []FigureChange `json:"changes,omitempty"`

	// steps are where the environment or the settings changed, and the figures with them; newest first, at most 5.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	Steps []EnvironmentStep `json:"steps,omitempty"`
}

// ScheduleSettings are the values in force for a schedule, defaults resolved.
type ScheduleSettings struct {
	// schedule in force.
	Schedule string `json:"schedule"`
	// timeZone that it is read in.
	TimeZone string `json:"timeZone"`
	// concurrencyPolicy in force.
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy"`
	// successfulRunsHistoryLimit in force.
	SuccessfulRunsHistoryLimit int32 `json:"successfulRunsHistoryLimit"`
	// failedRunsHistoryLimit in force.
	FailedRunsHistoryLimit int32 `json:"failedRunsHistoryLimit"`
	// minChange is the smallest relative change that is reported.
	MinChange string `json:"minChange"`
	// ignoreNodes: whether results from different nodes are compared with each other.
	IgnoreNodes bool `json:"ignoreNodes"`
	// acceptedUntil is the time up to which changes are known. Absent: none are.
	// +optional
	AcceptedUntil *metav1.Time `json:"acceptedUntil,omitempty"`
}

// SeriesReference names a PerfSeries in the schedule's namespace.
type SeriesReference struct {
	// name of the PerfSeries.
	Name string `json:"name"`
	// results is how many it holds.
	Results int32 `json:"results"`
}

// PerfSchedule measures again and again, and says when the answer changes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ps,categories=all
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="the name must not be longer than 52 characters, so that a run can be named after it and its time"
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name="Time Zone",type=string,JSONPath=`.status.settings.timeZone`
// +kubebuilder:printcolumn:name="Suspend",type=boolean,JSONPath=`.spec.suspend`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.active[*]`
// +kubebuilder:printcolumn:name="Last",type=date,JSONPath=`.status.lastScheduleTime`
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.status.results[0].verdict`
// +kubebuilder:printcolumn:name="Results",type=integer,JSONPath=`.status.series.results`
// +kubebuilder:printcolumn:name="Regressed",type=string,JSONPath=`.status.conditions[?(@.type=="Regressed")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Missed",type=integer,priority=1,JSONPath=`.status.missed`
// +kubebuilder:printcolumn:name="Skipped",type=integer,priority=1,JSONPath=`.status.skipped`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Regressed")].message`
type PerfSchedule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is when to measure what.
	// +required
	Spec PerfScheduleSpec `json:"spec"`

	// status is how it has gone so far. Written by perfrun alone.
	// +optional
	Status PerfScheduleStatus `json:"status,omitempty"`
}

// PerfScheduleList is a list of PerfSchedules.
//
// +kubebuilder:object:root=true
type PerfScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PerfSchedule `json:"items"`
}
