package loadtester

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"perfrun.dev/perfrun/internal/arrival"
	"perfrun.dev/perfrun/internal/measure"
)

func TestAnswers(t *testing.T) {
	tests := map[string]struct {
		answer string
		// code 0: the answer is not whole.
		code int
		last bool
		rest string
	}{
		"length":                  {answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", code: 200},
		"folded":                  {answer: "HTTP/1.1 200 OK\r\ncontent-length:2\r\nDate: x\r\n\r\nok", code: 200},
		"no body":                 {answer: "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", code: 500},
		"without a phrase":        {answer: "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", code: 200},
		"broken off":              {answer: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"},
		"more":                    {answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nok", code: 200, rest: "k"},
		"head broken off":         {answer: "HTTP/1.1 200 OK\r\nContent-Le"},
		"length unreadable":       {answer: "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nok"},
		"negative length":         {answer: "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nok"},
		"chunks":                  {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", code: 200},
		"chunks and trailer":      {answer: "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n2\r\nok\r\n0\r\nSum: 1\r\n\r\n", code: 200},
		"chunks broken off":       {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"},
		"trailer broken off":      {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"},
		"no content":              {answer: "HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n", code: 204},
		"interim":                 {answer: "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", code: 200},
		"the server will close":   {answer: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", code: 200, last: true},
		"1.0":                     {answer: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", code: 200, last: true},
		"length unknown":          {answer: "HTTP/1.1 200 OK\r\nDate: x\r\n\r\nok"},
		"another protocol":        {answer: "SSH-2.0-OpenSSH_9.2\r\n\r\n"},
		"no code":                 {answer: "HTTP/1.1 OK\r\n\r\n"},
		"code out of range":       {answer: "HTTP/1.1 099 OK\r\n\r\n"},
		"a field without a colon": {answer: "HTTP/1.1 200 OK\r\nDate\r\n\r\n"},
		"an endless line":         {answer: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2*readBytes)},
		"empty":                   {answer: ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := bufio.NewReaderSize(strings.NewReader(tc.answer), readBytes)
			head, err := readHead(r)
			if err == nil {
				err = head.skipBody(r)
			}
			if (err == nil) != (tc.code != 0) {
				t.Fatalf("got %v", err)
			}
			if rest, _ := io.ReadAll(r); err == nil && (head.code != tc.code || head.last != tc.last || string(rest) != tc.rest) {
				t.Errorf("%+v, rest %q", head, rest)
			}
		})
	}
}

// FuzzAnswers: nothing that a server may say makes the reader fail otherwise than with an error.
func FuzzAnswers(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	f.Add("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
	f.Fuzz(func(t *testing.T, answer string) {
		r := bufio.NewReaderSize(strings.NewReader(answer), readBytes)
		head, err := readHead(r)
		if err != nil {
			return
		}
		if head.code < 100 || head.code > 999 {
			t.Errorf("code %d", head.code)
		}
		_ = head.skipBody(r)
	})
}

func oneClient(t *testing.T, url string, timeout time.Duration) *httpClient {
	t.Helper()
	plan := planFor(url, 1, 1, time.Second)
	request, addr, err := renderHTTP(plan, measure.Endpoint{URL: url, Method: "POST"})
	if err != nil {
		t.Fatal(err)
	}
	c := newHTTPClient(addr, request, timeout)
	t.Cleanup(c.close)
	return c
}

func TestRequestsAreAsDeclared(t *testing.T) {
	t.Parallel()
	url := serverOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.URL.RequestURI() != "/echo?a=b%20c" || r.Header.Get("Content-Type") != "text/plain" ||
			string(body) != strings.Repeat("x", 1024) || !strings.HasPrefix(r.Host, "127.0.0.1:") {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	if got := oneClient(t, url+"?a=b%20c", time.Second).exchange(context.Background(), time.Now()); got.code != 200 {
		t.Errorf("code %d", got.code)
	}
}

// TestConnectionsAreKeptAndReplaced: one connection serves until the server closes it; a request that finds it closed goes over another.
func TestConnectionsAreKeptAndReplaced(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/once" {
			w.Header().Set("Connection", "close")
		}
	}))
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	kept, single := oneClient(t, srv.URL+"/", time.Second), oneClient(t, srv.URL+"/once", time.Second)
	good := func(c *httpClient) {
		t.Helper()
		if code := c.exchange(context.Background(), time.Now()).code; code != 200 {
			t.Fatalf("code %d", code)
		}
	}
	for range 3 {
		good(kept)
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections for three requests", n)
	}
	for range 3 {
		good(single)
	}
	if n := opened.Load(); n != 4 {
		t.Errorf("%d connections, want one more for each request", n)
	}
	srv.CloseClientConnections()
	good(kept)
	if n := opened.Load(); n != 5 {
		t.Errorf("%d connections, want one more for the one that was closed", n)
	}
}

func TestTimeoutsAndRefusals(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	url := serverOf(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(hang) })
	slow := oneClient(t, url, 100*ms)
	start := time.Now()
	if code := slow.exchange(context.Background(), time.Now()).code; code != noAnswer {
		t.Errorf("code %d", code)
	}
	if took := time.Since(start); took < 100*ms || took > 5*time.Second {
		t.Errorf("gave up after %s", took)
	}
	if code := oneClient(t, "http://127.0.0.1:1/", time.Second).exchange(context.Background(), time.Now()).code; code != noAnswer {
		t.Errorf("nobody listens: code %d", code)
	}
}

// TestLateAnswersAreNone: the connection waits somewhat longer than a request may take.
func TestLateAnswersAreNone(t *testing.T) {
	t.Parallel()
	const timeout = 800 * ms
	var wait atomic.Int64
	url := serverOf(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Duration(wait.Load())) }))
	c := &connection{client: oneClient(t, url, timeout), timeout: timeout}
	if _, _, code := c.send(context.Background()); code != 200 {
		t.Errorf("at once: code %d", code)
	}
	// The connection would have waited for 900 ms.
	wait.Store(int64(timeout + 30*ms))
	if _, took, code := c.send(context.Background()); code != noAnswer || took < timeout {
		t.Errorf("30 ms too late: code %d after %s", code, took)
	}
}

