package main

import (
	"context"
	"errors"
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

type probeJob struct {
	Mode, Addr string
	Calls      int
	Pause      time.Duration
}

type probeResult struct {
	// Took each request from before it was written until after its answer was read, in nanoseconds.
	Took []int64
}

// transit is what a client measures on top of what the server records.
type transit struct {
	mode          string
	p10, p50, p99 time.Duration
}

// ownTransit is the loopback's own part of a request, there and back: what half of the requests take less than, from just before the
// request is written until the kernel has the answer. No waking up is in it.
func ownTransit(all []transit) time.Duration {
	for _, one := range all {
		if one.mode == probeStamp {
			return one.p50
		}
	}
	return 0
}

// probeCalls at one a millisecond or so: three seconds for each probe.
const probeCalls = 1400

var errProbe = errors.New("the server has not seen the probe's requests")

// measureTransit lets each probe meet the constant server.
func (b *bench) measureTransit(ctx context.Context) ([]transit, error) {
	var all []transit
	for _, mode := range []string{probeSpin, probeBlock, probeGo, probeStamp} {
		if err := b.awaitQuiet(ctx); err != nil {
			return nil, err
		}
		var result probeResult
		seen, err := b.serving(ctx, serverJob{Case: "constant", Seed: b.seed, Calls: probeCalls, Record: true}, func(addr string) error {
			return b.child(ctx, roleProbe, probeJob{Mode: mode, Addr: addr, Calls: probeCalls, Pause: time.Millisecond}, &result)
		})
		if err != nil {
			return nil, err
		}
		differences, err := subtract(result.Took, seen)
		if err != nil {
			return nil, err
		}
		p10, _ := quantile(differences, 0.10)
		p50, _ := quantile(differences, 0.50)
		p99, _ := quantile(differences, 0.99)
		all = append(all, transit{mode, time.Duration(p10), time.Duration(p50), time.Duration(p99)})
	}
	return all, nil
}

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
