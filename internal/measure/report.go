package measure

import "time"

// State of an attempt.
type State string

// The states of an attempt. Done, Failed and Stopped are final.
const (
	Running State = "Running"
	Done    State = "Done"
	Failed  State = "Failed"
	Stopped State = "Stopped"
)

// Info identifies a load tester process.
type Info struct {
	// Version of the contract that it speaks.
	Version int `json:"version"`
	// Run that it was started for.
	Run string `json:"run"`
	// Instance is drawn afresh by each process.
	Instance string `json:"instance"`
	// Now is its clock's time at the moment of the answer.
	Now time.Time `json:"now"`
}

// Failure causes: why an attempt ended in Failed.
const (
	// CauseMTLS: the probe found the opposite of RequireMTLS.
	CauseMTLS = "MTLS"
	// CausePath: a warm-up or the priming requests of a block got no good answer at all.
	CausePath = "Path"
	// CauseActorHost: a host did not take on the actor type.
	CauseActorHost = "ActorHost"
	// CauseInternal: anything else.
	CauseInternal = "Internal"
)

// Progress of an attempt.
type Progress struct {
	Run     string `json:"run"`
	Attempt string `json:"attempt"`
	State   State  `json:"state"`
	// Cause and Message tell why State is Failed.
	Cause   string `json:"cause,omitempty"`
	Message string `json:"message,omitempty"`
	// Current is the index in Plan.Blocks of the block under way; len(Plan.Blocks) when there is none left.
	Current int `json:"current"`
	// MeasuredDone and Measured count the blocks that are not warm-ups.
	MeasuredDone int `json:"measuredDone"`
	Measured     int `json:"measured"`
	// Elapsed is the part of LoadTime that has passed.
	Elapsed  time.Duration `json:"elapsed"`
	LoadTime time.Duration `json:"loadTime"`
	// Latest is each arm's latest measured block, in the order of the arms: something to look at meanwhile.
	Latest []BlockLatency `json:"latest,omitempty"`
}

// BlockLatency is what one block's response times came to.
type BlockLatency struct {
	Arm         Arm `json:"arm"`
	Connections int `json:"connections"`
	// P50 and P99 in microseconds; nil with fewer than 10 samples beyond.
	P50 *int64 `json:"p50,omitempty"`
	P99 *int64 `json:"p99,omitempty"`
}

// Report is all that an attempt has recorded: what one load tester says of its plan, or what internal/merge has made of several.
type Report struct {
	Version int    `json:"version"`
	Run     string `json:"run"`
	Attempt string `json:"attempt"`
	// RPS is the rate of requests per second within each block.
	RPS float64 `json:"rps"`
	// URLs that the arms' requests went to.
	URLs map[Arm]string `json:"urls,omitempty"`
	// Actors that the requests went to; nil if they went to none.
	Actors   *Actors       `json:"actors,omitempty"`
	Observed Observed      `json:"observed"`
	Blocks   []BlockReport `json:"blocks"`
	// Usage holds one series for each component, pod and source.
	Usage []Series `json:"usage"`
	// Windows are metrics-server's figures that the operator posted while the attempt ran.
	Windows []Window `json:"windows,omitempty"`
	// Replicas are the load testers of a merged report, in the order of their shares.
	Replicas []Replica `json:"replicas,omitempty"`
}

// Replica is one load tester of several.
type Replica struct {
	// Pod that it ran in.
	Pod string `json:"pod"`
	// CPUs that its process may run on, limits by quota aside.
	CPUs int `json:"cpus"`
	// ClockOffset is by how much its clock was ahead of the operator's when the attempt was recorded; 0 where no difference could be told.
	// All moments in a merged report are by the operator's clock.
	ClockOffset time.Duration `json:"clockOffset"`
}

