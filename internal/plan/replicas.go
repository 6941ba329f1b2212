package plan

import (
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// Lead is how long after it was decided upon the load of several load testers begins: time for each to get its plan, to look at mTLS
// and to open its first connections. What takes longer delays a warm-up.
const Lead = 5 * time.Second

// share makes the plan of the whole load that of the i-th of n equal shares. Its connections are those numbered i, i+n, i+2n, ... in the
// whole: each sends as often as it would there, and the beginnings of a share's are n/rps apart, so that a share that begins i/rps
// after the first falls into the gaps of the others. start is by the clock of the share's load tester.
func share(p *measure.Plan, i, n int, start time.Time) {
	timed(p)
	p.Start, p.Offset = start, seconds(float64(i)/p.RPS)
	for j := range p.Blocks {
		p.Blocks[j].Connections /= n
	}
	p.RPS /= float64(n)
}

// timed says when each block of the whole load begins: when the one before has ended on all load testers, and there was time for what lies
// between two blocks.
func timed(p *measure.Plan) {
	var at time.Duration
	for i := range p.Blocks {
		b := &p.Blocks[i]
		b.At = at
		interval := float64(b.Connections) / p.RPS
		// Connections begin one after the other over an interval, and end as they have begun.
		load := max(b.Duration, seconds(float64(p.PerConnection(*b))*interval)) + seconds(interval)
		at += load + between(b.Connections)
	}
}

// between is the time from the last request of a block to the beginning of the next: answers come in, counters are read, connections are
// opened and send a request each. One load tester takes some 0.3 s for that at 16 connections; a sidecar limited to half a CPU answers
// some 1000 requests/s. A load tester that needs longer begins the next block late, and says so.
func between(connections int) time.Duration {
	return 2*time.Second + time.Duration(connections)*time.Millisecond
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// LoadTime is how long all blocks are planned to take.
func LoadTime(s v1alpha1.Settings) time.Duration {
	p := measure.Plan{RPS: float64(s.RPS), Blocks: Blocks(s)}
	if s.LoadTesterReplicas > 1 {
		p.Start = time.Unix(1, 0)
		timed(&p)
	}
	return p.LoadTime()
}
