package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// PointResult is what one point came to.
type PointResult struct {
	// connections is the number of client connections of this point.
	Connections int32 `json:"connections"`
	// baseline is the arm straight to the target, without Dapr. Absent where spec.baseline is None.
	// +optional
	Baseline *ArmResult `json:"baseline,omitempty"`
	// dapr is the arm through both sidecars.
	// +optional
	Dapr *ArmResult `json:"dapr,omitempty"`
	// added is what Dapr adds: latency, which takes a baseline, and CPU.
	// +optional
	Added *Added `json:"added,omitempty"`
	// startSkewMax is the most that the load testers were apart in beginning a block of this point. Absent with one load tester.
	// +optional
	StartSkewMax *Latency `json:"startSkewMax,omitempty"`
}

// ArmResult is what one arm came to at one point, all of its blocks merged.
type ArmResult struct {
	// requests that were sent and answered or failed.
	Requests int64 `json:"requests"`
	// errors is the number of requests without a good answer: a 2xx, or gRPC's OK. They are not in the latencies.
	Errors int64 `json:"errors"`
	// errorCodes counts the errors by HTTP status or by the name of gRPC's code, such as Unavailable; -1 stands for no answer at all
	// (connection or timeout).
	// +optional
	ErrorCodes map[string]int64 `json:"errorCodes,omitempty"`
	// skipped requests were due within a block but could not be sent before its deadline.
	// +optional
	Skipped int64 `json:"skipped,omitempty"`
	// late requests were sent more than 1 ms after they were due and their connection was free: later than a timer on an idle machine. They
	// are in the latencies, which the load tester's lateness is not part of.
	Late int64 `json:"late"`
	// lag is how long after it was due, and its connection free, the load tester sent a request; of all requests sent.
	// +optional
	Lag *Lag `json:"lag,omitempty"`
	// achievedRPS is the rate of successful answers per second, over the last four fifths of each block's schedule: a backlog that
	// grows lowers it, one that is there all along does not.
	AchievedRPS string `json:"achievedRPS"`
	// latency is the response time: from the moment at which a request was due to the last byte of its answer.
	// +optional
	Latency *LatencySummary `json:"latency,omitempty"`
	// serviceTime is from the moment at which a request was really sent. The gap to latency is the time that requests waited for a connection.
	// +optional
	ServiceTime *LatencySummary `json:"serviceTime,omitempty"`
}

// Lag is how late the load tester was: whether it kept its schedule.
type Lag struct {
	// p99 is the 99th percentile; left out with fewer than 10 requests beyond it.
	// +optional
	P99 *Latency `json:"p99,omitempty"`
	// max is the largest.
	Max Latency `json:"max"`
}

// LatencySummary describes a distribution of latencies. A percentile with fewer than 10 samples beyond it is left out.
type LatencySummary struct {
	// mean latency.
	Mean Latency `json:"mean"`
	// p50 is the median.
	// +optional
	P50 *Latency `json:"p50,omitempty"`
	// p75 is the 75th percentile.
	// +optional
	P75 *Latency `json:"p75,omitempty"`
	// p90 is the 90th percentile.
	// +optional
	P90 *Latency `json:"p90,omitempty"`
	// p95 is the 95th percentile.
	// +optional
	P95 *Latency `json:"p95,omitempty"`
	// p99 is the 99th percentile.
	// +optional
	P99 *Latency `json:"p99,omitempty"`
	// p999 is the 99.9th percentile.
	// +optional
	P999 *Latency `json:"p999,omitempty"`
	// max is the largest.
	Max Latency `json:"max"`
}

// Added is what Dapr adds in each pair of blocks, the median over the pairs. An added percentile is Dapr's percentile minus the
// baseline's: the difference of two percentiles, not a percentile of differences.
type Added struct {
	// p50 is the added median.
	// +optional
	P50 *AddedLatency `json:"p50,omitempty"`
	// p90 is the added 90th percentile.
	// +optional
	P90 *AddedLatency `json:"p90,omitempty"`
	// p99 is the added 99th percentile.
	// +optional
	P99 *AddedLatency `json:"p99,omitempty"`
	// cpuPer1000RPS is the CPU of both sidecars together, for each 1000 successful requests per second.
	// +optional
	CPUPer1000RPS *AddedCPU `json:"cpuPer1000RPS,omitempty"`
}

// AddedLatency is one added percentile.
type AddedLatency struct {
	// value is the median over the pairs.
	Value Latency `json:"value"`
	// low is the lower end of the 95% interval over the pairs; absent with fewer than 6 pairs.
	// +optional
	Low *Latency `json:"low,omitempty"`
	// high is the upper end of the 95% interval over the pairs; absent with fewer than 6 pairs.
	// +optional
	High *Latency `json:"high,omitempty"`
	// detectable is the smallest true value that a run with an interval of this width tells from none in 4 of 5 cases: 1.43 times the
	// interval's half-width. Where the interval holds 0, Dapr may still add as much as this. Absent without an interval.
	// +optional
	Detectable *Latency `json:"detectable,omitempty"`
	// pairs is the number of pairs that the value is the median of.
	Pairs int32 `json:"pairs"`
	// note says why there is no interval.
	// +optional
	Note string `json:"note,omitempty"`
}

// AddedCPU is the CPU that requests take in the sidecars.
type AddedCPU struct {
	// value is the median over the pairs, in vCPU.
	Value resource.Quantity `json:"value"`
	// low is the lower end of the 95% interval over the pairs; absent with fewer than 6 pairs.
	// +optional
	Low *resource.Quantity `json:"low,omitempty"`
	// high is the upper end of the 95% interval over the pairs; absent with fewer than 6 pairs.
	// +optional
	High *resource.Quantity `json:"high,omitempty"`
	// detectable is the smallest difference from another value that a run with an interval of this width tells from none in 4 of 5
	// cases: 1.43 times the interval's half-width. Absent without an interval.
	// +optional
	Detectable *resource.Quantity `json:"detectable,omitempty"`
	// pairs is the number of pairs that the value is the median of.
	Pairs int32 `json:"pairs"`
	// note says why there is no interval.
	// +optional
	Note string `json:"note,omitempty"`
}
