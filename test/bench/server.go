package main

import (
	"container/heap"
	"fmt"
	"math"
	"time"
)

// serverJob is what a server process is told.
type serverJob struct {
	Case string
	Seed uint64
	// Length of the load, from the first request that counts.
	Length time.Duration
	// Calls that each connection is expected to make. More of them begin the sequence again.
	Calls int
	// Record every request.
	Record bool
}

// answerBytes is the body of each answer, as many as a request has (target.Handler echoes too).
const answerBytes = 1024

// anAnswer as the target of a run gives it, but for its date.
var anAnswer = append([]byte(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", answerBytes)), make([]byte, answerBytes)...)

// serverConn is one connection as the server knows it.
type serverConn struct {
	fd int
	// unread is the beginning of a request whose end has not come yet.
	unread []byte
	// count of the requests so far.
	count   int
	delays  []int64
	current record
	records []record
}

// conduct decides when answers leave, and records it. It does no input or output and reads no clock.
type conduct struct {
	job   serverJob
	of    benchCase
	seen  history
	conns []*serverConn
	// pending answers, the next to leave first.
	pending departures
	slots   int
}

func newConduct(job serverJob) (*conduct, error) {
	c, err := caseOf(job.Case)
	return &conduct{job: job, of: c}, err
}

// arrived tells when the answer to a request is to leave; 0 means at once. The first request of a connection only opens it and
// has no delay: every load tester sends one before its load. The second counts, and the first of these on any connection begins the load.
func (c *conduct) arrived(conn *serverConn, at int64) (departure int64) {
	conn.count++
	if conn.count == 1 || c.job.Case == instant {
		conn.current = record{Arrival: at}
		return 0
	}
	if conn.delays == nil {
		if c.slots == 0 {
			c.seen.Stalls = c.of.windows(at, c.job.Length)
		}
		conn.delays = c.of.sequence(c.job.Seed, c.slots, c.job.Calls)
		conn.records = make([]record, 0, c.job.Calls)
		c.conns = append(c.conns, conn)
		c.slots++
	}
	delay := conn.delays[(conn.count-2)%len(conn.delays)]
	conn.current = record{Arrival: at, Delay: delay}
	departure = leave(at+delay, c.seen.Stalls)
	heap.Push(&c.pending, departureAt{departure, conn})
	return departure
}

// departed notes that the answer to the connection's request leaves now.
func (c *conduct) departed(conn *serverConn, now int64) {
	conn.current.Departure = now
	if c.job.Record && conn.count > 1 {
		conn.records = append(conn.records, conn.current)
	}
}

// next is when the next answer is to leave; MaxInt64 if none is.
func (c *conduct) next() int64 {
	if len(c.pending) == 0 {
		return math.MaxInt64
	}
	return c.pending[0].at
}

// ready takes the connection whose answer is to leave by now; nil if there is none.
func (c *conduct) ready(now int64) *serverConn {
	if c.next() > now {
		return nil
	}
	return heap.Pop(&c.pending).(departureAt).conn
}

func (c *conduct) history() history {
	for _, conn := range c.conns {
		c.seen.Connections = append(c.seen.Connections, conn.records)
	}
	return c.seen
}

type departureAt struct {
	at   int64
	conn *serverConn
}

// departures is a heap.
type departures []departureAt

func (d departures) Len() int           { return len(d) }
func (d departures) Less(i, j int) bool { return d[i].at < d[j].at }
func (d departures) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }

// Push is for package heap.
func (d *departures) Push(x any) { *d = append(*d, x.(departureAt)) }

// Pop is for package heap.
func (d *departures) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}