// Observed is what the load tester saw of the environment.
type Observed struct {
	// DaprVersion that the caller's sidecar reports; empty if it does not say.
	DaprVersion string `json:"daprVersion,omitempty"`
	// MTLS: whether the target's sidecar speaks TLS to other sidecars.
	MTLS bool `json:"mtls"`
	// CPUs that the load tester's process may run on, limits by quota aside.
	CPUs int `json:"cpus"`
	// Traced and Sampled count the requests that reached the target with a trace context, and those of them marked as sampled,
	// over the measured blocks of the Dapr arm; 0 where nobody counts.
	Traced  int64 `json:"traced"`
	Sampled int64 `json:"sampled"`
	// TracedBy is Traced by the target's pod, where there are several.
	TracedBy map[string]int64 `json:"tracedBy,omitempty"`
	// Sent counts all requests through Dapr, with those of the warm-ups and those that open connections: what the sink may have got a
	// trace of. Only with Plan.SinkURL, as the two below.
	Sent int64 `json:"sent,omitempty"`
	// Exported is what the sink has received; nil if it could not be read, for the reason in ExportError.
	Exported    *Exported `json:"exported,omitempty"`
	ExportError string    `json:"exportError,omitempty"`
}

// SteadyFrom is the fraction of a block after which its rate of answers is counted.
const SteadyFrom = 0.2

// BlockReport is what one block of the plan recorded. Warm-ups are in no report.
type BlockReport struct {
	Block
	// Start and End of the load: from the first request's due time to the last answer.
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// Due is Plan.Due, when the load was to begin; in a merged block, that of the first replica.
	Due time.Time `json:"due,omitzero"`
	// Planned requests, Connections times Plan.PerConnection; Planned = Succeeded + errors + Skipped.
	Planned int64 `json:"planned"`
	// Succeeded requests: a whole 2xx answer.
	Succeeded int64 `json:"succeeded"`
	// Errors by HTTP status, or FirstGRPCCode and the code of gRPC; -1 for no answer.
	Errors map[int]int64 `json:"errors,omitempty"`
	// Skipped requests were never sent: the block ran into its deadline.
	Skipped int64 `json:"skipped,omitempty"`
	// Steady is the number of successful answers that came within SteadyTime: from SteadyFrom of the block's schedule to its end. A backlog
	// that is there all along leaves the rate of answers as it is, one that grows lowers it; the first part, in which it builds up, and
	// what is answered after the last request was due tell nothing about it.
	Steady     int64         `json:"steady"`
	SteadyTime time.Duration `json:"steadyTime"`
	// Response and Service are HDR histograms (V2 encoding, compressed) of the successful requests, in microseconds:
	// from the due time, and from the actual send. What the load tester itself was late is in neither: it is in Lag.
	Response EncodedHistogram `json:"response"`
	Service  EncodedHistogram `json:"service"`
	// Lag is a histogram like those of all requests sent: how long after it was due, and its connection free, each was sent.
	Lag EncodedHistogram `json:"lag"`
	// Unstamped answers are those for which the kernel did not say when they arrived: they are timed by when the load tester read
	// them, and so too long by as much as it waited for a processor.
	Unstamped int64 `json:"unstamped,omitempty"`
	// Steal is the share of its node's CPU time that the hypervisor gave to others during the block, by pod; pods whose node could
	// not be read are missing.
	Steal map[string]float64 `json:"steal,omitempty"`
	// Timelines are how the block went, once for each step of TimelineSteps that the load tester had room for; in a merged report, once
	// for each step and replica.
	Timelines []Timeline `json:"timelines,omitempty"`
	// Calls of a block with a Change; nil of others.
	Calls *Calls `json:"calls,omitempty"`
	// Replicas are the load testers' own parts of a merged block, in the order of Report.Replicas.
	Replicas []ReplicaBlock `json:"replicas,omitempty"`
	// StartSkew is the most that the replicas were apart in beginning the block.
	StartSkew time.Duration `json:"startSkew,omitempty"`
}

