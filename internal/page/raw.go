package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/chart"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/rawdata"
	"perfrun.dev/perfrun/internal/stats"
)

// fromRaw are the figures that the status has no room for.
func fromRaw(run *v1alpha1.PerfRun, raw *rawdata.Document) ([]drawing, error) {
	if len(raw.Report.Blocks) == 0 {
		return nil, nil
	}
	groups, err := raw.Groups(rawdata.Selection{})
	if err != nil {
		return nil, err
	}
	all := byPercentile(groups)
	dots, err := blockByBlock(run, raw)
	if err != nil {
		return nil, err
	}
	all = append(all, dots...)
	if raw.SeriesStep > 0 {
		all = append(all, overTime(raw))
	}
	return append(all, usageOverTime(run, raw)...), nil
}

// percentTicks of an axis on which p is at log10(1/(1-p)): each step is a tenth of the requests before.
var percentTicks = []chart.Tick{{At: 0, Label: "0%"}, {At: math.Log10(2), Label: "50%"}, {At: 1, Label: "90%"}, {At: 2, Label: "99%"}, {At: 3, Label: "99.9%"}, {At: 4, Label: "99.99%"}}

func percent(x float64) string {
	p := 1 - math.Pow(10, -x)
	return strconv.FormatFloat(100*p, 'f', max(0, int(math.Ceil(x))-1)+1, 64) + "%"
}

// byPercentile shows the whole distributions: one figure for each point.
func byPercentile(groups []*rawdata.Group) (all []drawing) {
	for _, of := range slices.Collect(points(groups)) {
		c := chart.XY{
			Title: fmt.Sprintf("Latency by percentile, %d connections", of[0].Connections),
			Description: "Response time of each arm at every percentile. The axis is stretched towards the slow end: each mark has a tenth of the requests " +
				"of the one before beyond it. It ends where fewer than 10 requests are left.",
			X: chart.Axis{Label: "percentile of requests", Format: percent},
			Y: chart.Axis{Label: "response time in ms", Log: true},
		}
		most := 0.0
		for _, g := range of {
			h := g.Histograms[rawdata.Response]
			s := chart.Series{Name: string(g.Arm), Line: true, Bare: true}
			for x := 0.0; ; x += 0.1 {
				d, ok := h.Quantile(1 - math.Pow(10, -x))
				if !ok && x > 0 || h.Count() == 0 {
					break
				}
				if ok {
					s.Points = append(s.Points, chart.Point{X: x, Y: max(millis(d), 0.001)})
					most = max(most, x)
				}
			}
			c.Series = append(c.Series, s)
		}
		for _, t := range percentTicks {
			if t.At <= most+0.05 {
				c.X.Ticks = append(c.X.Ticks, t)
			}
		}
		if most > 0 {
			all = append(all, c)
		}
	}
	return all
}

// points yields the groups of one point after the other.
func points(groups []*rawdata.Group) func(func([]*rawdata.Group) bool) {
	return func(yield func([]*rawdata.Group) bool) {
		for len(groups) > 0 {
			n := 1
			for n < len(groups) && groups[n].Connections == groups[0].Connections && groups[n].Arm != groups[0].Arm {
				n++
			}
			if !yield(groups[:n]) {
				return
			}
			groups = groups[n:]
		}
	}
}

// blockByBlock shows the p90 of each block, and its median over those that count: whether the blocks agree.
func blockByBlock(run *v1alpha1.PerfRun, raw *rawdata.Document) (all []drawing, err error) {
	byPoint := map[int]*chart.XY{}
	for _, b := range raw.Report.Blocks {
		c := byPoint[b.Point]
		if c == nil {
			c = &chart.XY{
				Title:       fmt.Sprintf("p90 of each block, %d connections", b.Connections),
				Description: "Each mark is one block; the lines are the medians. Equal distances are equal ratios. Hollow marks are blocks that broke a rule and are not counted.",
				X:           chart.Axis{Label: "pair of blocks", Ticks: pairTicks(raw), Pad: 0.5},
				Y:           chart.Axis{Label: "p90 in ms", Log: true},
				Series:      []chart.Series{{Name: string(measure.Baseline)}, {Name: string(measure.Dapr)}},
			}
			byPoint[b.Point] = c
			all = append(all, c)
		}
		h, err := stats.Decode(b.Response)
		if err != nil {
			return nil, fmt.Errorf("reading a block's histogram: %w", err)
		}
		p90, ok := h.Quantile(0.9)
		if !ok {
			continue
		}
		arm := slices.Index([]measure.Arm{measure.Baseline, measure.Dapr}, b.Arm)
		s := &c.Series[arm]
		s.Points = append(s.Points, chart.Point{X: float64(b.Pair + 1), Y: max(millis(p90), 0.001), Hollow: isInvalid(run, b)})
	}
	return all, nil
}

