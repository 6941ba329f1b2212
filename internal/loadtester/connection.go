package loadtester

import (
	"context"
	"sync/atomic"
	"time"

	"fortio.org/fortio/periodic"

	"perfrun.dev/perfrun/internal/measure"
)

// noAnswer is the code of a request without a whole answer, as Fortio has it.
const noAnswer = -1

// sample is one request, 16 bytes. Times are in nanoseconds.
type sample struct {
	// start is the actual send, from the block's base time.
	start int64
	// took is how long the answer took; negative if the request failed after that time.
	took int64
}

// client sends requests over one connection, one at a time.
type client interface {
	// exchange sends one request and reads its whole answer, and gives up soon after the plan's request timeout. now is what the time is.
	exchange(ctx context.Context, now time.Time) exchanged
	close()
}

// exchanged is what became of a request.
type exchanged struct {
	// code is the answer's status, or noAnswer.
	code int
	// sent is when the request was handed to the kernel; zero if the client does not say, or had to open a connection first.
	sent time.Time
	// arrived is when the kernel had the answer's last byte, by the system clock; zero if it does not say.
	arrived time.Time
}

// connection is a Runnable of Fortio's periodic runner, which tells it when to send, and keeps what became of each request. One goroutine
// at a time uses it: no locks.
type connection struct {
	client client
	// timeout of a request.
	timeout time.Duration
	// base that the samples' times count from.
	base    time.Time
	samples []sample
	errors  map[int]int64
	// unstamped counts the answers for which the kernel did not say when they arrived.
	unstamped int64
	// stop is set when the block is to end: the runner may then make a few more calls.
	stop *atomic.Bool
}

// Run sends one request and records it.
func (c *connection) Run(ctx context.Context, _ periodic.ThreadID) (ok bool, details string) {
	if c.stop.Load() {
		return false, ""
	}
	return c.record(ctx), ""
}

// rebase has the samples' times count from another moment.
func (c *connection) rebase(to time.Time) {
	later := int64(to.Sub(c.base))
	for i := range c.samples {
		c.samples[i].start -= later
	}
	c.base = to
}

// record sends one request and keeps what became of it.
func (c *connection) record(ctx context.Context) (ok bool) {
	start, took, code := c.send(ctx)
	if ok = isGood(code); !ok {
		took = -took
		c.errors[code]++
	}
	c.samples = append(c.samples, sample{start: int64(start.Sub(c.base)), took: int64(took)})
	return ok
}

func isGood(code int) bool { return code >= 200 && code <= 299 }

// send sends one request. What it took is from when the kernel was given the request until it had the answer: what this process does
// before, and how long it then waits for a processor, is its own affair.
func (c *connection) send(ctx context.Context) (start time.Time, took time.Duration, code int) {
	start = time.Now()
	got := c.client.exchange(ctx, start)
	if !got.sent.IsZero() {
		start = got.sent
	}
	took = max(1, time.Since(start))
	if got.code == noAnswer {
		return start, took, noAnswer
	}
	// The system clock's difference; arrived has no other. A step of that clock in between would show as an arrival before the send,
	// or after the answer was read.
	if d := got.arrived.Sub(start.Round(0)); d > 0 && d <= took {
		took = d
	} else {
		c.unstamped++
	}
	if took > c.timeout {
		return start, took, noAnswer
	}
	return start, took, got.code
}

// dial makes the connections of a block with room for so many samples each. Nothing is sent yet. ids are those of the actors that the
// requests go to; nil if they go to none.
func dial(plan *measure.Plan, b measure.Block, calls int64, ids *actorIDs) ([]*connection, error) {
	newClient, err := clientsOf(plan, plan.Endpoints[b.Arm], ids)
	if err != nil {
		return nil, err
	}
	conns := make([]*connection, 0, b.Connections)
	for range b.Connections {
		c, err := newClient()
		if err != nil {
			hangUp(conns)
			return nil, err
		}
		conns = append(conns, &connection{client: c, timeout: plan.RequestTimeout, samples: make([]sample, 0, calls), errors: map[int]int64{}})
	}
	return conns, nil
}

// clientsOf makes the clients of an endpoint, which share the request.
func clientsOf(plan *measure.Plan, endpoint measure.Endpoint, ids *actorIDs) (func() (client, error), error) {
	if endpoint.Call != nil {
		return func() (client, error) { return newGRPCClient(plan, endpoint) }, nil
	}
	if ids != nil {
		request, addr, err := renderHTTP(plan, ids.in(endpoint, 0))
		return func() (client, error) { return newActorClient(addr, request, plan.RequestTimeout, ids), nil }, err
	}
	request, addr, err := renderHTTP(plan, endpoint)
	return func() (client, error) { return newHTTPClient(addr, request, plan.RequestTimeout), nil }, err
}

func hangUp(conns []*connection) {
	for _, c := range conns {
		c.client.close()
	}
}

// connBytes is what a connection's client takes.
func connBytes(endpoint measure.Endpoint) int64 {
	if endpoint.Call != nil {
		return grpcConnBytes(endpoint.Call.Message)
	}
	return readBytes
}
