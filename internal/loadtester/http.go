package loadtester

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"net/url"
	"strconv"
	"time"

	"perfrun.dev/perfrun/internal/arrival"
	"perfrun.dev/perfrun/internal/measure"
)

// readBytes is how much of an answer is read at once; a line of its head must fit.
const readBytes = 16 << 10

// httpClient speaks HTTP/1.1 over one connection, and opens another when the server has closed it.
//
// It is our own because it is what measures: neither net/http nor Fortio's client tells when the kernel received an answer, and the
// former takes several times the CPU.
type httpClient struct {
	addr    string
	timeout time.Duration
	// request as it goes over the wire. It is the same on all connections, but where it goes to actors: then each has its own, in which
	// the digits of the actor's id change from one request to the next.
	request []byte
	ids     *actorIDs
	digits  []byte
	wire    wire
	reader  *bufio.Reader
	// deadline of what the connection does.
	deadline time.Time
}

// wire is a connection as the reader of its answers sees it: reading sends what is unsent first.
type wire struct {
	*arrival.Conn
	unsent []byte
}

func (w *wire) Read(p []byte) (n int, err error) {
	if w.unsent == nil {
		return w.Conn.Read(p)
	}
	request := w.unsent
	w.unsent = nil
	return w.Ask(request, p)
}

