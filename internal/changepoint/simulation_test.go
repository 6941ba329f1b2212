package changepoint

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// simulations: `go test ./internal/changepoint -run Simulation -v -timeout=30m -simulations=200` prints the tables of docs/regressions.md.
var simulations = flag.Int("simulations", 0, "series for each line of the first table, and five times as many for each line of the second; 0: no tables")

// noise draws standard deviations of a run's figure from its level, of variance 1 but for its outliers.
type noise struct {
	name string
	draw func(*rand.Rand) float64
	// memory is the correlation of a run with the one before.
	memory float64
}

func normal(r *rand.Rand) float64 { return r.NormFloat64() }

// heavy is Student's distribution with 5 degrees of freedom, scaled to variance 1.
func heavy(r *rand.Rand) float64 {
	var chi float64
	for range 5 {
		z := r.NormFloat64()
		chi += z * z
	}
	return r.NormFloat64() / math.Sqrt(chi/5) * math.Sqrt(3.0/5)
}

// spoilt is heavy, and 3 runs in 100 went wrong by 4 to 10 standard deviations, upwards.
func spoilt(r *rand.Rand) float64 {
	if r.Float64() < 0.03 {
		return 4 + 6*r.Float64()
	}
	return heavy(r)
}

var noises = []noise{
	{name: "lognormal", draw: normal},
	{name: "heavier tails", draw: heavy},
	{name: "heavier tails, 3% outliers", draw: spoilt},
	{name: "the same, runs correlated by 0.3", draw: spoilt, memory: 0.3},
}

// series of a figure whose noise has the standard deviation sigma of its logarithm, and whose level rises by shift of those after `before` results.
func (n noise) series(r *rand.Rand, sigma, shift float64, before, length int) []float64 {
	out := make([]float64, length)
	var last float64
	for i := range out {
		z := n.draw(r)
		last = n.memory*last + math.Sqrt(1-n.memory*n.memory)*z
		level := 0.0
		if i >= before {
			level = shift
		}
		out[i] = 1.5 * math.Exp(sigma*(last+level))
	}
	return out
}

// eachSeries runs f for n series on all processors, each with random numbers of its own.
func eachSeries(n int, f func(r *rand.Rand)) {
	var all sync.WaitGroup
	next := make(chan uint64)
	for range 2 {
		all.Go(func() {
			for i := range next {
				f(rand.New(rand.NewPCG(i, 0)))
			}
		})
	}
	for i := range n {
		next <- uint64(i)
	}
	close(next)
	all.Wait()
}

// alarms counts the changes that are reported at one time or another while the results come in one after the other. One that is reported
// again a few results from where it was is the same.
func alarms(values []float64, o Options) int {
	var reported []int
	for n := 2 * o.MinResults; n <= len(values); n++ {
		for _, c := range Detect(values[:n], o) {
			if !slices.ContainsFunc(reported, func(i int) bool { return near(i, c.Index, o) }) {
				reported = append(reported, c.Index)
			}
		}
	}
	return len(reported)
}

func near(a, b int, o Options) bool { return max(a-b, b-a) < o.MinResults }

type falseAlarms struct{ results, alarms, series int }

func countFalseAlarms(n noise, sigma float64, length, repeat int, o Options) falseAlarms {
	var mu sync.Mutex
	var out falseAlarms
	eachSeries(repeat, func(r *rand.Rand) {
		found := alarms(n.series(r, sigma, 0, 0, length), o)
		mu.Lock()
		defer mu.Unlock()
		out.results += length
		out.alarms += found
		if found > 0 {
			out.series++
		}
	})
	return out
}

// power is how a shift was found, counted over the series.
type power struct {
	series, within5, within10, within20 int
	// exact of those within5 are at the right run or one beside it, covered have the true size in their interval.
	exact, covered int
}

func countPower(n noise, sigma, shift float64, before, repeat int, o Options) power {
	var mu sync.Mutex
	var out power
	eachSeries(repeat, func(r *rand.Rand) {
		values := n.series(r, sigma, shift, before, before+20)
		delay := 0
		var first Change
		for d := 1; d <= 20 && delay == 0; d++ {
			for _, c := range Detect(values[:before+d], o) {
				if near(c.Index, before, o) {
					delay, first = d, c
				}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		out.series++
		if delay == 0 {
			return
		}
		out.within20++
		if delay <= 10 {
			out.within10++
		}
		if delay > 5 {
			return
		}
		out.within5++
		if d := first.Index - before; -1 <= d && d <= 1 {
			out.exact++
		}
		if size := math.Expm1(sigma * shift); first.Low <= size && size <= first.High {
			out.covered++
		}
	})
	return out
}

func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(of))
}

// sigmaP99 and sigmaCPU are what a run's figures vary by on the local cluster: the half-width of the 95% interval of the logarithm in README.md,
// divided by 1.96. The first is added p99's, the noisiest; the second that of CPU, where the smallest change comes before the p-value.
const (
	sigmaP99 = 0.34
	sigmaCPU = 0.016
)

func TestSimulation(t *testing.T) {
	if *simulations == 0 {
		t.Skip("prints tables, with -simulations")
	}
	o := Default()
	fmt.Println("| noise of the results | standard deviation | false alarms in 100 results | series of 300 with one or more |\n|---|---|---|---|")
	for _, sigma := range []float64{sigmaP99, sigmaCPU} {
		for _, n := range noises {
			f := countFalseAlarms(n, sigma, 300, *simulations, o)
			fmt.Printf("| %s | %g%% | %.2f | %s |\n", n.name, 100*sigma, 100*float64(f.alarms)/float64(f.results), percent(f.series, *simulations))
		}
	}
	fmt.Println("\n| shift | results before it | noise | found within 5 | within 10 | within 20 | of those within 5, at most one run off | size in its interval |\n|---|---|---|---|---|---|---|---|")
	for _, shift := range []float64{2, 3, 5} {
		for _, before := range []int{10, 30, 100} {
			for _, n := range []noise{noises[0], noises[2]} {
				p := countPower(n, sigmaP99, shift, before, 5**simulations, o)
				fmt.Printf("| %g | %d | %s | %s | %s | %s | %s | %s |\n", shift, before, n.name, percent(p.within5, p.series), percent(p.within10, p.series),
					percent(p.within20, p.series), percent(p.exact, p.within5), percent(p.covered, p.within5))
			}
		}
	}
}

// What is asserted here is far from what the tables of docs/regressions.md say, so that it holds whatever the numbers drawn.
func TestFewFalseAlarms(t *testing.T) {
	for _, n := range noises[:3] {
		if f := countFalseAlarms(n, sigmaP99, 100, 20, Default()); 100*f.alarms > f.results {
			t.Errorf("%s: %d false alarms in %d results", n.name, f.alarms, f.results)
		}
	}
}

func TestFindsShifts(t *testing.T) {
	for _, c := range []struct {
		shift   float64
		before  int
		within5 float64
	}{{3, 30, 0.7}, {5, 10, 0.7}, {5, 100, 0.8}} {
		p := countPower(noises[2], sigmaP99, c.shift, c.before, 40, Default())
		if float64(p.within5) < c.within5*float64(p.series) {
			t.Errorf("%g standard deviations after %d results: %d of %d found", c.shift, c.before, p.within5, p.series)
		}
		if 2*p.exact < p.within5 {
			t.Errorf("%g standard deviations after %d results: %d of %d at the right run", c.shift, c.before, p.exact, p.within5)
		}
	}
}