// pairTicks are a dozen at most.
func pairTicks(raw *rawdata.Document) (all []chart.Tick) {
	pairs := 1
	for _, b := range raw.Report.Blocks {
		pairs = max(pairs, b.Pair+1)
	}
	step := (pairs + 11) / 12
	for i := 1; i <= pairs; i += step {
		all = append(all, chart.Tick{At: float64(i), Label: strconv.Itoa(i)})
	}
	return all
}

// acrossBlocks is the lowest and the highest quantile of an arm's blocks at a point, in ms; nil where there are none.
func acrossBlocks(raw *rawdata.Document, point int, arm measure.Arm, q float64) (low, high *float64) {
	if raw == nil {
		return nil, nil
	}
	for _, b := range raw.Report.Blocks {
		if b.Point != point || b.Arm != arm {
			continue
		}
		h, err := stats.Decode(b.Response)
		if err != nil {
			// blockByBlock says so.
			return nil, nil
		}
		if d, ok := h.Quantile(q); ok {
			v := millis(d)
			if low == nil {
				low, high = new(v), new(v)
			}
			*low, *high = min(*low, v), max(*high, v)
		}
	}
	return low, high
}

func isInvalid(run *v1alpha1.PerfRun, b measure.BlockReport) bool {
	return slices.ContainsFunc(run.Status.InvalidBlocks, func(i v1alpha1.InvalidBlock) bool {
		return int(i.Connections) == b.Connections && int(i.Pair) == b.Pair+1 && string(i.Arm) == string(b.Arm)
	})
}

// mostPoints of a line over time: more could not be told apart.
const mostPoints = 400

// shaded is what the figures over time have in common.
const shaded = " The shaded times are the Dapr arm's blocks."

func timeAxis() chart.Axis {
	return chart.Axis{Label: "seconds since the first block began", Tight: true}
}

// overTime is the p99 of each interval of the whole run.
func overTime(raw *rawdata.Document) drawing {
	c := chart.XY{
		Title:       "p99 over time",
		Description: "The p99 of the response times of the requests that were due in each interval of the blocks; of several load testers, the highest." + shaded,
		X:           timeAxis(),
		Y:           chart.Axis{Label: "p99 in ms", Log: true},
		Series:      []chart.Series{{Name: string(measure.Baseline), Line: true, Bare: true}, {Name: string(measure.Dapr), Line: true, Bare: true}},
		Spans:       daprSpans(raw),
	}
	for _, b := range raw.Report.Blocks {
		s := &c.Series[slices.Index([]measure.Arm{measure.Baseline, measure.Dapr}, b.Arm)]
		gap := true
		for i := range b.Timelines[0].P99 {
			highest := int64(-1)
			for _, t := range b.Timelines {
				if i < len(t.P99) {
					highest = max(highest, t.P99[i])
				}
			}
			if highest >= 0 {
				at := since(raw, b.Start) + (float64(i)+0.5)*float64(raw.SeriesStep)
				s.Points = append(s.Points, chart.Point{X: at, Y: max(float64(highest), 1) / 1000, Gap: gap})
				gap = false
			}
		}
	}
	for i := range c.Series {
		c.Series[i].Points = thinned(c.Series[i].Points, func(a, b chart.Point) chart.Point { a.Y = max(a.Y, b.Y); return a })
	}
	return c
}

