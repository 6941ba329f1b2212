package changepoint

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

const (
	// clip is how many standard deviations a result counts at most, away from the median of its side. One run in some dozens goes wrong by far more
	// than its noise (a neighbour that compiles, a node that pages): two such results among the last four would otherwise be a change, and
	// one among the results before would hide any. Of normal noise it touches 1 in 16,000.
	clip = 4
	// madToSigma makes a standard deviation of the median absolute deviation, for normal noise.
	madToSigma = 1.4826
)

// compared is a t-test between two sides.
type compared struct {
	before, after float64
	// half is half the width of the 95% interval of their difference.
	half float64
	// p is the two-sided p-value; 1 where a side has fewer than two results.
	p float64
}

func (c compared) difference() float64 { return c.after - c.before }

// compare is Student's t-test, with the variance of both sides together, on results whose outliers are drawn in. Welch's would take the
// variance of the few results after a change by itself, and could not tell even a change of five standard deviations before the sixth of them.
func compare(left, right []float64) compared {
	n, m := float64(len(left)), float64(len(right))
	if n < 2 || m < 2 {
		return compared{before: mean(left), after: mean(right), half: math.Inf(1), p: 1}
	}
	left, right = drawnIn(left, right)
	out := compared{before: mean(left), after: mean(right)}
	free := n + m - 2
	variance := (squares(left, out.before) + squares(right, out.after)) / free
	deviation := math.Sqrt(variance * (1/n + 1/m))
	out.half = quantile(0.05, free) * deviation
	switch d := out.difference(); {
	case deviation > 0:
		t := d / deviation
		// The tails of Student's distribution by the incomplete beta function: Abramowitz and Stegun 26.7.1 with 26.5.27.
		out.p = mathext.RegIncBeta(free/2, 0.5, free/(free+t*t))
	case d == 0:
		out.p = 1
	}
	return out
}

// quantile is the t that a two-sided test exceeds with probability p.
func quantile(p, free float64) float64 {
	x := mathext.InvRegIncBeta(free/2, 0.5, p)
	return math.Sqrt(free * (1 - x) / x)
}

// drawnIn are both sides with no result farther than clip standard deviations from the median of its side. The deviation is that of
// both sides together: of four results alone it would be any.
func drawnIn(left, right []float64) (l, r []float64) {
	atLeft, atRight := median(left), median(right)
	away := make([]float64, 0, len(left)+len(right))
	for _, v := range left {
		away = append(away, math.Abs(v-atLeft))
	}
	for _, v := range right {
		away = append(away, math.Abs(v-atRight))
	}
	limit := clip * madToSigma * median(away)
	if limit == 0 {
		// More than half of the results are equal: nothing is known of the spread of the others.
		return left, right
	}
	return within(left, atLeft, limit), within(right, atRight, limit)
}

func within(values []float64, center, limit float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = min(max(v, center-limit), center+limit)
	}
	return out
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func squares(values []float64, mean float64) float64 {
	var sum float64
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return sum
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}
