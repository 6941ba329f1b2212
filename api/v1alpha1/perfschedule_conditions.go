package v1alpha1

// Condition types of a PerfSchedule.
const (
	// ConditionAccepted says whether the schedule can be followed.
	ConditionAccepted = "Accepted"
	// ConditionRegressed says whether a figure is worse than it was.
	ConditionRegressed = "Regressed"
)

// Reasons of the condition Accepted; ReasonSuspended, too: spec.suspend holds the runs back. True.
const (
	// ReasonScheduled: runs are created when they are due. True.
	ReasonScheduled = "Scheduled"
	// ReasonInvalidSchedule: spec.schedule cannot be read. False.
	ReasonInvalidSchedule = "InvalidSchedule"
	// ReasonUnknownTimeZone: spec.timeZone is in no database. False.
	ReasonUnknownTimeZone = "UnknownTimeZone"
	// ReasonNeverDue: no time fits spec.schedule. False.
	ReasonNeverDue = "NeverDue"
	// ReasonRunRefused: the API server refuses the run that runTemplate makes. False.
	ReasonRunRefused = "RunRefused"
)

// Reasons of the condition Regressed.
const (
	// ReasonRegression: a figure is worse, since the run that the message names. True.
	ReasonRegression = "Regression"
	// ReasonNoRegression: no figure is worse than it was. False.
	ReasonNoRegression = "NoRegression"
	// ReasonRegressionAccepted: what is worse was accepted by spec.detection.acceptedUntil. False.
	ReasonRegressionAccepted = "RegressionAccepted"
	// ReasonTooFewResults: there are too few results of the latest environment and settings to compare. Unknown.
	ReasonTooFewResults = "TooFewResults"
)

// Reasons of a PerfSchedule's events, beside those of its conditions.
const (
	// ReasonRunCreated: a run was created.
	ReasonRunCreated = "RunCreated"
	// ReasonRunReplaced: a run was deleted for the next one, by concurrencyPolicy Replace.
	ReasonRunReplaced = "RunReplaced"
	// ReasonRunSkipped: a run was due while another was not finished.
	ReasonRunSkipped = "RunSkipped"
	// ReasonRunsMissed: scheduled times have passed without a run.
	ReasonRunsMissed = "RunsMissed"
	// ReasonImprovement: a figure has become better.
	ReasonImprovement = "Improvement"
	// ReasonEnvironmentChanged: results come from another environment, or other settings, than before.
	ReasonEnvironmentChanged = "EnvironmentChanged"
)
