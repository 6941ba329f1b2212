package chart

import (
	"math"
	"strconv"
)

// scale places values between two ends of a drawing.
type scale struct {
	low, high float64
	from, to  float64
	log       bool
}

func (s scale) at(v float64) float64 {
	low, high := s.low, s.high
	if s.log {
		low, high, v = math.Log10(low), math.Log10(high), math.Log10(max(v, s.low))
	}
	return s.from + (v-low)/(high-low)*(s.to-s.from)
}

// fit makes the scale of an axis for values from low to high, and its ticks. One that is not logarithmic begins at 0, as differences
// would look larger than they are; values below 0 are shown as well.
func (a Axis) fit(low, high, from, to float64) (scale, []Tick) {
	s := scale{low: low, high: high, from: from, to: to, log: a.Log}
	switch {
	case a.Ticks != nil:
		s.low, s.high = min(low, a.Ticks[0].At-a.Pad), max(high, a.Ticks[len(a.Ticks)-1].At+a.Pad)
		if s.low == s.high {
			s.low, s.high = s.low-1, s.high+1
		}
		return s, a.Ticks
	case a.Log:
		return fitLog(s)
	case a.Tight:
		return a.fitTight(s)
	}
	s.low, s.high = min(0, low), max(0, high)
	if s.low == s.high {
		s.high = 1
	}
	step := niceStep((s.high - s.low) / 5)
	if a.Whole {
		step = max(1, math.Ceil(step))
	}
	s.low, s.high = math.Floor(s.low/step)*step, math.Ceil(s.high/step)*step
	return s, ticksBetween(s, step)
}

func (a Axis) fitTight(s scale) (scale, []Tick) {
	s.low = min(0, s.low)
	if s.low == s.high {
		s.high = s.low + 1
	}
	return s, ticksBetween(s, niceStep((s.high-s.low)/7))
}

// ticksBetween the ends of a scale are the multiples of step.
func ticksBetween(s scale, step float64) (ticks []Tick) {
	// A hair's breadth, since a step is no exact binary number.
	for i := math.Ceil(s.low/step - 1e-9); i*step <= s.high+1e-9*step; i++ {
		ticks = append(ticks, Tick{i * step, Number(i * step)})
	}
	return ticks
}

// fitLog widens the scale to the next of 1, 2 and 5 times a power of ten.
func fitLog(s scale) (scale, []Tick) {
	var ticks []Tick
	for power := math.Floor(math.Log10(s.low)) - 1; power <= math.Ceil(math.Log10(s.high))+1; power++ {
		for _, digit := range []float64{1, 2, 5} {
			v := digit * math.Pow(10, power)
			ticks = append(ticks, Tick{v, Number(v)})
		}
	}
	first, last := 0, len(ticks)-1
	for first < last && ticks[first+1].At <= s.low {
		first++
	}
	for last > first+1 && ticks[last-1].At >= s.high {
		last--
	}
	ticks = ticks[first : last+1]
	s.low, s.high = ticks[0].At, ticks[len(ticks)-1].At
	if len(ticks) > 8 {
		var tens []Tick
		for _, t := range ticks {
			if math.Abs(math.Log10(t.At)-math.Round(math.Log10(t.At))) < 1e-9 {
				tens = append(tens, t)
			}
		}
		ticks = tens
	}
	return s, ticks
}

// niceStep is 1, 2 or 5 times a power of ten, and at least about v.
func niceStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, digit := range []float64{1, 2, 5} {
		if digit*power >= v*0.999 {
			return digit * power
		}
	}
	return 10 * power
}

// Number writes v with three significant digits, and no more than it has.
func Number(v float64) string {
	if math.Abs(v) < 1e-12 {
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	power := math.Pow(10, float64(digits))
	return strconv.FormatFloat(math.Round(v*power)/power, 'f', -1, 64)
}
