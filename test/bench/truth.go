package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// record is one request as the server saw it. Times are the system clock's, in nanoseconds, which on one machine is every process's.
type record struct {
	// Arrival is when the kernel put the request into the server's socket: before the server was woken for it.
	Arrival int64
	// Departure is when the kernel put the answer on its way: after the server's own work of handing it over.
	Departure int64
	// Delay is what was drawn for this request.
	Delay int64
}

// service is how long the request was inside the server, really.
func (r record) service() int64 { return r.Departure - r.Arrival }

// window is a stall: nothing leaves the server within.
type window struct{ From, To int64 }

// leave is when an answer that is ready at t leaves the server.
func leave(t int64, stalls []window) int64 {
	for _, w := range stalls {
		if t >= w.From && t < w.To {
			return w.To
		}
	}
	return t
}

// history is what a server has recorded of one load.
type history struct {
	// Connections hold the requests of each, in order, without the first, which only opens it.
	Connections [][]record
	Stalls      []window
	// Unstamped are the times that the kernel did not tell; instead, they are when the server read or wrote.
	Unstamped int
}

func (h history) requests() (n int) {
	for _, c := range h.Connections {
		n += len(c)
	}
	return n
}

// services are the true service times, sorted: from the send to the answer's arrival at a client like that of responses.
func (h history) services(there *way) []int64 {
	var all []int64
	for _, c := range h.Connections {
		for _, r := range c {
			all = append(all, there.draw()+r.service())
		}
	}
	slices.Sort(all)
	return all
}

// plannedLoad is when requests were meant to be sent: the same number over each connection, connections staggered evenly. It is
// derived here from what Fortio's documentation and ours promise, and not taken from the code under test.
type plannedLoad struct {
	start       int64
	rps         float64
	connections int
	calls       int
	there       *way
}

// stagger of a connection's first request.
func (p plannedLoad) stagger(connection int) int64 {
	return int64(float64(connection) / p.rps * 1e9)
}

// interval between requests of one connection. The last of n is due at the end of the load, so there are n-1 intervals.
func (p plannedLoad) interval() float64 {
	n := float64(p.calls)
	return float64(p.connections) / p.rps * 1e9 * n / (n - 1)
}

func (p plannedLoad) due(connection, call int) int64 {
	return p.start + p.stagger(connection) + int64(float64(call)*p.interval())
}

// Limits of how far a connection's best request may be from when it was due, for the record to be believed. Nobody sends early;
// clocks are read within microseconds. Late is each load tester now and then, but not with each of its requests.
const (
	mostEarly = 100 * time.Microsecond
	mostLate  = 5 * time.Millisecond
)

var errSchedule = errors.New("requests did not come when they were due")

// assign finds out which of the server's connections is which of the plan's, and puts them into the plan's order. Lateness comes and
// goes, but some request of each is sent almost on time: that one tells the connection's place.
func (p plannedLoad) assign(connections [][]record) ([][]record, error) {
	if len(connections) != p.connections {
		return nil, fmt.Errorf("%w: there were %d connections, not %d", errSchedule, len(connections), p.connections)
	}
	sorted := slices.Clone(connections)
	slices.SortFunc(sorted, func(a, b []record) int { return cmp.Compare(p.offset(a), p.offset(b)) })
	for i, c := range sorted {
		late := time.Duration(p.offset(c) - p.start - p.stagger(i))
		if late < -mostEarly || late > mostLate {
			return nil, fmt.Errorf("%w: those of connection %d were %s late at best", errSchedule, i, late)
		}
	}
	return sorted, nil
}

// offset is when the connection's first request would have come had it been as punctual as the most punctual one.
func (p plannedLoad) offset(records []record) int64 {
	best := int64(math.MaxInt64)
	for i, r := range records {
		best = min(best, r.Arrival-int64(float64(i)*p.interval()))
	}
	return best
}

// responses are the true response times, sorted: what a client sees that sends each request at the moment when it is due, or when
// its connection becomes free if that is later.
//
// A load tester is late, so the server's record is that of a load slightly different from the one that was meant. What the server
// added of its own to each request (waking up, waiting for a processor) is in the record; so each request is moved to where it
// should have begun, gets the way there, its delay, its stall if there is one then, and what the server really added to it. There is no
// way back: on loopback, the answer is at the client as soon as it has left.
func (p plannedLoad) responses(h history) ([]int64, error) {
	connections, err := p.assign(h.Connections)
	if err != nil {
		return nil, err
	}
	all := make([]int64, 0, h.requests())
	for connection, records := range connections {
		free := int64(math.MinInt64)
		for call, r := range records {
			due := p.due(connection, call)
			added := r.Departure - leave(r.Arrival+r.Delay, h.Stalls)
			free = leave(max(due, free)+p.there.draw()+r.Delay, h.Stalls) + added
			all = append(all, free-due)
		}
	}
	slices.Sort(all)
	return all, nil
}

// samplesBeyond a percentile that are needed to say anything about it: the project's own rule.
const samplesBeyond = 10

// quantile is the smallest of the sorted values that at least the share q does not exceed. ok if at least 10 lie beyond it.
func quantile(sorted []int64, q float64) (value int64, ok bool) {
	// 0.999*1000 is a hair above 999 in binary.
	rank := int(math.Ceil(q*float64(len(sorted)) - 1e-6))
	if rank < 1 || len(sorted)-rank < samplesBeyond {
		return 0, false
	}
	return sorted[rank-1], true
}

// relativeError of a figure: 0.01 is 1% too much, -0.01 1% too little.
func relativeError(figure, truth float64) float64 { return (figure - truth) / truth }
