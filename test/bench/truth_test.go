package main

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const ms = int64(time.Millisecond)

// at is a request that the server kept for exactly its delay.
func at(arrival, delay int64) record {
	return record{Arrival: arrival, Departure: arrival + delay, Delay: delay}
}

// always is a way that takes each request so long.
func always(extra int64) *way {
	at := point{1000, 4}
	return wayAt(at, []transit{{probeBlock, at, []int64{1}}, {probeThere, point{1000, 1}, []int64{2}}, {probeThere, at, []int64{extra}}}, 1)
}

func TestResponses(t *testing.T) {
	// Two connections at 100/s: one request each 20 ms on each, stretched to 40 ms for 2 calls and to 30 ms for 3.
	two := plannedLoad{start: 1000 * ms, rps: 100, connections: 2, calls: 2, there: always(0)}
	one := plannedLoad{start: 0, rps: 100, connections: 1, calls: 3, there: always(0)}
	far := plannedLoad{start: 0, rps: 100, connections: 1, calls: 3, there: always(ms / 2)}
	tests := map[string]struct {
		load plannedLoad
		h    history
		want []int64
	}{
		"on time, nothing waits": {
			two, history{Connections: [][]record{{at(1000*ms, ms), at(1040*ms, 2*ms)}, {at(1010*ms, 3*ms), at(1050*ms, 4*ms)}}},
			[]int64{ms, 2 * ms, 3 * ms, 4 * ms},
		},
		"connections in another order": {
			two, history{Connections: [][]record{{at(1010*ms, 3*ms), at(1050*ms, 4*ms)}, {at(1000*ms, ms), at(1040*ms, 2*ms)}}},
			[]int64{ms, 2 * ms, 3 * ms, 4 * ms},
		},
		"the client's lateness is not the server's": {
			two, history{Connections: [][]record{{at(1000*ms, ms), at(1049*ms, 2*ms)}, {at(1019*ms, 3*ms), at(1050*ms, 4*ms)}}},
			[]int64{ms, 2 * ms, 3 * ms, 4 * ms},
		},
		// Due at 0, 15, 30; the first is under way until 20, so the second waits for 5 ms, and the third is on time.
		"waiting for the connection": {
			one, history{Connections: [][]record{{at(0, 20*ms), at(20*ms, 2*ms), at(30*ms, ms)}}},
			[]int64{ms, 7 * ms, 20 * ms},
		},
		// The client needed until 26 to send what it could have sent at 20.
		"waiting, and the client slow after it": {
			one, history{Connections: [][]record{{at(0, 20*ms), at(26*ms, 2*ms), at(30*ms, ms)}}},
			[]int64{ms, 7 * ms, 20 * ms},
		},
		// Each is later by the way there, the second by that of the first too.
		"the way there counts": {
			far, history{Connections: [][]record{{at(0, 20*ms), at(20*ms, 2*ms), at(30*ms, ms)}}},
			[]int64{ms + ms/2, 8 * ms, 20*ms + ms/2},
		},
		"what the server adds counts": {
			one, history{Connections: [][]record{{{0, 21 * ms, 20 * ms}, at(21*ms, 2*ms), at(30*ms, ms)}}},
			[]int64{ms, 8 * ms, 21 * ms},
		},
		// Stalled from 10 to 40. The second was sent 2 ms late at 17 and left at 40.5: it should have been sent at 15.
		"a stall": {
			one, history{Stalls: []window{{10 * ms, 40 * ms}}, Connections: [][]record{{
				at(0, ms), {17 * ms, 40*ms + ms/2, ms}, at(41*ms, 3*ms)}}},
			[]int64{ms, 13*ms + ms/2, 25*ms + ms/2},
		},
		"a stall that a late request has missed": {
			one, history{Stalls: []window{{16 * ms, 19 * ms}}, Connections: [][]record{{at(0, ms), at(19*ms+ms/2, 2*ms), at(30*ms, 3*ms)}}},
			// Due at 15 with 2 ms to go, it would have left at 17, so at 19.
			[]int64{ms, 3 * ms, 4 * ms},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tc.load.responses(tc.h)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestExtra: the server's connections are in another order than the probe's.
func TestExtra(t *testing.T) {
	probed := [][]sent{{{At: 10 * ms, Took: 6 * ms}, {At: 30 * ms, Took: 7 * ms}}, {{At: 11 * ms, Took: 8 * ms}, {At: 31 * ms, Took: 7 * ms}}}
	seen := [][]record{
		{{Arrival: 18 * ms, Departure: 19 * ms}, {Arrival: 34 * ms, Departure: 38 * ms}},
		{{Arrival: 12 * ms, Departure: 15 * ms}, {Arrival: 32 * ms, Departure: 37 * ms}},
	}
	for mode, want := range map[string][]int64{probeThere: {2 * ms, 2 * ms, 3 * ms, 7 * ms}, probeSpin: {2 * ms, 3 * ms, 3 * ms, 7 * ms}} {
		if got, err := extra(mode, probed, seen); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", mode, got, err)
		}
	}
	for name, records := range map[string][][]record{"too few": seen[:1], "none": {nil, nil}, "another's": {seen[0], {seen[1][0], {Arrival: 29 * ms, Departure: 37 * ms}}}} {
		if _, err := extra(probeThere, probed, records); !errors.Is(err, errProbe) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRecordsThatDoNotFitThePlan(t *testing.T) {
	load := plannedLoad{start: 0, rps: 100, connections: 2, calls: 2}
	for name, connections := range map[string][][]record{
		"a connection too few": {{at(0, ms)}},
		"early":                {{at(0, ms), at(40*ms, ms)}, {at(10*ms, ms), at(49*ms, ms)}},
		"always late":          {{at(0, ms), at(40*ms, ms)}, {at(16*ms, ms), at(56*ms, ms)}},
	} {
		if _, err := load.responses(history{Connections: connections}); !errors.Is(err, errSchedule) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestDue(t *testing.T) {
	load := plannedLoad{start: 7, rps: 1000, connections: 4, calls: 5}
	// 4 connections at 1000/s: 4 ms between a connection's requests, stretched by 5/4 so that the fifth is due after 20 ms.
	for _, tc := range []struct {
		connection, call int
		want             int64
	}{{0, 0, 7}, {3, 0, 7 + 3*ms}, {0, 1, 7 + 5*ms}, {1, 4, 7 + 21*ms}} {
		if got := load.due(tc.connection, tc.call); got != tc.want {
			t.Errorf("connection %d, call %d: %d, want %d", tc.connection, tc.call, got, tc.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	hundred := make([]int64, 100)
	for i := range hundred {
		hundred[i] = int64(i + 1)
	}
	thousand := slices.Concat(make([]int64, 900), hundred)
	for _, tc := range []struct {
		sorted []int64
		q      float64
		want   int64
		ok     bool
	}{
		{hundred, 0.5, 50, true}, {hundred, 0.501, 51, true}, {hundred, 0.9, 90, true}, {hundred, 0.91, 0, false},
		{thousand, 0.99, 90, true}, {thousand, 0.999, 0, false}, {nil, 0.5, 0, false}, {hundred, 0, 0, false},
	} {
		if got, ok := quantile(tc.sorted, tc.q); got != tc.want || ok != tc.ok {
			t.Errorf("q %g of %d: got %d %v", tc.q, len(tc.sorted), got, ok)
		}
	}
}

func TestRelativeError(t *testing.T) {
	for _, tc := range []struct{ figure, truth, want float64 }{{1010, 1000, 0.01}, {500, 1000, -0.5}, {7, 7, 0}} {
		if got := relativeError(tc.figure, tc.truth); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%g for %g: %g", tc.figure, tc.truth, got)
		}
	}
}

func TestSequencesAreTheCase(t *testing.T) {
	const n = 200_000
	sorted := func(name string) []int64 {
		c, err := caseOf(name)
		if err != nil {
			t.Fatal(err)
		}
		s := c.sequence(1, 0, n)
		if !slices.Equal(s, c.sequence(1, 0, n)) {
			t.Errorf("%s: the same seed gave other delays", name)
		}
		slices.Sort(s)
		return s
	}
	near := func(what string, got int64, want float64) {
		t.Helper()
		if math.Abs(float64(got)/want-1) > 0.03 {
			t.Errorf("%s: %d, want about %g", what, got, want)
		}
	}
	for q, want := range map[float64]float64{0.5: 1e6, 0.9: 2.787e6, 0.99: 6.430e6} {
		got, _ := quantile(sorted("lognormal"), q)
		near("lognormal", got, want)
	}
	slow, _ := slices.BinarySearch(sorted("bimodal"), 10*ms)
	near("slow ones of bimodal", int64(n-slow), 0.05*n)
	if s := sorted("constant"); s[0] != ms || s[n-1] != ms {
		t.Errorf("constant: from %d to %d", s[0], s[n-1])
	}
	lognormal, _ := caseOf("lognormal")
	if slices.Equal(lognormal.sequence(1, 0, 10), lognormal.sequence(1, 1, 10)) {
		t.Error("two connections have the same delays")
	}
	if _, err := caseOf("none"); err == nil {
		t.Error("a case that does not exist was found")
	}
}

func TestWindows(t *testing.T) {
	stalls, _ := caseOf("stalls")
	want := []window{{1707 * ms, 2207 * ms}, {5107 * ms, 5607 * ms}, {8507 * ms, 9007 * ms}}
	if d := cmp.Diff(want, stalls.windows(7*ms, 10240*time.Millisecond)); d != "" {
		t.Error(d)
	}
	for in, out := range map[int64]int64{1706 * ms: 1706 * ms, 1707 * ms: 2207 * ms, 2207 * ms: 2207 * ms, 9000 * ms: 9007 * ms} {
		if got := leave(in, want); got != out {
			t.Errorf("ready at %d: left at %d, want %d", in, got, out)
		}
	}
	constant, _ := caseOf("constant")
	if w := constant.windows(0, time.Hour); w != nil {
		t.Errorf("constant stalls: %v", w)
	}
}
