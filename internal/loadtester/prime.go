package loadtester

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"perfrun.dev/perfrun/internal/measure"
)

// Failure is why an attempt ended without a report.
type Failure struct {
	// Cause is one of measure's causes.
	Cause string
	// Message is a sentence for the user.
	Message string
}

func (f *Failure) Error() string { return f.Message }

// shownBytes of an answer's body are put into a message.
const shownBytes = 200

// prime sends one request over each connection, all at once, so that the measured ones find it open and the path behind it warm. It
// fails when none of them gets a 2xx; a single bad connection will show in the block's errors.
//
// Before that a plain client asks once. It tells what a bad answer says, of which Fortio's client keeps only what happens to come with
// the first bytes, and it keeps answers from Fortio's client that are longer than its buffer: if they come in chunks, it would
// read them for ever, without regard to timeouts.
func prime(ctx context.Context, plan *measure.Plan, url string, conns []*connection) error {
	first := ask(ctx, plan, url)
	if room := int64(bufferBytes(plan)); first.longerThan(room) {
		return pathFailure(url, "the answer is longer than %d bytes, which is all that there is room for with this payload", room-headRoom)
	}
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() { c.send(ctx) })
	}
	if !within(hangTime(plan), wg.Wait) {
		return hanging(url)
	}
	for _, c := range conns {
		if c.code >= 200 && c.code <= 299 {
			return nil
		}
	}
	return first.explain(plan, url, conns[0].code)
}

// reply is what a plain client got for one request.
type reply struct {
	err     error
	code    int
	length  int64
	chunked bool
	excerpt []byte
}

func ask(ctx context.Context, plan *measure.Plan, url string) reply {
	ctx, cancel := context.WithTimeout(ctx, plan.RequestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(plan.Body))
	if err != nil {
		return reply{err: err}
	}
	req.Header.Set("Content-Type", plan.ContentType)
	res, err := direct.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, int64(bufferBytes(plan))))
	return reply{err: err, code: res.StatusCode, length: int64(len(body)), chunked: res.ContentLength < 0, excerpt: body[:min(len(body), shownBytes)]}
}

// headRoom is what is set aside for an answer's head.
const headRoom = 4 << 10

// longerThan tells whether the whole answer may take more than room bytes; chunks add some to its body.
func (r reply) longerThan(room int64) bool {
	length := r.length + headRoom
	if r.chunked {
		length += r.length / 8
	}
	return length > room
}

func (r reply) explain(plan *measure.Plan, url string, code int) *Failure {
	switch {
	case r.err != nil:
		return pathFailure(url, "%v", r.err)
	case r.code < 200 || r.code > 299:
		return pathFailure(url, "status %d, %q", r.code, r.excerpt)
	case code == noAnswer:
		return pathFailure(url, "each broke off or took longer than %s", plan.RequestTimeout)
	}
	return pathFailure(url, "each had status %d, though another client's had %d", code, r.code)
}

func pathFailure(url, format string, args ...any) *Failure {
	return &Failure{Cause: measure.CausePath, Message: fmt.Sprintf("no request to %s got a good answer: ", url) + fmt.Sprintf(format, args...)}
}

// hangTime is how long a request in flight can take by the rules: connecting, writing and reading have a timeout each, and Fortio's
// client tries a second time when a connection that it kept turns out to be dead.
func hangTime(plan *measure.Plan) time.Duration { return 4*plan.RequestTimeout + 2*time.Second }

// hanging is the failure of a load that goes on beyond all timeouts. What hangs cannot be stopped, but the attempt can be given up.
func hanging(url string) *Failure {
	return &Failure{Cause: measure.CauseInternal,
		Message: fmt.Sprintf("requests to %s did not end when their time was over; answers that are too long for the load tester do that", url)}
}

// within waits for f, and tells whether it has ended in time. If not, it is left behind.
func within(d time.Duration, f func()) (ended bool) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// direct goes straight to its address, once and without a proxy.
var direct = &http.Client{
	Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true},
	Timeout:       time.Minute,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}
