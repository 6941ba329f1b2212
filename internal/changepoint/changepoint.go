// Package changepoint finds where the level of a series of results changed, and says by how much.
//
// The method is that of Fleming and others, "Hunter: Using Change Point Detection to Hunt for Performance Regressions" (ICPE 2023,
// doi:10.1145/3578244.3583719), as Apache Otava documents it (docs/MATH.md): candidates are the best splits by the E-divisive statistic of
// Matteson and James (2014, arXiv:1306.4933) in overlapping windows, a t-test in place of their permutation test says which count, and
// candidates that do not hold against all results between their neighbours are taken back. Where this package departs from it, the
// constants below say why. The same values give the same changes: nothing is drawn at random.
package changepoint

import (
	"cmp"
	"math"
	"slices"
)

// Options say what counts as a change. docs/regressions.md shows what the default ones find and miss.
type Options struct {
	// PValue, divided by the number of results of the series, is the largest p-value of a change.
	PValue float64
	// MinChange is the smallest relative change that is reported.
	MinChange float64
	// MinResults is the number of results that a change takes on each side of it; at least 2.
	MinResults int
	// Window is the number of results among which candidates are looked for at a time; at least 2*MinResults.
	Window int
}

// Default options.
//
// PValue: a series is looked at after each result, so that its false alarms grow with its length at any fixed limit. A limit that falls as the
// series grows makes them grow with the logarithm of the length only. It costs little: a long series tells a level so well that the few results after a
// change decide. At 10 results the limit is Otava's own 0.001.
//
// MinResults: with fewer than five, two outliers out of four make a change; with more, none would be found within five results.
//
// Window: Otava's. A smaller one would hardly hold two levels, a larger one prefers an old large change to a recent small one.
func Default() Options { return Options{PValue: 0.01, MinChange: 0.05, MinResults: 5, Window: 50} }

// limit of the p-value in a series of so many results.
func (o Options) limit(results int) float64 { return o.PValue / float64(results) }

// Change is a lasting difference between the results before and after.
type Change struct {
	// Index is that of the first result of the new level.
	Index int
	// Before and After are the levels: means of the results from the former change on and up to the next one, geometric ones where all results
	// of the series are positive.
	Before, After float64
	// Size is the relative change, After/Before - 1, and Low..High its 95% interval by the t-distribution, for an index that was known
	// beforehand.
	Size, Low, High float64
}

// weaker is how much larger a candidate's p-value may be while the series is split; Otava's factor. What is significant only once a
// second change nearby has been found would otherwise never be looked at.
const weaker = 10

// Detect finds the changes of a series in the order of time. The argument is not changed. Values that are not finite are not allowed.
func Detect(values []float64, o Options) []Change {
	s := scaleOf(values)
	x := s.apply(values)
	found := merge(x, split(x, o), o, s)
	out := make([]Change, len(found))
	for i, index := range found {
		left, right := sides(x, found, i)
		out[i] = s.change(index, compare(left, right))
	}
	return out
}

// Compare describes the step from one group of results to another that was known beforehand. ok is false where a group has fewer than
// two results, which tell nothing of their spread.
func Compare(before, after []float64) (change Change, ok bool) {
	if len(before) < 2 || len(after) < 2 {
		return Change{}, false
	}
	s := scaleOf(slices.Concat(before, after))
	return s.change(len(before), compare(s.apply(before), s.apply(after))), true
}

// split looks for candidates in windows that overlap by half, each beginning anew at the last candidate of the one before.
func split(x []float64, o Options) []int {
	var found []int
	for start := 0; start < len(x); {
		end := min(start+o.Window, len(x))
		w := newWindow(x[start:end])
		last := start
		for _, index := range w.split(0, end-start, o.MinResults, weaker*o.limit(len(x))) {
			found = append(found, start+index)
			last = start + index
		}
		start = max(last, start+o.Window/2)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// merge takes back the weakest candidate, by its p-value and then by its size, until all that are left hold against all results
// between their neighbours.
func merge(x []float64, found []int, o Options, s scale) []int {
	for len(found) > 0 {
		weakest, unlikely := 0, compared{p: -1}
		smallest, size := 0, math.Inf(1)
		for i := range found {
			left, right := sides(x, found, i)
			c := compare(left, right)
			if p := rankP(left, right); p > maxRankP {
				c.p = max(c.p, p)
			}
			if len(left) < o.MinResults || len(right) < o.MinResults {
				c.p = 1
			}
			if c.p > unlikely.p {
				weakest, unlikely = i, c
			}
			if change := math.Abs(s.change(0, c).Size); change < size {
				smallest, size = i, change
			}
		}
		switch {
		case unlikely.p > o.limit(len(x)):
			found = slices.Delete(found, weakest, weakest+1)
		case size < o.MinChange:
			found = slices.Delete(found, smallest, smallest+1)
		default:
			return found
		}
	}
	return nil
}

// sides are the results between the i-th change and its neighbours.
func sides(x []float64, found []int, i int) (left, right []float64) {
	from, to := 0, len(x)
	if i > 0 {
		from = found[i-1]
	}
	if i+1 < len(found) {
		to = found[i+1]
	}
	return x[from:found[i]], x[found[i]:to]
}

// scale is the one on which results are compared: the logarithm where all are positive, since the noise of latencies, CPU and memory grows
// with their level and has its longer tail above; else their own, since what is added may be 0 or less.
type scale struct{ log bool }

func scaleOf(values []float64) scale {
	return scale{log: len(values) > 0 && slices.Min(values) > 0}
}

func (s scale) apply(values []float64) []float64 {
	out := slices.Clone(values)
	if s.log {
		for i, v := range out {
			out[i] = math.Log(v)
		}
	}
	return out
}

func (s scale) change(index int, c compared) Change {
	out := Change{Index: index}
	low, high := c.difference()-c.half, c.difference()+c.half
	if s.log {
		out.Before, out.After = math.Exp(c.before), math.Exp(c.after)
		out.Size, out.Low, out.High = math.Expm1(c.difference()), math.Expm1(low), math.Expm1(high)
		return out
	}
	out.Before, out.After = c.before, c.after
	// A change from nothing is one of the whole.
	if base := cmp.Or(math.Abs(c.before), math.Abs(c.after)); base > 0 {
		out.Size, out.Low, out.High = c.difference()/base, low/base, high/base
	}
	return out
}
