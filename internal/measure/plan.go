// Package measure is the contract between the operator and the load tester: the plan that one posts, the progress and the
// report that the other answers with, the tokens that prove who asks, and the client. It knows nothing of Kubernetes.
package measure

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Version of the contract. Operator and load tester come from one image, so the two differ only while an upgrade is under way;
// a load tester refuses a plan of another version. 2: reports tell of steal and of the load tester's CPUs; without them the rules on
// both would seem to be kept. 3: histograms are strings as HdrHistogram writes them, no longer in base64 once more. 4: a plan has endpoints instead of URLs, and may
// be one share of several, with moments at which its blocks begin; a report tells how many answers came without the kernel's time; what
// the target has traced is read from a place of its own. 5: it is read from several targets.
const Version = 5

// Arm is one way to reach the target.
type Arm string

// The arms.
const (
	// Baseline goes straight to the target.
	Baseline Arm = "Baseline"
	// Dapr goes through the caller's and the target's sidecar.
	Dapr Arm = "Dapr"
)

// Plan is one attempt at a measurement: everything that the load tester needs to run it by itself. Where several load testers share the
// load, each has a plan of its own with its share of the rate and of the connections, and all have the same Start and Blocks.
type Plan struct {
	// Version of the contract.
	Version int `json:"version"`
	// Run is the UID of the PerfRun. A load tester serves the run that it was started for and no other.
	Run string `json:"run"`
	// Attempt identifies this attempt. Posting the same attempt again changes nothing.
	Attempt string `json:"attempt"`
	// Instance is the load tester process that the attempt was recorded for (Info.Instance). Another process refuses it,
	// since a restart in between may mean that load was already sent.
	Instance string `json:"instance"`
	// Start is the moment that Block.At counts from, by the load tester's own clock. Zero: each block begins when the one before has ended.
	Start time.Time `json:"start,omitzero"`
	// Offset is how much later than others this load tester begins each block, so that the requests of all of them are one evenly
	// spaced schedule. Only with Start.
	Offset time.Duration `json:"offset,omitempty"`
	// RPS is the rate of requests per second within each block.
	RPS float64 `json:"rps"`
	// Body of every request over HTTP.
	Body []byte `json:"body"`
	// ContentType of the body.
	ContentType string `json:"contentType"`
	// RequestTimeout after which a request counts as failed with code -1.
	RequestTimeout time.Duration `json:"requestTimeout"`
	// Endpoints that the arms' requests go to.
	Endpoints map[Arm]Endpoint `json:"endpoints"`
	// Actors that the requests go to; nil if they go to none. The endpoints' URLs then hold ActorID.
	Actors *Actors `json:"actors,omitempty"`
	// Blocks in the order in which they run.
	Blocks []Block `json:"blocks"`
	// Counters that are read at both ends of each measured block.
	Counters []Counter `json:"counters"`
	// TracesURLs of the target's pods answer with Traces, and are read at both ends of each measured block of the Dapr arm. Empty: nobody counts.
	TracesURLs map[string]string `json:"tracesURLs,omitempty"`
	// SinkURL answers with Exported, and is read before the load and after it. Empty: the sidecars export nothing.
	SinkURL string `json:"sinkURL,omitempty"`
	// SidecarMetadataURL is the caller's sidecar's metadata, read once for its version.
	SidecarMetadataURL string `json:"sidecarMetadataURL"`
	// MTLSProbe is the host:port of the target's sidecar's internal server, which is asked for a TLS handshake before any load.
	MTLSProbe string `json:"mtlsProbe"`
	// RequireMTLS is what the probe must find, or the attempt fails before any load.
	RequireMTLS bool `json:"requireMTLS"`
}

// Endpoint is where requests go, and how.
type Endpoint struct {
	// URL is http://HOST:PORT/PATH for requests over HTTP/1.1, and grpc://HOST:PORT/SERVICE/METHOD for unary calls over gRPC.
	URL string `json:"url"`
	// Method of HTTP, such as POST; empty over gRPC.
	Method string `json:"method,omitempty"`
	// Call is what each call over gRPC carries; nil over HTTP.
	Call *Call `json:"call,omitempty"`
}

