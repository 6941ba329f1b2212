package loadtester

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/status"

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
// Before that a plain client asks once: it keeps what a bad answer says, which the measuring client throws away.
func prime(ctx context.Context, plan *measure.Plan, endpoint measure.Endpoint, conns []*connection) error {
	first := ask(ctx, plan, endpoint)
	codes := make([]int, len(conns))
	var wg sync.WaitGroup
	for i, c := range conns {
		wg.Go(func() {
			_, _, codes[i] = c.send(ctx)
			c.unstamped = 0
		})
	}
	wg.Wait()
	if slices.ContainsFunc(codes, isGood) {
		return nil
	}
	return first.explain(plan, endpoint.URL, codes[0])
}

// reply is what a plain client got for one request.
type reply struct {
	err     error
	code    int
	excerpt []byte
}

func ask(ctx context.Context, plan *measure.Plan, endpoint measure.Endpoint) reply {
	if endpoint.Call != nil {
		return askGRPC(ctx, plan, endpoint)
	}
	ctx, cancel := context.WithTimeout(ctx, plan.RequestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, endpoint.Method, endpoint.URL, bytes.NewReader(plan.Body))
	if err != nil {
		return reply{err: err}
	}
	req.Header.Set("Content-Type", plan.ContentType)
	res, err := direct.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = res.Body.Close() }()
	excerpt, err := io.ReadAll(io.LimitReader(res.Body, shownBytes))
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
	}
	return reply{err: err, code: res.StatusCode, excerpt: excerpt}
}

func askGRPC(ctx context.Context, plan *measure.Plan, endpoint measure.Endpoint) reply {
	client, err := newGRPCClient(plan, endpoint)
	if err != nil {
		return reply{err: err}
	}
	defer client.close()
	code, _, err := client.call(ctx)
	if err == nil || code == noAnswer {
		return reply{err: err, code: code}
	}
	said := status.Convert(err).Message()
	return reply{code: code, excerpt: []byte(said[:min(len(said), shownBytes)])}
}

func (r reply) explain(plan *measure.Plan, url string, code int) *Failure {
	switch {
	case r.err != nil:
		return pathFailure(url, "%v", r.err)
	case !isGood(r.code):
		return pathFailure(url, "status %s, %q", measure.CodeName(r.code), r.excerpt)
	case code == noAnswer:
		return pathFailure(url, "each broke off or took longer than %s", plan.RequestTimeout)
	}
	return pathFailure(url, "each had status %s, though another client's had %s", measure.CodeName(code), measure.CodeName(r.code))
}

func pathFailure(url, format string, args ...any) *Failure {
	return &Failure{Cause: measure.CausePath, Message: fmt.Sprintf("no request to %s got a good answer: ", url) + fmt.Sprintf(format, args...)}
}

// direct goes straight to its address, once and without a proxy.
var direct = &http.Client{
	Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true},
	Timeout:       time.Minute,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}
