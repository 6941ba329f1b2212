package changepoint

import "math"

// window holds the distances between its results, summed up so that those of any two stretches of it take four additions.
type window struct {
	x []float64
	// sums[i][j] is the sum of |x[a]-x[b]| over all a < i and b < j.
	sums [][]float64
}

func newWindow(x []float64) window {
	sums := make([][]float64, len(x)+1)
	sums[0] = make([]float64, len(x)+1)
	for i := range x {
		row := make([]float64, len(x)+1)
		for j := range x {
			row[j+1] = row[j] + sums[i][j+1] - sums[i][j] + math.Abs(x[i]-x[j])
		}
		sums[i+1] = row
	}
	return window{x, sums}
}

// between is the sum of the distances of each of [a,b) to each of [c,d).
func (w window) between(a, b, c, d int) float64 {
	return w.sums[b][d] - w.sums[a][d] - w.sums[b][c] + w.sums[a][c]
}

// split finds the candidates in [from, to), each one that passes the test splitting what is looked at next. Where the best split has fewer
// than least results on one side, those are left out: they are spoilt, or of a level that is too young to tell, which a split some results off
// would mix with the level before it.
func (w window) split(from, to, least int, limit float64) []int {
	tau, kappa := w.best(from, to, least)
	switch {
	case tau < 0:
		return nil
	case to-tau < least:
		return w.split(from, tau, least, limit)
	case tau-from < least:
		return w.split(tau, to, least, limit)
	case compare(w.x[from:tau], w.x[tau:kappa]).p > limit:
		return nil
	}
	return append(append(w.split(from, tau, least, limit), tau), w.split(tau, to, least, limit)...)
}

// shortest is the fewest results that have a spread.
const shortest = 2

// best is the split [from,tau) and [tau,kappa) with the largest divergence, with at least so many results up to kappa where there
// are so many; tau is -1 where there is no room for two sides.
func (w window) best(from, to, least int) (tau, kappa int) {
	tau, largest := -1, math.Inf(-1)
	for t := from + shortest; t+shortest <= to; t++ {
		for k := min(t+least, to); k <= to; k++ {
			if q := w.divergence(from, t, k); q > largest {
				tau, kappa, largest = t, k, q
			}
		}
	}
	return tau, kappa
}

// divergence is Matteson and James' statistic Q for the exponent 1: how much farther the results of the two sides lie from each other than from
// those of their own side, weighted by the number of results.
func (w window) divergence(from, tau, kappa int) float64 {
	n, m := float64(tau-from), float64(kappa-tau)
	across := 2 * w.between(from, tau, tau, kappa) / (n * m)
	// Each pair is in the sum twice.
	left := w.between(from, tau, from, tau) / (n * (n - 1))
	right := w.between(tau, kappa, tau, kappa) / (m * (m - 1))
	return n * m / (n + m) * (across - left - right)
}