// renderHTTP makes the request that every connection sends, and the address that it goes to.
func renderHTTP(plan *measure.Plan, endpoint measure.Endpoint) (request []byte, addr string, err error) {
	u, err := url.Parse(endpoint.URL)
	if err != nil {
		return nil, "", fmt.Errorf("parsing %s: %w", endpoint.URL, err)
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: perfrun\r\n", endpoint.Method, u.RequestURI(), u.Host)
	if plan.ContentType != "" {
		fmt.Fprintf(&b, "Content-Type: %s\r\n", plan.ContentType)
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n", len(plan.Body))
	b.Write(plan.Body)
	return b.Bytes(), net.JoinHostPort(u.Hostname(), port), nil
}

func newHTTPClient(addr string, request []byte, timeout time.Duration) *httpClient {
	return &httpClient{addr: addr, timeout: timeout, request: request, reader: bufio.NewReaderSize(nil, readBytes)}
}

// newActorClient makes each request go to another actor. The request holds the id of one already.
func newActorClient(addr string, request []byte, timeout time.Duration, ids *actorIDs) *httpClient {
	c := newHTTPClient(addr, bytes.Clone(request), timeout)
	at := bytes.Index(c.request, []byte(ids.prefix)) + len(ids.prefix)
	c.ids, c.digits = ids, c.request[at:at+idDigits]
	return c
}

// errUnheard: the connection was closed before the first byte of an answer.
var errUnheard = errors.New("the server has closed the connection")

// exchange sends the request and reads the whole answer.
func (c *httpClient) exchange(ctx context.Context, now time.Time) exchanged {
	if c.ids != nil {
		c.ids.put(c.digits)
	}
	reused := c.wire.Conn != nil
	got, err := c.once(ctx, now)
	if errors.Is(err, errUnheard) && reused {
		// A server may close a connection that has been idle for long, which shows only now.
		reused = false
		got, err = c.once(ctx, now)
	}
	if err != nil {
		return exchanged{code: noAnswer}
	}
	if !reused {
		// Opening a connection is a part of what the request took.
		got.sent = time.Time{}
	}
	return got
}

func (c *httpClient) once(ctx context.Context, now time.Time) (got exchanged, err error) {
	keep := false
	defer func() {
		if !keep {
			c.close()
		}
	}()
	if err := c.connect(ctx, now); err != nil {
		return got, err
	}
	if err := c.extend(now); err != nil {
		return got, err
	}
	c.wire.unsent = c.request
	if _, err := c.reader.Peek(1); err != nil {
		return got, unheard(err)
	}
	answer, err := readHead(c.reader)
	if err != nil {
		return got, err
	}
	if err := answer.skipBody(c.reader); err != nil {
		return got, err
	}
	// Bytes beyond the answer's end belong to no request: such a connection is not to be trusted with another.
	keep = !answer.last && c.reader.Buffered() == 0
	return exchanged{code: answer.code, sent: c.wire.Asked(), arrived: c.wire.Last()}, nil
}

// extend gives a request that begins now its timeout, and up to an eighth more: the connection's deadline is a timer of the runtime's, and
// need not be moved with every request then. An answer that came in the eighth is too late all the same (connection.send).
func (c *httpClient) extend(now time.Time) error {
	if !c.deadline.Before(now.Add(c.timeout)) {
		return nil
	}
	c.deadline = now.Add(c.timeout + c.timeout/8)
	return c.wire.SetDeadline(c.deadline)
}

func unheard(err error) error {
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return err
	}
	return errUnheard
}

func (c *httpClient) connect(ctx context.Context, now time.Time) (err error) {
	if c.wire.Conn != nil {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, now.Add(c.timeout))
	defer cancel()
	if c.wire.Conn, err = arrival.Dial(ctx, c.addr); err != nil {
		return err
	}
	c.reader.Reset(&c.wire)
	c.deadline = time.Time{}
	return nil
}

func (c *httpClient) close() {
	if c.wire.Conn != nil {
		_ = c.wire.Close()
		c.wire = wire{}
	}
}

// answerHead is what the head of an answer says: its status, and where the answer ends.
type answerHead struct {
	code int
	// length of the body; -1 if the head does not say.
	length int64
	// chunked bodies say themselves where they end.
	chunked bool
	// last: the server will close the connection.
	last bool
}

var errMalformed = errors.New("malformed answer")

// readHead reads a head of HTTP/1.1 (RFC 9112), past those of interim answers.
func readHead(r *bufio.Reader) (answerHead, error) {
	for {
		head, err := readOneHead(r)
		if err != nil || head.code > 199 || head.code == 101 {
			return head, err
		}
	}
}

func readOneHead(r *bufio.Reader) (answerHead, error) {
	head := answerHead{length: -1}
	line, err := readLine(r)
	if err != nil {
		return head, err
	}
	// HTTP/1.1 200 OK
	version, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(rest) < 3 || !bytes.HasPrefix(version, []byte("HTTP/1.")) {
		return head, errMalformed
	}
	head.last = bytes.Equal(version, []byte("HTTP/1.0"))
	if head.code, err = strconv.Atoi(string(rest[:3])); err != nil || head.code < 100 {
		return head, errMalformed
	}
	for {
		line, err := readLine(r)
		if err != nil {
			return head, err
		}
		if len(line) == 0 {
			return head, nil
		}
		if err := head.field(line); err != nil {
			return head, err
		}
	}
}

// readLine is only good until the next read.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

var lengthName, encodingName, connectionName = []byte("Content-Length"), []byte("Transfer-Encoding"), []byte("Connection")

// field looks at one line of the head.
func (h *answerHead) field(line []byte) (err error) {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return errMalformed
	}
	value = bytes.TrimSpace(value)
	switch {
	case bytes.EqualFold(name, lengthName):
		if h.length, err = strconv.ParseInt(string(value), 10, 64); err != nil || h.length < 0 {
			return errMalformed
		}
	case bytes.EqualFold(name, encodingName):
		h.chunked = bytes.EqualFold(value, []byte("chunked"))
	case bytes.EqualFold(name, connectionName):
		h.last = h.last || bytes.EqualFold(value, []byte("close"))
	}
	return nil
}

// skipBody reads the rest of the answer. It fails if that does not come to its end, or if nothing says where the end is: an answer
// that ends with its connection may as well have broken off.
func (h answerHead) skipBody(r *bufio.Reader) error {
	switch {
	case h.code == 204 || h.code == 304:
		return nil
	case h.chunked:
		if _, err := io.Copy(io.Discard, httputil.NewChunkedReader(r)); err != nil {
			return err
		}
		for {
			if trailer, err := readLine(r); err != nil || len(trailer) == 0 {
				return err
			}
		}
	case h.length < 0:
		return errMalformed
	}
	for left := h.length; left > 0; {
		n, err := r.Discard(int(min(left, 1<<30)))
		if err != nil {
			return err
		}
		left -= int64(n)
	}
	return nil
}
