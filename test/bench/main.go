// Bench measures how true the load tester's figures are, against a server whose delays are known and recorded, and what they cost,
// beside stock Fortio on the same machine in the same run. It executes itself for the server and for each load tester.
//
//	go run ./test/bench
//
// docs/measurement.md, "Fidelity and cost, measured", explains it and has its results.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"perfrun.dev/perfrun/test/machine"
)

// bench is what the benchmark is to do.
type bench struct {
	self         string
	out          string
	fortio       string
	duration     time.Duration
	costDuration time.Duration
	alternations int
	seed         uint64
	points       []point
	only         string
	// mostOthers is how many processors other processes may use before a load is driven again, and waiting what is left of the time
	// to wait for them.
	mostOthers float64
	waiting    time.Duration

	began     time.Time
	serverPID int
	// apart: server and load tester have a processor each, and to themselves.
	apart bool
	// transit as the probes have seen it.
	transit []transit
}

func main() {
	var b bench
	var every bool
	role := flag.String("role", "", "what this process is to be; the benchmark starts itself with it")
	job := flag.String("job", "", "what this process is to do in its role")
	flag.StringVar(&b.out, "out", ".local/bench", "directory to write the CSV files to")
	flag.StringVar(&b.fortio, "fortio", ".local/bin/fortio", "the stock fortio command; without it, only the library is compared")
	flag.DurationVar(&b.duration, "duration", 10240*time.Millisecond, "of each load whose figures are checked; at 1000/s, p99.9 needs 10s")
	flag.DurationVar(&b.costDuration, "cost-duration", 4*time.Second, "of each load whose cost is measured")
	flag.IntVar(&b.alternations, "rounds", 6, "of the cost comparison")
	flag.Uint64Var(&b.seed, "seed", 1, "of the delays")
	flag.BoolVar(&every, "full", false, "check every rate with every number of connections; takes half as long again")
	flag.StringVar(&b.only, "only", "", "fidelity or cost: leave out the other")
	flag.Float64Var(&b.mostOthers, "others", 0.5, "processors that other processes may use; a load is driven again, up to twice, when they used more")
	flag.DurationVar(&b.waiting, "wait", 0, "in all, for other processes to be quiet before a load")
	flag.Parse()
	b.points = crossPoints
	if every {
		b.points = allPoints
	}
	var err error
	if *role != "" {
		err = act(*role, *job)
	} else {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err = b.run(ctx)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.self, err = os.Executable(); err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	b.began = time.Now()
	fmt.Println(machine.Describe(b.began, ", Fortio's library "+moduleVersion("fortio.org/fortio")))
	if b.only != "cost" {
		if err := b.fidelity(ctx); err != nil {
			return err
		}
	}
	if b.only != "fidelity" {
		all, err := b.measureCost(ctx)
		if err != nil {
			return err
		}
		table := compare(all)
		printCost(os.Stdout, table)
		printDisturbance(os.Stdout, all, func(a alternation) []share { return []share{a.disturbed} })
		if err := b.save("cost.csv", costCSV(table)); err != nil {
			return err
		}
	}
	fmt.Printf("\nTook %s. Load average at the end: %s.\n", time.Since(b.began).Round(time.Second), machine.LoadAverage())
	return nil
}

func (b *bench) fidelity(ctx context.Context) error {
	var err error
	if b.transit, err = b.measureTransit(ctx); err != nil {
		return err
	}
	all, err := b.measureFidelity(ctx)
	if err != nil {
		return err
	}
	table, best, err := rows(all)
	if err != nil {
		return err
	}
	printTransit(os.Stdout, b.transit)
	printFidelity(os.Stdout, table, best)
	printDisturbance(os.Stdout, all, func(c compared) []share { return []share{c.ours.disturbed, c.fortio.disturbed} })
	for _, one := range all {
		if n := one.ours.unstamped + one.fortio.unstamped; n > 0 {
			fmt.Printf("%s at %g/s over %d connections: %d requests without the kernel's time of arrival\n", one.of.name, one.at.rps, one.at.connections, n)
		}
	}
	if err := b.save("fidelity.csv", fidelityCSV(table)); err != nil {
		return err
	}
	return b.save("fidelity-detail.csv", detailCSV(table))
}
