package changepoint

import (
	"math"
	"slices"
)

// maxRankP is the largest p-value of a rank test on a change. It asks little of a real one (five results that lie above ten others have
// 0.002), and much of two outliers among five, which the t-test sees as a shift of the five.
const maxRankP = 0.01

// rankP is the two-sided p-value of the test of Mann and Whitney (1947), by the normal approximation with ties.
func rankP(left, right []float64) float64 {
	n, m := float64(len(left)), float64(len(right))
	all := slices.Concat(left, right)
	slices.Sort(all)
	// ties is the sum of t^3-t over the groups of t equal results, rank the middle one of each group.
	var ties float64
	ranks := map[float64]float64{}
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j] == all[i] {
			j++
		}
		t := float64(j - i)
		ties += t*t*t - t
		ranks[all[i]] = float64(i+j+1) / 2
		i = j
	}
	u := -m * (m + 1) / 2
	for _, v := range right {
		u += ranks[v]
	}
	variance := n * m / 12 * (n + m + 1 - ties/((n+m)*(n+m-1)))
	if variance <= 0 {
		return 1
	}
	return math.Erfc(math.Abs(u-n*m/2) / math.Sqrt(2*variance))
}
