package changepoint

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// wave is n results around a level, alternating by 2% of it: what is known of it is exact.
func wave(level float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = level * (1 + 0.02*float64(1-2*(i%2)))
	}
	return out
}

func indices(changes []Change) []int {
	var out []int
	for _, c := range changes {
		out = append(out, c.Index)
	}
	return out
}

func TestDetect(t *testing.T) {
	spoilt := func(values []float64, factor float64, at ...int) []float64 {
		for _, i := range at {
			values[i] *= factor
		}
		return values
	}
	for _, c := range []struct {
		name   string
		values []float64
		want   []int
	}{
		{"nothing", nil, nil},
		{"too few", wave(1, 5), nil},
		{"one level", wave(1, 100), nil},
		{"equal results", slices.Repeat([]float64{7}, 40), nil},
		{"a step", slices.Concat(wave(1, 20), wave(1.5, 20)), []int{20}},
		{"a step between equal results", slices.Concat(slices.Repeat([]float64{7}, 20), slices.Repeat([]float64{8}, 20)), []int{20}},
		{"a step down", slices.Concat(wave(3, 20), wave(1, 20)), []int{20}},
		{"a step with the fewest results after it", slices.Concat(wave(1, 20), wave(1.5, 5)), []int{20}},
		{"fewer after it", slices.Concat(wave(1, 20), wave(1.5, 4)), nil},
		{"there and back", slices.Concat(wave(1, 30), wave(2, 8), wave(1, 30)), []int{30, 38}},
		{"a stair longer than a window", slices.Concat(wave(1, 70), wave(1.3, 70), wave(1.7, 70)), []int{70, 140}},
		{"less than the smallest change", slices.Concat(wave(1, 50), wave(1.04, 50)), nil},
		{"around zero", slices.Concat(wave(-1, 10), wave(1, 10), wave(-1, 10)), []int{10, 20}},
		{"from nothing", slices.Concat(make([]float64, 15), wave(1, 15)), []int{15}},
		{"one outlier", spoilt(wave(1, 60), 20, 30), nil},
		{"an outlier at the end", spoilt(wave(1, 60), 20, 59), nil},
		{"two outliers among the last five", spoilt(wave(1, 60), 3, 56, 59), nil},
		{"a step in spite of outliers", spoilt(slices.Concat(wave(1, 30), wave(1.3, 30)), 10, 12, 40), []int{30}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := slices.Clone(c.values)
			changes := Detect(c.values, Default())
			if diff := cmp.Diff(c.want, indices(changes)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, c.values); diff != "" {
				t.Errorf("the argument was changed:\n%s", diff)
			}
			if diff := cmp.Diff(changes, Detect(c.values, Default())); diff != "" {
				t.Errorf("the second time is another:\n%s", diff)
			}
		})
	}
}

func about(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestChange(t *testing.T) {
	changes := Detect(slices.Concat(wave(2, 40), wave(3, 40)), Default())
	if len(changes) != 1 {
		t.Fatalf("%d changes", len(changes))
	}
	c := changes[0]
	// The geometric mean of 1.02 and 0.98 is 0.9998.
	about(t, "before", c.Before, 2*0.9998, 1e-4)
	about(t, "after", c.After, 3*0.9998, 1e-4)
	about(t, "size", c.Size, 0.5, 1e-9)
	// The logarithms lie 0.0200027 from their mean: a standard deviation of 0.0202575 with 78 degrees of freedom, 1.99085 of which times sqrt(2/40).
	about(t, "low", c.Low, 1.5*math.Exp(-0.0090180)-1, 1e-6)
	about(t, "high", c.High, 1.5*math.Exp(0.0090180)-1, 1e-6)
}

func TestCompare(t *testing.T) {
	c, ok := Compare([]float64{-1, 0, 1}, []float64{1, 2, 3})
	if !ok {
		t.Fatal("not compared")
	}
	about(t, "before", c.Before, 0, 1e-12)
	about(t, "after", c.After, 2, 1e-12)
	about(t, "a change from nothing", c.Size, 1, 1e-12)
	if _, ok := Compare([]float64{1, 2}, []float64{3}); ok {
		t.Error("one result was compared")
	}
}

// The examples are worked by hand: a difference of 2, a common variance of 2.5, t = 2 with 8 degrees of freedom; and by R's pt and qt.
func TestTTest(t *testing.T) {
	c := compare([]float64{1, 2, 3, 4, 5}, []float64{3, 4, 5, 6, 7})
	about(t, "the difference", c.difference(), 2, 1e-12)
	about(t, "p", c.p, 0.080516, 1e-6)
	about(t, "half the interval", c.half, 2.306004, 1e-6)
	if p := compare([]float64{1, 1}, []float64{1, 1}).p; p != 1 {
		t.Errorf("equal results differ with p = %v", p)
	}
	if p := compare([]float64{1, 1}, []float64{2, 2}).p; p != 0 {
		t.Errorf("results without noise differ with p = %v", p)
	}
}

func TestDrawnIn(t *testing.T) {
	// The deviations from the medians 3 and 13 are 0, 1, 1, 2, 97 and 0, 1, 1, 2, 2: their median is 1.
	left, right := drawnIn([]float64{1, 2, 3, 4, 100}, []float64{11, 12, 13, 14, 15})
	if diff := cmp.Diff([]float64{1, 2, 3, 4, 3 + clip*madToSigma}, left, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("before (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{11, 12, 13, 14, 15}, right); diff != "" {
		t.Errorf("after (-want +got):\n%s", diff)
	}
}

func TestRankTest(t *testing.T) {
	// Five above ten: U is 0 of a mean of 25 and a standard deviation of sqrt(50*16/12).
	about(t, "p", rankP([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, []float64{11, 12, 13, 14, 15}), 0.0022, 1e-4)
	if p := rankP([]float64{1, 1}, []float64{1, 1}); p != 1 {
		t.Errorf("equal results differ with p = %v", p)
	}
}

func TestDivergence(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, 20)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	w := newWindow(x)
	distance := func(a, b []float64) (sum float64) {
		for _, v := range a {
			for _, u := range b {
				sum += math.Abs(v - u)
			}
		}
		return sum
	}
	for from := range 3 {
		for tau := from + 2; tau < len(x)-2; tau++ {
			for kappa := tau + 2; kappa <= len(x); kappa++ {
				a, b := x[from:tau], x[tau:kappa]
				n, m := float64(len(a)), float64(len(b))
				// As Otava writes it: distances within a side over the number of its pairs.
				want := n * m / (n + m) * (2/(n*m)*distance(a, b) - distance(a, a)/2/(n*(n-1)/2) - distance(b, b)/2/(m*(m-1)/2))
				if got := w.divergence(from, tau, kappa); math.Abs(got-want) > 1e-9 {
					t.Fatalf("[%d,%d,%d): %v, want %v", from, tau, kappa, got, want)
				}
			}
		}
	}
}
