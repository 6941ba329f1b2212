package results

import (
	"slices"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/stats"
)

// together is what both sidecars took in one block: their mean vCPU, and the sum of the largest resident memory of each. With several load
// testers, "both" are all of theirs and the target's.
type together struct{ cpu, memory float64 }

// bothSidecars tells it for each block, by its index in the report, in which both were read at both ends.
func bothSidecars(in Input) map[int]together {
	sums, found, all := map[int]together{}, map[int]int{}, 0
	for _, c := range in.Components {
		if !slices.Contains(sidecars, c.Component) {
			continue
		}
		all++
		for i, own := range readIn(in.Report, c) {
			sum := sums[i]
			sums[i] = together{sum.cpu + own.cpu, sum.memory + own.memory}
			found[i]++
		}
	}
	for i, n := range found {
		if n < max(all, len(sidecars)) {
			delete(sums, i)
		}
	}
	return sums
}

// readIn is what one component took in each block in which one of its sources was read at both ends, /proc before its own metrics.
func readIn(r *measure.Report, c Component) map[int]together {
	out := map[int]together{}
	for _, s := range seriesOf(r, c) {
		for i, readings := range byBlock(s) {
			if _, known := out[i]; known {
				continue
			}
			if used, seconds, ok := usedIn(readings); ok {
				out[i] = together{used / seconds, largest(readings)}
			}
		}
	}
	return out
}

func byBlock(s *measure.Series) map[int][]measure.Reading {
	out := map[int][]measure.Reading{}
	for _, reading := range s.Readings {
		out[reading.Block] = append(out[reading.Block], reading)
	}
	return out
}

// usedIn is the CPU time between the first and the last reading of a block, and the time between them. Not ok where there are no two
// readings, or where the counter went back: the process restarted.
func usedIn(readings []measure.Reading) (cpu, seconds float64, ok bool) {
	if len(readings) < 2 {
		return 0, 0, false
	}
	first, last := readings[0], readings[len(readings)-1]
	cpu, seconds = last.CPUSeconds-first.CPUSeconds, last.Time.Sub(first.Time).Seconds()
	return cpu, seconds, cpu >= 0 && seconds > 0
}

func largest(readings []measure.Reading) float64 {
	var most int64
	for _, r := range readings {
		most = max(most, r.Resident)
	}
	return float64(most)
}

// cpuPerRequest is both sidecars' vCPU for 1000 successful requests per second, in each block in which it is known.
func cpuPerRequest(r *measure.Report, blocks []block, both map[int]together) []float64 {
	var out []float64
	for _, b := range blocks {
		t, ok := both[b.index]
		if rps := rate(b.Succeeded, loadSeconds(r, b.BlockReport)); ok && rps > 0 {
			out = append(out, t.cpu/rps*1000)
		}
	}
	return out
}

func addedCPU(values []float64) *v1alpha1.AddedCPU {
	if len(values) == 0 {
		return nil
	}
	out := &v1alpha1.AddedCPU{Value: *milli(stats.Median(values)), Pairs: int32(len(values))}
	interval, ok := stats.MedianInterval(values)
	if !ok {
		out.Note = noInterval(len(values))
		return out
	}
	out.Low, out.High, out.Detectable = milli(interval.Low), milli(interval.High), milli(interval.Detectable())
	return out
}