// daprSpans are the times of the Dapr arm's blocks.
func daprSpans(raw *rawdata.Document) (all []chart.Span) {
	for _, b := range raw.Report.Blocks {
		if b.Arm == measure.Dapr {
			all = append(all, chart.Span{From: since(raw, b.Start), To: since(raw, b.End)})
		}
	}
	return all
}

// since is how many seconds t is after the first block's start.
func since(raw *rawdata.Document, t time.Time) float64 {
	return t.Sub(raw.Report.Blocks[0].Start).Seconds()
}

// thinned joins neighbours until there are few enough points. Gaps stay.
func thinned(points []chart.Point, join func(a, b chart.Point) chart.Point) []chart.Point {
	for len(points) > mostPoints {
		out, joined := points[:0:0], 0
		for i := 0; i < len(points); i++ {
			p := points[i]
			if i+1 < len(points) && !points[i+1].Gap {
				p = join(p, points[i+1])
				i++
				joined++
			}
			out = append(out, p)
		}
		if joined == 0 {
			return points
		}
		points = out
	}
	return points
}

// usageOverTime is the CPU and the memory of each component's pod.
func usageOverTime(run *v1alpha1.PerfRun, raw *rawdata.Document) (all []drawing) {
	for _, of := range []struct {
		name         string
		controlPlane bool
	}{{"the run's pods", false}, {"the control plane", true}} {
		cpu := chart.XY{
			Title: "CPU of " + of.name + " over time", Description: "Mean vCPU between two readings of each process's own counter." + shaded,
			X: timeAxis(), Y: chart.Axis{Label: "vCPU"}, Spans: daprSpans(raw),
		}
		memory := chart.XY{
			Title: "Memory of " + of.name + " over time", Description: "Resident memory at each reading." + shaded,
			X: timeAxis(), Y: chart.Axis{Label: "MiB"}, Spans: daprSpans(raw),
		}
		for _, series := range raw.Report.Usage {
			component := v1alpha1.Component(series.Component)
			if isControlPlane(component) != of.controlPlane || !isMain(run, series) || len(series.Readings) < 2 {
				continue
			}
			used, held := lines(raw, series.Readings)
			name := name(run, component, series.Pod)
			cpu.Series = append(cpu.Series, chart.Series{Name: name, Line: true, Bare: true, Points: used})
			memory.Series = append(memory.Series, chart.Series{Name: name, Line: true, Bare: true, Points: held})
		}
		if len(cpu.Series) > 0 {
			all = append(all, cpu, memory)
		}
	}
	return all
}

// shortest time between two readings that makes a point of a line of CPU, in seconds. Counters of /proc have steps of 10 ms: over less, one step
// more or less would look like a peak.
const shortest = 0.5

// lines of a process's CPU and memory.
func lines(raw *rawdata.Document, readings []measure.Reading) (used, held []chart.Point) {
	from := readings[0]
	newBlock := true
	for i, r := range readings {
		gap := i == 0 || readings[i-1].Block != r.Block
		held = append(held, chart.Point{X: since(raw, r.Time), Y: float64(r.Resident) / (1 << 20), Gap: gap})
		if gap || r.Started != from.Started {
			from, newBlock = r, true
			continue
		}
		if length := r.Time.Sub(from.Time).Seconds(); length >= shortest {
			used = append(used, chart.Point{X: since(raw, r.Time) - length/2, Y: max(0, (r.CPUSeconds-from.CPUSeconds)/length), Gap: newBlock})
			from, newBlock = r, false
		}
	}
	mean := func(a, b chart.Point) chart.Point { a.X, a.Y = (a.X+b.X)/2, (a.Y+b.Y)/2; return a }
	return thinned(used, mean), thinned(held, mean)
}

// isMain tells whether a series is of the source that the status has its figures from.
func isMain(run *v1alpha1.PerfRun, s measure.Series) bool {
	return slices.ContainsFunc(run.Status.Usage, func(u v1alpha1.Usage) bool {
		ofProcess := s.Source == measure.SourcePrometheus
		return string(u.Component) == s.Component && u.Pod == s.Pod && (u.Source == v1alpha1.SourceDaprMetrics) == ofProcess
	})
}
