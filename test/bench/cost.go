package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"time"
)

const (
	// costRPS over costConnections is where CPU per request is compared.
	costRPS         = 1000
	costConnections = 16
	// boundless is more than can be sent; what is achieved then is the highest rate. A run may ask for 100,000 at most
	// (measure.Plan.Validate), which is less than some machines can do.
	boundless = 500_000
	// fullTime is how long the highest rate is kept up.
	fullTime = 3500 * time.Millisecond
	// fullTimeout makes a plan of 2 s be given up after fullTime (loadtester: half as long again, and two timeouts).
	fullTimeout, fullPlan = 250 * time.Millisecond, 2 * time.Second
)

// contender is what a run is driven by.
type contender string

const (
	ours      contender = "ours"
	library   contender = "Fortio's library"
	unlimited contender = "Fortio's library without a rate (-qps 0)"
	command   contender = "the fortio command"
)

// figures of one run.
type figures struct{ cpuPerRequest, rate float64 }

// alternation is one round: every contender once at the rate compared and once at its highest.
type alternation struct {
	at, full  map[contender]figures
	disturbed share
}

// measureCost alternates, each other time in the opposite order, against a server that answers at once.
func (b *bench) measureCost(ctx context.Context) ([]alternation, error) {
	var all []alternation
	for i := range b.alternations {
		one := alternation{at: map[contender]figures{}, full: map[contender]figures{}}
		steps := []func() error{
			func() error { return b.cost(ctx, one.at, ours, b.steady()) },
			func() error { return b.cost(ctx, one.at, library, b.steady()) },
			func() error { return b.costOfCommand(ctx, one.at) },
			func() error { return b.fullCost(ctx, one.full, ours, full(boundless, fullPlan)) },
			func() error { return b.fullCost(ctx, one.full, library, full(boundless, fullTime)) },
			func() error { return b.fullCost(ctx, one.full, unlimited, full(-1, fullTime)) },
		}
		if i%2 == 1 {
			slices.Reverse(steps)
		}
		if err := b.awaitQuiet(ctx); err != nil {
			return nil, err
		}
		watched := watching()
		for _, step := range steps {
			if err := step(); err != nil {
				return nil, fmt.Errorf("measuring cost: %w", err)
			}
		}
		var err error
		if one.disturbed, err = watched(); err != nil {
			return nil, fmt.Errorf("measuring cost: %w", err)
		}
		all = append(all, one)
		b.say("cost, round %d of %d: done", i+1, b.alternations)
	}
	return all, nil
}

func (b *bench) steady() loadJob {
	return loadJob{RPS: costRPS, Connections: costConnections, Duration: b.costDuration, Timeout: loadTimeout}
}

func full(rps float64, d time.Duration) loadJob {
	return loadJob{RPS: rps, Connections: costConnections, Duration: d, Timeout: fullTimeout}
}

func (b *bench) cost(ctx context.Context, into map[contender]figures, who contender, job loadJob) error {
	role := roleFortio
	if who == ours {
		role = roleOurs
	}
	var result loadResult
	_, err := b.serving(ctx, serverJob{Case: instant}, func(addr string) error {
		job.URL, job.ServerPID = "http://"+addr+"/echo", b.serverPID
		return b.child(ctx, role, job, &result)
	})
	if err != nil {
		return err
	}
	if result.Failed > 0 {
		return fmt.Errorf("%s: %d requests failed", who, result.Failed)
	}
	into[who] = figures{result.cpuPerRequest(), result.rate()}
	return nil
}

// fullCost is the cost at the highest rate, of a load tester with one processor and a server with another. Where both have two, what is
// achieved depends on how the kernel moves them about, and a load tester can be the faster for taking less from the server.
func (b *bench) fullCost(ctx context.Context, into map[contender]figures, who contender, job loadJob) error {
	b.apart = true
	defer func() { b.apart = false }()
	return b.cost(ctx, into, who, job)
}

// costOfCommand is left out if the command is not there. Its CPU is the whole process's, from its start.
func (b *bench) costOfCommand(ctx context.Context, into map[contender]figures) error {
	if _, err := os.Stat(b.fortio); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := b.serving(ctx, serverJob{Case: instant}, func(addr string) error {
		cmd := exec.CommandContext(ctx, b.fortio, "load", "-qps", fmt.Sprint(costRPS), "-c", fmt.Sprint(costConnections), //nolint:gosec // what the user named
			"-t", b.costDuration.String(), "-uniform", "-payload-size", fmt.Sprint(answerBytes), "-quiet", "-json", "-", "http://"+addr+"/echo")
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("running %s: %w", command, err)
		}
		var report struct {
			ActualQPS         float64
			RetCodes          map[string]int64
			DurationHistogram struct{ Count int64 }
		}
		if err := json.Unmarshal(out, &report); err != nil {
			return fmt.Errorf("reading what %s reports: %w", command, err)
		}
		if n := report.RetCodes["200"]; n == 0 || n != report.DurationHistogram.Count {
			return fmt.Errorf("%s: answers %v", command, report.RetCodes)
		}
		used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		into[command] = figures{micros(int64(used)) / float64(report.DurationHistogram.Count), report.ActualQPS}
		return nil
	})
	return err
}

// comparison of ours with another, over all rounds.
type comparison struct {
	Measure, Unit, Other string
	Ours, Theirs         float64
	// Ratio is the median of the rounds' ratios, ours by theirs.
	Ratio, Lowest, Highest float64
	Rounds                 int
}

func compare(all []alternation) []comparison {
	cpu := func(f figures) float64 { return f.cpuPerRequest }
	rate := func(f figures) float64 { return f.rate }
	at := func(a alternation) map[contender]figures { return a.at }
	atFull := func(a alternation) map[contender]figures { return a.full }
	var table []comparison
	for _, c := range []struct {
		measure, unit string
		other         contender
		where         func(alternation) map[contender]figures
		of            func(figures) float64
	}{
		{fmt.Sprintf("CPU per request at %d/s", costRPS), "us", library, at, cpu},
		{fmt.Sprintf("CPU per request at %d/s", costRPS), "us", command, at, cpu},
		{"CPU per request at the highest rate", "us", library, atFull, cpu},
		{"CPU per request at the highest rate", "us", unlimited, atFull, cpu},
		{"highest rate", "requests/s", library, atFull, rate},
		{"highest rate", "requests/s", unlimited, atFull, rate},
	} {
		var mine, theirs, ratios []float64
		for _, a := range all {
			f := c.where(a)
			if other, ok := f[c.other]; ok {
				mine, theirs = append(mine, c.of(f[ours])), append(theirs, c.of(other))
				ratios = append(ratios, c.of(f[ours])/c.of(other))
			}
		}
		if len(ratios) == 0 {
			continue
		}
		table = append(table, comparison{c.measure, c.unit, string(c.other), median(mine), median(theirs),
			median(ratios), slices.Min(ratios), slices.Max(ratios), len(ratios)})
	}
	return table
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
