package rawdata

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"perfrun.dev/perfrun/internal/measure"
)

// ErrNoSeries: the document has no timelines.
var ErrNoSeries = errors.New("there was no room for the blocks' series in the raw data (seriesStep 0); the histograms are whole")

// WriteRequests writes the selected blocks' timelines as CSV: a line for each interval, with the load tester's pod where there were several.
func (d *Document) WriteRequests(w io.Writer, s Selection) error {
	indexes, err := d.selected(s)
	if err != nil {
		return err
	}
	if d.SeriesStep == 0 {
		return ErrNoSeries
	}
	rows := [][]string{{"block", "arm", "connections", "pair", "second", "time", "requests", "errors", "p50_us", "p99_us", "load_tester"}}
	for _, i := range indexes {
		for _, t := range timelines(d.Report.Blocks[i], d.SeriesStep) {
			rows = append(rows, d.intervals(i, t)...)
		}
	}
	return write(w, rows)
}

func (d *Document) intervals(block int, t measure.Timeline) [][]string {
	b := d.Report.Blocks[block]
	start, pod := b.Start, ""
	if len(b.Replicas) > 0 {
		start, pod = b.Replicas[t.Replica].Start, d.Report.Replicas[t.Replica].Pod
	}
	rows := make([][]string, len(t.Requests))
	for at := range t.Requests {
		var failed int64
		if t.Errors != nil {
			failed = t.Errors[at]
		}
		second := at * t.Step
		rows[at] = append(blockCells(block, b), strconv.Itoa(second), instant(start.Add(time.Duration(second)*time.Second)),
			integer(t.Requests[at]), integer(failed), known(t.P50[at]), known(t.P99[at]), pod)
	}
	return rows
}

// WriteUsage writes the readings of usage in the selected blocks as CSV: a line for each reading, cpu being the mean vCPU since the one
// before in the same block.
func (d *Document) WriteUsage(w io.Writer, s Selection) error {
	indexes, err := d.selected(s)
	if err != nil {
		return err
	}
	rows := [][]string{{"block", "arm", "connections", "pair", "component", "pod", "source", "second", "time", "cpu_seconds", "cpu", "resident_bytes", "anonymous_bytes"}}
	for _, one := range d.Report.Usage {
		for i, r := range one.Readings {
			if !slices.Contains(indexes, r.Block) {
				continue
			}
			b := d.Report.Blocks[r.Block]
			cpu := ""
			if i > 0 && one.Readings[i-1].Block == r.Block {
				cpu = meanCPU(one.Readings[i-1], r)
			}
			rows = append(rows, append(blockCells(r.Block, b), one.Component, one.Pod, string(one.Source),
				decimal(r.Time.Sub(b.Start).Seconds()), instant(r.Time), decimal(r.CPUSeconds), cpu, integer(r.Resident), integer(r.Anonymous)))
		}
	}
	return write(w, rows)
}

func meanCPU(before, after measure.Reading) string {
	seconds := after.Time.Sub(before.Time).Seconds()
	if seconds <= 0 {
		return ""
	}
	return decimal((after.CPUSeconds - before.CPUSeconds) / seconds)
}

func write(w io.Writer, rows [][]string) error {
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}

func blockCells(index int, b measure.BlockReport) []string {
	return []string{strconv.Itoa(index), string(b.Arm), strconv.Itoa(b.Connections), strconv.Itoa(b.Pair)}
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', 6, 64) }

func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// known is a percentile; empty where an interval has none.
func known(micros int64) string {
	if micros < 0 {
		return ""
	}
	return integer(micros)
}
