package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// benchCase is a server whose delays are known.
type benchCase struct {
	name string
	// delay draws one.
	delay func(*rand.Rand) time.Duration
	// stalled servers answer nothing at all for stallLength, every stallPeriod.
	stalled bool
}

// The stalls of the published example of coordinated omission: half a second each. One every 3.4 s makes three in the default
// run, and delays about a sixth of the requests; the first comes after half a period.
const (
	stallLength = 500 * time.Millisecond
	stallPeriod = 3400 * time.Millisecond
)

func constant(d time.Duration) func(*rand.Rand) time.Duration {
	return func(*rand.Rand) time.Duration { return d }
}

func bimodal(r *rand.Rand) time.Duration {
	if r.Float64() < 0.05 {
		return 10 * time.Millisecond
	}
	return 400 * time.Microsecond
}

// lognormal has a median of 1 ms and sigma 0.8: p90 is 2.8 ms, p99 6.4 ms, p99.9 11.8 ms.
func lognormal(r *rand.Rand) time.Duration {
	return time.Duration(float64(time.Millisecond) * math.Exp(0.8*r.NormFloat64()))
}

// instant answers at once: the server of the cost runs.
const instant = "instant"

var cases = []benchCase{
	{name: "constant", delay: constant(time.Millisecond)},
	{name: "bimodal", delay: bimodal},
	{name: "lognormal", delay: lognormal},
	{name: "stalls", delay: lognormal, stalled: true},
	{name: instant, delay: constant(0)},
}

func caseOf(name string) (benchCase, error) {
	for _, c := range cases {
		if c.name == name {
			return c, nil
		}
	}
	return benchCase{}, fmt.Errorf("no case %q", name)
}

// sequence is the n delays of one connection, in nanoseconds. The same seed and slot give the same delays, so that every load tester
// meets the same server.
func (c benchCase) sequence(seed uint64, slot, n int) []int64 {
	r := rand.New(rand.NewPCG(seed, uint64(slot))) //nolint:gosec // to be repeated, not to be secret
	delays := make([]int64, n)
	for i := range delays {
		delays[i] = int64(c.delay(r))
	}
	return delays
}

// windows are the stalls of a load of this length that begins at start, in nanoseconds.
func (c benchCase) windows(start int64, length time.Duration) []window {
	var all []window
	if c.stalled {
		for at := stallPeriod / 2; at < length; at += stallPeriod {
			all = append(all, window{From: start + int64(at), To: start + int64(at+stallLength)})
		}
	}
	return all
}
