package results

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

const (
	// minWindows: one window of metrics-server is an accident.
	minWindows = 2

	// undated is by how much later than it says metrics-server may have looked at a container: it dates a whole pod by the container that
	// the kubelet looked at first, and the kubelet looks at each every 10 to 15 s.
	undated     = 15 * time.Second
	undatedStep = time.Second

	// maxApart is the part of the exact counters' figure by which metrics-server's may differ without a warning, beyond what its dates leave open.
	maxApart = 0.1
	// minCompared is the CPU below which the two are not judged: a tenth of it is less than 1m.
	minCompared = 0.01
)

// metricsServer puts metrics-server's figure beside our own over the very same windows. They are about 15 s long and know nothing of blocks,
// so they span both arms; what makes the two comparable is that our counters are cumulative and can be read off at any moment.
func metricsServer(in Input, c Component, s *measure.Series) v1alpha1.CrossCheck {
	if in.MetricsServer != "" {
		return v1alpha1.CrossCheck{Source: v1alpha1.SourceMetricsServer, Note: in.MetricsServer}
	}
	windows := windowsOf(in.Report, c)
	out := v1alpha1.CrossCheck{Source: v1alpha1.SourceMetricsServer, Windows: int32(len(windows))}
	if len(windows) < minWindows {
		out.Note = fmt.Sprintf("unavailable: %d of metrics-server's windows lie wholly within the measurement, at least %d are needed", len(windows), minWindows)
		return out
	}
	var sets []float64
	var cpu, length float64
	for _, w := range windows {
		cpu += w.CPU * w.Length.Seconds()
		length += w.Length.Seconds()
		sets = append(sets, float64(w.WorkingSet))
	}
	out.CPU, out.Memory = milli(cpu/length), memory(v1alpha1.MemoryWorkingSet, sets)
	if s == nil {
		return out
	}
	if ours, low, high, ok := compared(spansOf(windows), s.Readings); ok {
		out.ComparedCPU, out.ComparedLow, out.ComparedHigh = milli(ours), milli(low), milli(high)
	}
	return out
}

// windowsOf a component are those that lie wholly within the measurement, in order of time. A window with the very CPU of the one before,
// to the nanocore, is the same look at this container under another date, which the pod has from another one.
func windowsOf(r *measure.Report, c Component) []measure.Window {
	var out []measure.Window
	for _, w := range r.Windows {
		if w.Component == string(c.Component) && w.Pod == c.Pod && within(r, w) {
			out = append(out, w)
		}
	}
	slices.SortFunc(out, func(a, b measure.Window) int { return a.End.Compare(b.End) })
	return slices.CompactFunc(out, func(a, b measure.Window) bool { return a.CPU == b.CPU && a.CPU > 0 })
}

func within(r *measure.Report, w measure.Window) bool {
	if len(r.Blocks) == 0 {
		return false
	}
	return !w.End.Add(-w.Length).Before(r.Blocks[0].Start) && !w.End.After(r.Blocks[len(r.Blocks)-1].End)
}

// span of time that windows cover without a gap.
type span struct{ from, until time.Time }

// spansOf windows in order of time. What their dates leave open is no gap.
func spansOf(windows []measure.Window) []span {
	var out []span
	for _, w := range windows {
		from := w.End.Add(-w.Length)
		if last := len(out) - 1; last >= 0 && !from.After(out[last].until.Add(undated)) {
			out[last].until = w.End
			continue
		}
		out = append(out, span{from, w.End})
	}
	return out
}

// compared is the mean vCPU over the spans as they are dated, and the least and the most that it can be if each really began, and ended, up
// to 15 s later. Not ok where the readings do not reach.
func compared(spans []span, readings []measure.Reading) (ours, low, high float64, ok bool) {
	if ours, ok = meanOver(spans, readings, 0, 0); !ok {
		return 0, 0, 0, false
	}
	low, high = ours, ours
	for begun := time.Duration(0); begun <= undated; begun += undatedStep {
		for ended := time.Duration(0); ended <= undated; ended += undatedStep {
			if mean, ok := meanOver(spans, readings, begun, ended); ok {
				low, high = min(low, mean), max(high, mean)
			}
		}
	}
	return ours, low, high, true
}

// meanOver is the mean vCPU over spans that begin and end so much later.
func meanOver(spans []span, readings []measure.Reading, begun, ended time.Duration) (float64, bool) {
	var cpu, seconds float64
	for _, s := range spans {
		from, until := s.from.Add(begun), s.until.Add(ended)
		used, ok := between(readings, from, until)
		if !ok || !from.Before(until) {
			return 0, false
		}
		cpu, seconds = cpu+used, seconds+until.Sub(from).Seconds()
	}
	return cpu / seconds, seconds > 0
}

// between is the CPU seconds used from one moment to another, the cumulative counter taken as linear between two readings.
// False where the readings do not reach, or where the counter went back.
func between(readings []measure.Reading, from, to time.Time) (float64, bool) {
	a, okA := at(readings, from)
	b, okB := at(readings, to)
	return b - a, okA && okB && b >= a
}

func at(readings []measure.Reading, t time.Time) (float64, bool) {
	i := sort.Search(len(readings), func(i int) bool { return !readings[i].Time.Before(t) })
	switch {
	case i == len(readings):
		return 0, false
	case readings[i].Time.Equal(t):
		return readings[i].CPUSeconds, true
	case i == 0:
		return 0, false
	}
	before, after := readings[i-1], readings[i]
	share := t.Sub(before.Time).Seconds() / after.Time.Sub(before.Time).Seconds()
	return before.CPUSeconds + share*(after.CPUSeconds-before.CPUSeconds), true
}

// contradicted warns where metrics-server and the exact counters differ by more than its dates explain.
func contradicted(usage []v1alpha1.Usage) []v1alpha1.Reason {
	var out []v1alpha1.Reason
	for _, u := range usage {
		for _, check := range u.CrossChecks {
			if check.Source != v1alpha1.SourceMetricsServer || check.ComparedCPU == nil {
				continue
			}
			theirs, ours := check.CPU.AsApproximateFloat64(), check.ComparedCPU.AsApproximateFloat64()
			low, high := check.ComparedLow.AsApproximateFloat64(), check.ComparedHigh.AsApproximateFloat64()
			if ours < minCompared || theirs >= (1-maxApart)*low && theirs <= (1+maxApart)*high {
				continue
			}
			out = append(out, v1alpha1.Reason{Reason: v1alpha1.ReasonMetricsServerDisagrees, Message: fmt.Sprintf(
				"metrics-server gives %s in pod %s a CPU of %s, the exact counters %s over the same time (%s to %s, since it dates its windows up to %s too early): more than %.0f%% apart",
				u.Component, u.Pod, check.CPU, check.ComparedCPU, check.ComparedLow, check.ComparedHigh, undated, 100*maxApart)})
		}
	}
	return out
}