// TestIdleConnectionsStay: the deadline of a request is none of the next one's.
func TestIdleConnectionsStay(t *testing.T) {
	t.Parallel()
	c := oneClient(t, echoServer(t), time.Second)
	var first *arrival.Conn
	for range 3 {
		if code := c.exchange(context.Background(), time.Now()).code; code != 200 {
			t.Fatalf("code %d", code)
		}
		if first == nil {
			first = c.wire.Conn
		}
		time.Sleep(700 * ms)
	}
	if c.wire.Conn != first {
		t.Error("it was replaced")
	}
}

// TestOpeningIsMeasured: a request that has to open its connection takes that long, one that goes over an open one begins as it is written.
func TestOpeningIsMeasured(t *testing.T) {
	t.Parallel()
	c := oneClient(t, echoServer(t), 3*time.Second)
	if got := c.exchange(context.Background(), time.Now()); got.code != 200 || !got.sent.IsZero() {
		t.Errorf("the first: code %d, sent at %s", got.code, got.sent)
	}
	before := time.Now()
	if got := c.exchange(context.Background(), before); got.code != 200 || got.sent.Before(before) || got.sent.After(time.Now()) {
		t.Errorf("the second, begun at %s: code %d, sent at %s", before, got.code, got.sent)
	}
}

// TestSlowClientIsNotMeasured: what the client waits for the processor, before it sends or after the answer is there, is not in the figures.
func TestSlowClientIsNotMeasured(t *testing.T) {
	t.Parallel()
	c := &connection{client: &slowClient{httpClient: oneClient(t, echoServer(t), 3*time.Second)}, timeout: 3 * time.Second}
	c.send(context.Background())
	best := time.Hour
	for range 10 {
		begun := time.Now()
		start, took, code := c.send(context.Background())
		if code != 200 {
			t.Fatalf("code %d", code)
		}
		if d := start.Sub(begun); d < clientSlow {
			t.Errorf("sent %s after it began, which takes %s", d, clientSlow)
		}
		best = min(best, took)
	}
	if best >= clientSlow {
		t.Errorf("took %s at best, the client was %s slow", best, clientSlow)
	}
}

const clientSlow = 100 * ms

// slowClient sends long after it began, and returns long after its answer is there, as one that does not get a processor.
type slowClient struct{ *httpClient }

func (c *slowClient) exchange(ctx context.Context, now time.Time) exchanged {
	time.Sleep(clientSlow)
	got := c.httpClient.exchange(ctx, now)
	time.Sleep(clientSlow)
	return got
}
