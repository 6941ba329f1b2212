package rawdata

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/stats"
)

// Selection of blocks. Zero values select all.
type Selection struct {
	// Blocks by their index in the report.
	Blocks []int
	// Arm to look at.
	Arm measure.Arm
	// Connections to look at.
	Connections int
}

func (s Selection) takes(index int, b measure.BlockReport) bool {
	return (len(s.Blocks) == 0 || slices.Contains(s.Blocks, index)) &&
		(s.Arm == "" || s.Arm == b.Arm) && (s.Connections == 0 || s.Connections == b.Connections)
}

// selected are the indexes of the selected blocks; an error if there is none.
func (d *Document) selected(s Selection) ([]int, error) {
	all := d.Report.Blocks
	for _, i := range s.Blocks {
		if i < 0 || i >= len(all) {
			return nil, fmt.Errorf("there is no block %d: the raw data of %s have %d blocks, counted from 0", i, d.PerfRun, len(all))
		}
	}
	var out []int
	for i, b := range all {
		if s.takes(i, b) {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("nothing is selected: the raw data of %s have blocks of %s", d.PerfRun, d.contents())
	}
	return out, nil
}

// contents are the points and arms that there are.
func (d *Document) contents() string {
	if len(d.Report.Blocks) == 0 {
		return "nothing"
	}
	var parts []string
	for _, b := range d.Report.Blocks {
		if part := fmt.Sprintf("%s at %d connections", b.Arm, b.Connections); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// Histogram says which one of a block.
type Histogram string

// The histograms of a block.
const (
	// Response times, from the moment at which a request was due.
	Response Histogram = "response"
	// Service times, from the actual send.
	Service Histogram = "service"
	// Lag is how late the load tester was to send.
	Lag Histogram = "lag"
)

// Group is all selected blocks of one arm at one point, merged: counts added, histograms without loss.
type Group struct {
	// Name is good for the name of a file: the run's, the connections and the arm.
	Name        string
	Arm         measure.Arm
	Connections int
	Blocks      int
	Start       time.Time
	// Load is the blocks' time from the first request to the last answer, Planned the time that they were to take.
	Load, Planned time.Duration
	Succeeded     int64
	Errors        map[int]int64
	Skipped       int64
	// Histograms, all three.
	Histograms map[Histogram]*stats.Histogram

	point int
}

// Failed is the number of all errors.
func (g *Group) Failed() int64 {
	var n int64
	for _, count := range g.Errors {
		n += count
	}
	return n
}

// Groups merges the selected blocks by point and arm, in the order of the points, Baseline first.
func (d *Document) Groups(s Selection) ([]*Group, error) {
	indexes, err := d.selected(s)
	if err != nil {
		return nil, err
	}
	var groups []*Group
	for _, i := range indexes {
		b := d.Report.Blocks[i]
		at := slices.IndexFunc(groups, func(g *Group) bool { return g.point == b.Point && g.Arm == b.Arm && g.Connections == b.Connections })
		if at < 0 {
			at = len(groups)
			groups = append(groups, newGroup(b))
		}
		if err := groups[at].add(b); err != nil {
			return nil, fmt.Errorf("reading block %d: %w", i, err)
		}
	}
	slices.SortStableFunc(groups, func(a, b *Group) int { return cmp.Or(cmp.Compare(a.point, b.point), cmp.Compare(a.Arm, b.Arm)) })
	name(d.PerfRun.Name, groups)
	return groups, nil
}

// name gives each group a name of its own, with the point in it where several points have the same number of connections.
func name(run string, groups []*Group) {
	taken := map[string]bool{}
	for _, g := range groups {
		g.Name = fmt.Sprintf("%s-%d-%s", run, g.Connections, armName(g.Arm))
		if taken[g.Name] {
			g.Name = fmt.Sprintf("%s-point%d-%d-%s", run, g.point, g.Connections, armName(g.Arm))
		}
		taken[g.Name] = true
	}
}

func newGroup(b measure.BlockReport) *Group {
	return &Group{Arm: b.Arm, Connections: b.Connections, Start: b.Start, point: b.Point, Errors: map[int]int64{},
		Histograms: map[Histogram]*stats.Histogram{Response: stats.NewHistogram(), Service: stats.NewHistogram(), Lag: stats.NewHistogram()}}
}

func (g *Group) add(b measure.BlockReport) error {
	for which, encoded := range map[Histogram][]byte{Response: b.Response, Service: b.Service, Lag: b.Lag} {
		h, err := stats.Decode(encoded)
		if err != nil {
			return fmt.Errorf("its %s histogram: %w", which, err)
		}
		if n := h.Count(); n < 0 || n > b.Planned {
			return fmt.Errorf("its %s histogram holds %d of %d requests", which, n, b.Planned)
		}
		g.Histograms[which].Merge(h)
	}
	g.Blocks++
	g.Load += b.End.Sub(b.Start)
	g.Planned += b.Duration
	g.Succeeded += b.Succeeded
	g.Skipped += b.Skipped
	for code, n := range b.Errors {
		g.Errors[code] += n
	}
	return nil
}
