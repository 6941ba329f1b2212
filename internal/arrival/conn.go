// Package arrival has a TCP connection that knows when the kernel received what was read from it.
//
// A client that takes the time when its thread has read an answer measures its own waiting for a processor along with the server: tens of
// microseconds on an idle machine, milliseconds on a busy one. The kernel notes the time as a packet comes in, before anyone is woken.
package arrival

import (
	"context"
	"fmt"
	"net"
	"time"
)

// Conn is a TCP connection. One goroutine at a time may read from it.
type Conn struct {
	// An interface, since *net.TCPConn has ways to read that would pass Read by.
	net.Conn
	receiver    receiver
	asked, last time.Time
}

// Dial connects to addr.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	// Without IPv6's and IPv4's racing each other, and without keep-alive probes: nothing but the caller's requests.
	plain, err := (&net.Dialer{KeepAlive: -1, FallbackDelay: -1}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: plain}
	if err := c.receiver.prepare(plain); err != nil {
		_ = plain.Close()
		return nil, fmt.Errorf("asking the kernel for times of arrival: %w", err)
	}
	return c, nil
}

// Read reads, and notes the time of the last byte that it has read.
func (c *Conn) Read(p []byte) (n int, err error) { return c.receive(nil, p) }

// Ask writes a request, waits for its answer and reads the beginning of it. Write and Read would do the same, but Read looks for an answer
// before it waits for one, and so soon there is none: a system call in vain for each request. What had arrived before the request, such as
// the end of the connection, is read together with what arrives after it.
func (c *Conn) Ask(request, p []byte) (n int, err error) { return c.receive(request, p) }

func (c *Conn) receive(request, p []byte) (n int, err error) {
	n, asked, at, err := c.receiver.receive(request, p)
	if len(request) > 0 {
		c.asked = asked
	}
	if n > 0 {
		c.last = at
	}
	return n, err
}

// Asked is when the newest request of Ask was handed to the kernel, by this process's clock: the last moment before.
func (c *Conn) Asked() time.Time { return c.asked }

// Last is when the kernel received the newest of the bytes that were read, by the system clock; zero if it does not say.
func (c *Conn) Last() time.Time { return c.last }
