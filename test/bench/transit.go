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
	// probeStamp is Go's net again, but the kernel tells when the answer came: what a load tester could do.
	probeStamp = "Go's net, stamped by the kernel"
)

// probeRate of the probes that only show what the others would see, in requests/s.
const probeRate = 1000

type probeJob struct {
	Mode, Addr string
	Calls      int
	Pause      time.Duration
}

type probeResult struct {
	// Took each request from before it was written until after its answer was read, in nanoseconds.
	Took []int64
}

// transit is what a client measures on top of what the server records, in nanoseconds, sorted.
type transit struct {
	mode string
	// rps of the probe's requests: a processor that has slept for long takes longer for the same.
	rps   float64
	extra []int64
}

// probeLength of each probe, so many requests at least.
const (
	probeLength = 1500 * time.Millisecond
	probeCalls  = 300
)

var errProbe = errors.New("the server has not seen the probe's requests")

// measureTransit lets each probe meet the constant server, the last of them at every rate of the loads.
func (b *bench) measureTransit(ctx context.Context) ([]transit, error) {
	var all []transit
	for _, mode := range []string{probeSpin, probeBlock, probeGo} {
		all = append(all, transit{mode: mode, rps: probeRate})
	}
	for _, at := range b.points {
		one := transit{mode: probeStamp, rps: at.rps}
		if !slices.ContainsFunc(all, func(t transit) bool { return t.mode == one.mode && t.rps == one.rps }) {
			all = append(all, one)
		}
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
	pause := time.Duration(float64(time.Second) / of.rps)
	calls := max(probeCalls, int(probeLength/pause))
	var result probeResult
	seen, err := b.serving(ctx, serverJob{Case: "constant", Seed: b.seed, Calls: calls, Record: true}, func(addr string) error {
		return b.child(ctx, roleProbe, probeJob{Mode: of.mode, Addr: addr, Calls: calls, Pause: pause}, &result)
	})
	if err != nil {
		return err
	}
	of.extra, err = subtract(result.Took, seen)
	return err
}

// loopback is the loopback's own part of requests, there and back: from just before a request is written until the kernel has the
// answer. No waking up of a client is in it. It is not the same for each request: each is given one of those that the probe has seen.
type loopback struct {
	extra []int64
	rand  *rand.Rand
}

// loopbackAt is the one at this rate.
func loopbackAt(rps float64, all []transit, seed uint64) *loopback {
	l := &loopback{rand: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // to be repeated, not to be secret
	for _, one := range all {
		if one.mode == probeStamp && one.rps == rps {
			l.extra = one.extra
		}
	}
	return l
}

func (l *loopback) draw() int64 { return l.extra[l.rand.IntN(len(l.extra))] }

// subtract the server's time from the client's, request by request; sorted.
func subtract(took []int64, seen history) ([]int64, error) {
	if len(seen.Connections) != 1 || len(seen.Connections[0]) != len(took) {
		return nil, errProbe
	}
	differences := make([]int64, len(took))
	for i, r := range seen.Connections[0] {
		differences[i] = took[i] - r.service()
	}
	slices.Sort(differences)
	return differences, nil
}
