package loadtester

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"fortio.org/fortio/fhttp"
	"fortio.org/fortio/periodic"
	"fortio.org/log"

	"perfrun.dev/perfrun/internal/measure"
)

// noAnswer is the code of a request without a whole answer, as in Fortio.
const noAnswer = -1

// answerRoom is how much longer than the request's body an answer may be, head included. Fortio's client reads an answer into one
// buffer of a fixed size, and would take what does not fit for the beginning of the next answer.
const answerRoom = 64 << 10

// sample is one request, 16 bytes. Times are in nanoseconds.
type sample struct {
	// start is the actual send, from the block's base time.
	start int64
	// took is how long the answer took; negative if the request failed after that time.
	took int64
}

// connection sends requests one at a time, as a Runnable of Fortio's periodic runner, and keeps what became of them. One goroutine
// at a time uses it.
type connection struct {
	client  fhttp.Fetcher
	samples []sample
	errors  map[int]int64
	// code of the request under way, and whether a whole answer was seen.
	code  int
	whole bool
	// stop is set when the block is to end: the runner may then make a few more calls.
	stop *atomic.Bool
}

// Run sends one request.
func (c *connection) Run(ctx context.Context, _ periodic.ThreadID) (ok bool, details string) {
	if c.stop.Load() {
		c.code = 0
		return false, ""
	}
	return c.send(ctx), ""
}

func (c *connection) send(ctx context.Context) (ok bool) {
	c.whole = false
	code, _, _ := c.client.StreamFetch(ctx)
	ok = code >= 200 && code <= 299
	switch {
	case ok && !c.whole:
		// Fortio's client keeps the code of an answer that broke off, and the connection.
		code, ok = noAnswer, false
		c.client.Close()
	case code < 100 || code > 999:
		code = noAnswer
	}
	c.code = code
	return ok
}

// Write looks at an answer in the client's buffer, head and body.
func (c *connection) Write(answer []byte) (int, error) {
	c.whole = isWhole(answer)
	return len(answer), nil
}

var (
	endOfHead         = []byte("\r\n\r\n")
	contentLengthName = []byte("\r\nContent-Length: ")
	foldedLengthName  = []byte("\r\ncontent-length:")
	chunkedName       = []byte("\r\ntransfer-encoding: chunked")
	lastChunk         = []byte("0\r\n\r\n")
	noContent         = []byte(" 204 ")
)

// isWhole tells whether an HTTP/1.1 answer has arrived to its end. Without a length or chunks its end is not known.
func isWhole(answer []byte) bool {
	end := bytes.Index(answer, endOfHead)
	if end < 0 {
		return false
	}
	head, body := answer[:end+2], answer[end+len(endOfHead):]
	// Servers in Go write the name like this, and an exact search is faster.
	at := bytes.Index(head, contentLengthName)
	name := contentLengthName
	if at < 0 {
		_, at = fhttp.FoldFind(head, foldedLengthName)
		name = foldedLengthName
	}
	if at < 0 {
		chunked, _ := fhttp.FoldFind(head, chunkedName)
		return (chunked && bytes.HasSuffix(body, lastChunk)) || bytes.Index(head, noContent) == len("HTTP/1.1")
	}
	value, _, _ := bytes.Cut(head[at+len(name):], endOfHead[:2])
	length, err := strconv.Atoi(string(bytes.TrimSpace(value)))
	return err == nil && len(body) == length
}

// bufferSize guards Fortio's buffer size, which is a global that its clients read when they are made.
var bufferSize sync.Mutex

// quiet: Fortio logs each failed request as an error. They are counted instead.
var quiet = sync.OnceFunc(func() { log.SetLogLevelQuiet(log.Critical) })

// dial makes the connections of a block with room for so many samples each. Nothing is sent yet.
func dial(plan *measure.Plan, b measure.Block, calls int64, stop *atomic.Bool) ([]*connection, error) {
	quiet()
	bufferSize.Lock()
	defer bufferSize.Unlock()
	fhttp.BufferSizeKb = bufferBytes(plan) >> 10
	conns := make([]*connection, b.Connections)
	for i := range conns {
		c := &connection{samples: make([]sample, 0, calls), errors: map[int]int64{}, stop: stop}
		kind := plan.ContentType
		if kind == "" {
			kind = "application/octet-stream"
		}
		client, err := fhttp.NewFastClient(&fhttp.HTTPOptions{
			URL: plan.URLs[b.Arm], Payload: plan.Body, ContentType: kind, MethodOverride: "POST",
			HTTPReqTimeOut: plan.RequestTimeout, DataWriter: c, ID: i,
		})
		if err != nil {
			return nil, fmt.Errorf("resolving %s: %w", plan.URLs[b.Arm], err)
		}
		c.client = client
		conns[i] = c
	}
	return conns, nil
}

func hangUp(conns []*connection) {
	for _, c := range conns {
		c.client.Close()
	}
}

// bufferBytes has room for the body to come back, also in chunks, in whole KiB.
func bufferBytes(plan *measure.Plan) int {
	n := len(plan.Body)
	return (answerRoom + n + n/8 + 1023) >> 10 << 10
}

// recorders is Fortio's access logger: it is given the very times that Fortio measures by, so that no clock is read twice. Each
// connection is one thread's own: no locks.
type recorders struct {
	base  time.Time
	conns []*connection
}

// Start of a request.
func (r *recorders) Start(ctx context.Context, _ periodic.ThreadID, _ int64, _ time.Time) context.Context {
	return ctx
}

// Report of a request that has ended, latency in seconds.
func (r *recorders) Report(_ context.Context, thread periodic.ThreadID, _ int64, start time.Time, latency float64, ok bool, _ string) {
	c := r.conns[thread]
	if c.code == 0 {
		return
	}
	took := max(1, int64(latency*1e9))
	if !ok {
		took = -took
		c.errors[c.code]++
	}
	c.samples = append(c.samples, sample{start: int64(start.Sub(r.base)), took: took})
}

// Info names the logger.
func (r *recorders) Info() string { return "perfrun" }
