package v1alpha1

// InvalidBlock is one block that broke a rule.
type InvalidBlock struct {
	// connections is the point.
	Connections int32 `json:"connections"`
	// pair of blocks, counted from 1.
	Pair int32 `json:"pair"`
	// arm of the block.
	Arm Arm `json:"arm"`
	// reason in CamelCase: the first rule that was broken, what explains others before what it explains.
	Reason string `json:"reason"`
	// message has a sentence with the figure for each rule that was broken.
	Message string `json:"message"`
}

// Outcome of a threshold.
//
// +kubebuilder:validation:Enum=Met;Missed;Undecided
type Outcome string

// The outcomes.
const (
	// OutcomeMet: the interval, or the figure where there is none by nature, lies at or below the limit.
	OutcomeMet Outcome = "Met"
	// OutcomeMissed: it lies above the limit.
	OutcomeMissed Outcome = "Missed"
	// OutcomeUndecided: the limit lies inside the interval, or there is nothing to judge; message says which.
	OutcomeUndecided Outcome = "Undecided"
)

// ThresholdResult is what came of one threshold at one point.
type ThresholdResult struct {
	// threshold is the field of spec.thresholds, such as added.p90.
	Threshold string `json:"threshold"`
	// connections is the point.
	Connections int32 `json:"connections"`
	// limit that the spec sets.
	Limit string `json:"limit"`
	// figure that was measured, in the limit's unit. added: the median over the pairs. latency: the percentile of all requests.
	// sidecarCPU: the median over the pairs. Absent: there is none.
	// +optional
	Figure string `json:"figure,omitempty"`
	// low is the lower end of the 95% interval that was judged. For latency it is that of the median of the blocks' percentiles,
	// and reaches to the figure where that lies outside.
	// +optional
	Low string `json:"low,omitempty"`
	// high is the upper end of that interval.
	// +optional
	High string `json:"high,omitempty"`
	// outcome of the comparison.
	Outcome Outcome `json:"outcome"`
	// message says why the outcome is Undecided.
	// +optional
	Message string `json:"message,omitempty"`
}
