package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

// The probes, which tell what of a load tester's figures above the truth is the machine's and cannot be helped.
const (
	// probeSpin never sleeps, but may have to wait for a processor.
	probeSpin = "spinning"
	// probeBlock sleeps in read(2) as any program does: with the time that it takes to wake up.
	probeBlock = "blocking"
	// probeGo uses Go's net package, as Fortio and perfrun do.
	probeGo = "Go's net"
	// probeThere uses Go's net package too, over as many connections as a load. What it takes is the way there alone: from just before a
	// request is written until the kernel has put it into the server's socket.
	probeThere = "the way there, Go's net"
)

// probePoint of the probes that only show what others would see.
var probePoint = point{rps: 1000, connections: 1}

type probeJob struct {
	Mode, Addr  string
	Connections int
	// Calls over each connection, with a Pause before each.
	Calls int
	Pause time.Duration
}

// sent is one request of a probe, in nanoseconds: when it was about to be written, by the system clock, and how long it then took to have
// the answer.
type sent struct{ At, Took int64 }

type probeResult struct {
	// Connections hold the requests of each.
	Connections [][]sent
}

// transit is what a client measures on top of what the server records, in nanoseconds, sorted.
type transit struct {
	mode string
	// at is the probe's load: a processor that has slept for long takes longer for the same, and so does one that did something else.
	at    point
	extra []int64
}

// probeLength of each probe, so many requests at least.
const (
	probeLength = 1500 * time.Millisecond
	probeCalls  = 300
)

var errProbe = errors.New("the server has not seen the probe's requests")

// measureTransit lets each probe meet the constant server, the last of them under every load's rate and connections.
func (b *bench) measureTransit(ctx context.Context) ([]transit, error) {
	var all []transit
	for _, mode := range []string{probeSpin, probeBlock, probeGo} {
		all = append(all, transit{mode: mode, at: probePoint})
	}
	for _, at := range b.points {
		all = append(all, transit{mode: probeThere, at: at})
	}
	for i := range all {
		if err := b.probe(ctx, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (b *bench) probe(ctx context.Context, of *transit) error {
	if err := b.awaitQuiet(ctx); err != nil {
		return err
	}
	connections := of.at.connections
	pause := time.Duration(float64(connections) / of.at.rps * float64(time.Second))
	calls := max(probeCalls/connections, int(probeLength/pause), 1)
	var result probeResult
	seen, err := b.serving(ctx, serverJob{Case: "constant", Seed: b.seed, Calls: calls, Record: true}, func(addr string) error {
		return b.child(ctx, roleProbe, probeJob{Mode: of.mode, Addr: addr, Connections: connections, Calls: calls, Pause: pause}, &result)
	})
	if err != nil {
		return err
	}
	of.extra, err = extra(of.mode, result.Connections, seen.Connections)
	return err
}

// extra is what the requests took beyond the server's own time, sorted; of the way there, only that.
func extra(mode string, probed [][]sent, seen [][]record) ([]int64, error) {
	if len(probed) != len(seen) {
		return nil, errProbe
	}
	var all []int64
	for _, requests := range probed {
		i := slices.IndexFunc(seen, func(records []record) bool { return belong(requests, records) })
		if i < 0 {
			return nil, errProbe
		}
		for j, r := range seen[i] {
			if mode == probeThere {
				all = append(all, r.Arrival-requests[j].At)
			} else {
				all = append(all, requests[j].Took-r.service())
			}
		}
	}
	slices.Sort(all)
	return all, nil
}

// belong tells whether these are the records of these requests: each was in the server while it was under way. The client has its times
// from two clocks, of which the system's is adjusted now and then.
func belong(requests []sent, records []record) bool {
	early := int64(mostEarly)
	return slices.EqualFunc(requests, records, func(s sent, r record) bool {
		return r.Arrival >= s.At-early && r.Departure <= s.At+s.Took+early
	})
}

// way is the loopback's own part of requests: from just before one is written until the kernel has put it into the server's socket. It is
// not the same for each: each is given one of those that the probe has seen.
type way struct {
	extra []int64
	rand  *rand.Rand
}

// wayAt is the way under this load.
func wayAt(at point, all []transit, seed uint64) *way {
	w := &way{rand: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // to be repeated, not to be secret
	for _, one := range all {
		if one.mode == probeThere && one.at == at {
			w.extra = one.extra
		}
	}
	return w
}

func (w *way) draw() int64 { return w.extra[w.rand.IntN(len(w.extra))] }