// Call is what each call over gRPC carries.
type Call struct {
	// Message, encoded. The load tester does not look into it, nor into the answer's.
	Message []byte `json:"message"`
	// Metadata that go with it.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// maxMessage has room for a body of 1 MiB and what is said about it.
const maxMessage = 1<<20 + 64<<10

// URLs of the arms' endpoints.
func (p *Plan) URLs() map[Arm]string {
	out := make(map[Arm]string, len(p.Endpoints))
	for arm, e := range p.Endpoints {
		out[arm] = e.URL
	}
	return out
}

// Block is one contiguous interval of load of one arm at one point.
type Block struct {
	// Point is the index of the point in the sweep.
	Point int `json:"point"`
	// Connections that requests are spread over, each with one request in flight.
	Connections int `json:"connections"`
	// Arm that is driven.
	Arm Arm `json:"arm"`
	// Pair is the index of the pair within the point; -1 in a warm-up.
	Pair int `json:"pair"`
	// Duration of the load.
	Duration time.Duration `json:"duration"`
	// Warmup blocks are run and discarded.
	Warmup bool `json:"warmup,omitempty"`
	// At is when the block begins, from Plan.Start. A load tester that is not ready then begins late, and says so.
	At time.Duration `json:"at,omitempty"`
	// Change of the actor hosts that falls into the block; it is the operator's affair, and the block's requests are then recorded one by one.
	Change string `json:"change,omitempty"`
}

// Source says how a counter is read.
type Source string

// The sources.
const (
	// SourceLocalProc is /proc of the load tester's own pod.
	SourceLocalProc Source = "localProc"
	// SourceRemoteProc is /proc of another pod of the run, served by the meter in it (TargetUsagePath).
	SourceRemoteProc Source = "remoteProc"
	// SourcePrometheus is a process's own metrics in Prometheus text format.
	SourcePrometheus Source = "prometheus"
)

// Counter is one place to read cumulative CPU and present memory from.
type Counter struct {
	// Component whose process is read; for the proc sources, the component that is not the sidecar.
	Component string `json:"component"`
	// Sidecar is the component name of the Dapr sidecar in the same pod; the proc sources only.
	Sidecar string `json:"sidecar,omitempty"`
	// Pod that the component runs in.
	Pod string `json:"pod"`
	// Source to read.
	Source Source `json:"source"`
	// URL to read it from; not for SourceLocalProc.
	URL string `json:"url,omitempty"`
}

// Due is the moment at which a block is to begin; zero where it begins when the one before has ended.
func (p *Plan) Due(b Block) time.Time {
	if p.Start.IsZero() {
		return time.Time{}
	}
	return p.Start.Add(b.At + p.Offset)
}

// LoadTime is how long the blocks of the plan take, warm-ups included, and the gaps between them only where the plan says when each begins.
func (p *Plan) LoadTime() time.Duration {
	if n := len(p.Blocks); n > 0 && !p.Start.IsZero() {
		return p.Blocks[n-1].At + p.Blocks[n-1].Duration
	}
	var d time.Duration
	for _, b := range p.Blocks {
		d += b.Duration
	}
	return d
}

// Requests is the number of requests that are due in a block of duration d at rate rps: never fewer than one.
func Requests(rps float64, d time.Duration) int64 { return max(1, int64(rps*d.Seconds()+0.5)) }

// PerConnection is the number of requests that each connection of the block sends: its share of Requests to the nearest whole, at
// least two. All connections send alike, since those with a request more than the others would go on alone at the end, at a
// fraction of the rate: with 10000 requests over 64 connections Fortio gives the 16 left over to one connection, which takes a
// second longer for them. Instead such a block is longer or shorter than Duration by at most half of Connections/RPS.
func (p *Plan) PerConnection(b Block) int64 {
	n := int64(b.Connections)
	return max(2, (Requests(p.RPS, b.Duration)+n/2)/n)
}

// Validate tells what is wrong with a plan. All faults at once.
func (p *Plan) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(p.Version == Version, "version %d: this load tester speaks version %d", p.Version, Version)
	check(p.Run != "" && p.Attempt != "" && p.Instance != "", "run, attempt and instance must be set")
	check(p.RPS > 0 && p.RPS <= 100000, "rps %g: must be above 0 and at most 100000", p.RPS)
	check(len(p.Body) <= 1<<20, "body of %d bytes: at most 1 MiB", len(p.Body))
	check(p.RequestTimeout > 0 && p.RequestTimeout <= time.Minute, "requestTimeout %s: must be above 0 and at most 1m", p.RequestTimeout)
	check(p.Offset >= 0, "offset %s: must not be below 0", p.Offset)
	check(len(p.Blocks) > 0 && len(p.Blocks) <= 4096, "%d blocks: must be between 1 and 4096", len(p.Blocks))
	for i, b := range p.Blocks {
		check(b.Connections >= 1 && b.Connections <= 4096, "block %d: %d connections: must be between 1 and 4096", i, b.Connections)
		check(b.Duration >= 0 && b.Duration <= 24*time.Hour && (b.Warmup || b.Duration > 0), "block %d: duration %s: must be above 0 and at most 24h", i, b.Duration)
		check(b.Arm == Baseline || b.Arm == Dapr, "block %d: arm %q: must be Baseline or Dapr", i, b.Arm)
		// Fortio lowers the number of connections silently when there are fewer than two requests for each.
		check(b.Warmup || Requests(p.RPS, b.Duration) >= 2*int64(b.Connections),
			"block %d: %d requests over %d connections: at least two for each connection are needed", i, Requests(p.RPS, b.Duration), b.Connections)
		check(p.Start.IsZero() || i == 0 || b.At >= p.Blocks[i-1].At+p.Blocks[i-1].Duration, "block %d begins before the one before it has ended", i)
		endpoint := p.Endpoints[b.Arm]
		check(hasScheme(endpoint.URL, endpoint.scheme()), "url of arm %s %q: must be %s://host...", b.Arm, endpoint.URL, endpoint.scheme())
		if c := endpoint.Call; c != nil {
			check(len(c.Message) <= maxMessage, "message of arm %s of %d bytes: at most %d", b.Arm, len(c.Message), maxMessage)
		} else {
			check(isMethod(endpoint.Method), "method of arm %s %q: must be one of HTTP, such as POST", b.Arm, endpoint.Method)
		}
	}
	for pod, url := range p.TracesURLs {
		check(isHTTP(url), "tracesURL of %s %q: must be http://host...", pod, url)
	}
	p.validateActors(check)
	for i, c := range p.Counters {
		check(c.Source == SourceLocalProc || isHTTP(c.URL), "counter %d: url %q: must be http://host...", i, c.URL)
	}
	return errors.Join(errs...)
}

// isMethod is narrower than HTTP's own grammar: a method stands in the request as it is.
func isMethod(s string) bool {
	return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

func isHTTP(s string) bool { return hasScheme(s, schemeHTTP) }

// The schemes of endpoints' URLs.
const schemeHTTP, schemeGRPC = "http", "grpc"

func (e Endpoint) scheme() string {
	if e.Call != nil {
		return schemeGRPC
	}
	return schemeHTTP
}

// IsGRPC tells whether an endpoint's URL is one of gRPC.
func IsGRPC(url string) bool { return hasScheme(url, schemeGRPC) }

func hasScheme(s, scheme string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == scheme && u.Host != ""
}
