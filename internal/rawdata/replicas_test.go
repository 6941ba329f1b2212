package rawdata

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"perfrun.dev/perfrun/internal/measure"
)

// The seconds of several load testers are kept for each, and counted from its own start.
func TestSeriesOfSeveralLoadTesters(t *testing.T) {
	report := knownReport(t)
	report.Replicas = []measure.Replica{{Pod: "lt-1"}, {Pod: "lt-2", ClockOffset: time.Second}}
	for i := range report.Blocks {
		b := &report.Blocks[i]
		b.Replicas = []measure.ReplicaBlock{{Start: b.Start}, {Start: b.Start.Add(time.Second)}}
		second := slices.Clone(b.Timelines)
		for j := range second {
			second[j].Replica = 1
		}
		b.Timelines = append(b.Timelines, second...)
	}
	file, err := Encode(invoke, report, Budget)
	if err != nil || file.SeriesStep != 1 {
		t.Fatalf("%+v, %v", file, err)
	}
	d, err := Decode(file.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report.Replicas, d.Report.Replicas); diff != "" {
		t.Error(diff)
	}
	var out strings.Builder
	if err := d.WriteRequests(&out, Selection{Blocks: []int{1}}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 1+2*5 {
		t.Fatalf("%d lines: %s", len(lines), out.String())
	}
	for line, want := range map[int]string{
		1: "1,Dapr,4,0,0,2026-01-02T03:04:15.000Z,400,0,3000,3000,lt-1",
		6: "1,Dapr,4,0,0,2026-01-02T03:04:16.000Z,400,0,3000,3000,lt-2",
	} {
		if lines[line] != want {
			t.Errorf("got %s, want %s", lines[line], want)
		}
	}

	// A step that one of them has not recorded is none of the block's.
	report.Blocks[0].Timelines = slices.DeleteFunc(report.Blocks[0].Timelines, func(line measure.Timeline) bool { return line.Step == 1 && line.Replica == 1 })
	if file, err := Encode(invoke, report, Budget); err != nil || file.SeriesStep != 2 {
		t.Errorf("%+v, %v", file, err)
	}
}