// ReplicaBlock is one load tester's part of a block. Its histograms are in those of the block.
type ReplicaBlock struct {
	// Start of its load, and how much later than Due that was.
	Start time.Time     `json:"start"`
	Late  time.Duration `json:"late"`
	// Succeeded of the requests that it sent.
	Succeeded int64 `json:"succeeded"`
	// P50, P90 and P99 of its response times in microseconds; nil with fewer than 10 samples beyond.
	P50 *int64 `json:"p50,omitempty"`
	P90 *int64 `json:"p90,omitempty"`
	P99 *int64 `json:"p99,omitempty"`
}

// EncodedHistogram is HdrHistogram's own text, which is base64 already: in JSON it is a string as it is, and not once more in base64.
type EncodedHistogram []byte

// MarshalText returns the text.
func (h EncodedHistogram) MarshalText() ([]byte, error) { return h, nil }

// UnmarshalText keeps the text; whether it is a histogram is found out when it is decoded.
func (h *EncodedHistogram) UnmarshalText(text []byte) error {
	*h = append((*h)[:0], text...)
	return nil
}

// TimelineSteps are the lengths of a timeline's intervals, in seconds. Each is recorded by itself, since a percentile of a longer
// interval cannot be made from those of shorter ones.
var TimelineSteps = [...]int{1, 2, 5, 10, 30, 60}

// Timeline is a block's requests by the interval in which they were due, in columns of one length. It is for a picture of how the
// block went; the block's figures come from its histograms.
type Timeline struct {
	// Step is the length of an interval in seconds: interval i is from Step*i to Step*(i+1) after the block's Start. The requests that
	// are due at the very end of the block, one on each connection, count in its last interval.
	Step int `json:"step"`
	// Replica is the index in BlockReport.Replicas of the load tester that sent the requests, whose own Start then counts; 0 where there is one.
	Replica int `json:"replica,omitempty"`
	// Requests that were due in each interval and were sent.
	Requests []int64 `json:"requests"`
	// Errors are those of them that failed; nil if none did in the whole block.
	Errors []int64 `json:"errors,omitempty"`
	// P50 and P99 of the response times of the others in microseconds, however few they are; -1 where there are none.
	P50 []int64 `json:"p50"`
	P99 []int64 `json:"p99"`
}

// Calls are a block's requests one by one, in the order in which they were due, in columns of one length. All are in microseconds.
type Calls struct {
	// Due is when each was due after the block's Start.
	Due []int64 `json:"due"`
	// Response is the response time of each; of one that failed, that time below 0.
	Response []int64 `json:"response"`
}

// Series is the usage of one component's pod by one source, readings in order of time.
type Series struct {
	Component string `json:"component"`
	Pod       string `json:"pod"`
	Source    Source `json:"source"`
	// Readings during the measured blocks; the first and last of each block are at its ends.
	Readings []Reading `json:"readings"`
	// Error is the last failure to read, if any.
	Error string `json:"error,omitempty"`
}

// Reading is one look at a component.
type Reading struct {
	// Block is the index in Report.Blocks of the block that it belongs to.
	Block int       `json:"block"`
	Time  time.Time `json:"time"`
	// CPUSeconds used since the process (or the oldest of the container's processes) started.
	CPUSeconds float64 `json:"cpuSeconds"`
	// Resident memory in bytes.
	Resident int64 `json:"resident"`
	// Anonymous memory in bytes; 0 where the source does not tell.
	Anonymous int64 `json:"anonymous,omitempty"`
	// Started tells one container from its successor (Usage.Started); 0 where the source does not tell.
	Started int64 `json:"started,omitempty"`
	// Throttling as counted until then; nil where the source does not tell.
	Throttling *Throttling `json:"throttling,omitempty"`
}

// Window is one figure of metrics-server: the mean CPU of a container over [End-Length, End] and its memory at End.
type Window struct {
	Component string        `json:"component"`
	Pod       string        `json:"pod"`
	End       time.Time     `json:"end"`
	Length    time.Duration `json:"length"`
	// CPU in vCPU.
	CPU float64 `json:"cpu"`
	// WorkingSet in bytes.
	WorkingSet int64 `json:"workingSet"`
}
