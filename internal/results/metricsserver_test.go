package results

import (
	"strings"
	"testing"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// scraped gives the sidecar a reading each second, and windows as metrics-server makes them, dated by so much too early; what they say is
// the truth times a factor.
func scraped(early time.Duration, factor float64) func(*Input) {
	return func(in *Input) {
		r := in.Report
		ends := r.Usage[0].Readings
		r.Usage[0].Readings = nil
		for i := 0; i < len(ends); i += 2 {
			for s := range 11 {
				at := ends[i].Time.Add(time.Duration(s) * time.Second)
				used, _ := between(ends, ends[i].Time, at)
				r.Usage[0].Readings = append(r.Usage[0].Readings, measure.Reading{Block: ends[i].Block, Time: at,
					CPUSeconds: ends[i].CPUSeconds + used, Resident: 50 << 20})
			}
		}
		const length = 15 * time.Second
		for from := begin; from.Add(length + early).Before(begin.Add(120 * time.Second)); from = from.Add(length) {
			used, ok := between(r.Usage[0].Readings, from.Add(early), from.Add(early+length))
			if !ok {
				panic("the readings do not reach")
			}
			r.Windows = append(r.Windows, measure.Window{Component: "targetSidecar", Pod: "tg", End: from.Add(length), Length: length,
				CPU: factor * used / length.Seconds(), WorkingSet: 50 << 20})
		}
	}
}

func TestMetricsServerIsAllowedItsDates(t *testing.T) {
	for name, c := range map[string]struct {
		early  time.Duration
		factor float64
		apart  bool
	}{
		"dated as it is":       {0, 1, false},
		"dated 7 s too early":  {7 * time.Second, 1, false},
		"dated 15 s too early": {15 * time.Second, 1, false},
		"5% more":              {7 * time.Second, 1.05, false},
		"40% more":             {7 * time.Second, 1.4, true},
		"40% less":             {0, 0.6, true},
	} {
		t.Run(name, func(t *testing.T) {
			out := build(t, synthetic(t, scraped(c.early, c.factor)))
			check := out.Usage[0].CrossChecks[0]
			if check.ComparedCPU == nil {
				t.Fatalf("%+v", check)
			}
			truth := check.CPU.AsApproximateFloat64() / c.factor
			if low, high := check.ComparedLow.AsApproximateFloat64(), check.ComparedHigh.AsApproximateFloat64(); truth < low-0.001 || truth > high+0.001 || high > 1.25*low {
				t.Errorf("the truth %.3f is not between %s and %s", truth, check.ComparedLow, check.ComparedHigh)
			}
			var warned []string
			for _, w := range out.Warnings {
				if w.Reason == v1alpha1.ReasonMetricsServerDisagrees {
					warned = append(warned, w.Message)
				}
			}
			if (len(warned) > 0) != c.apart || c.apart && !strings.Contains(warned[0], "more than 10% apart") {
				t.Errorf("warnings %q", warned)
			}
		})
	}
}

func TestTinyFiguresOfMetricsServerAreNotJudged(t *testing.T) {
	out := build(t, synthetic(t, func(in *Input) {
		readings := in.Report.Usage[0].Readings
		for i := range readings {
			readings[i].CPUSeconds /= 100
		}
	}, scraped(0, 2)))
	if check := out.Usage[0].CrossChecks[0]; check.ComparedCPU == nil || len(out.Warnings) != 0 {
		t.Errorf("%+v, warnings %+v", check, out.Warnings)
	}
}
