package rawdata

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fortio.org/fortio/fhttp"
	"github.com/google/go-cmp/cmp"

	"perfrun.dev/perfrun/internal/measure"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got): %s", path, diff)
	}
}

func TestGolden(t *testing.T) {
	d := document(t)
	dapr := Selection{Arm: measure.Dapr}
	group := func() *Group {
		groups, err := d.Groups(dapr)
		if err != nil || len(groups) != 1 {
			t.Fatal(groups, err)
		}
		return groups[0]
	}
	for name, write := range map[string]func(w io.Writer) error{
		"percentiles.txt": func(w io.Writer) error {
			return d.WritePercentiles(w, Selection{}, []float64{50, 99, 99.9, 99.99, 100})
		},
		"requests.csv": func(w io.Writer) error { return d.WriteRequests(w, Selection{}) },
		"usage.csv":    func(w io.Writer) error { return d.WriteUsage(w, dapr) },
		"dapr.hgrm":    func(w io.Writer) error { return WriteHGRM(w, group(), Response) },
		"dapr.json":    func(w io.Writer) error { return d.WriteFortio(w, group(), Response) },
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := write(&out); err != nil {
				t.Fatal(err)
			}
			golden(t, name, out.Bytes())
		})
	}
}

// What we write is read by Fortio's own type without a field that it does not know, and its arithmetic comes to our percentiles.
func TestFortioReadsIt(t *testing.T) {
	file, err := Encode(invoke, noisyReport(t, 3, 10), Budget)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Decode(file.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	d.Report.Blocks[1].Errors = map[int]int64{503: 7, -1: 2}
	groups, err := d.Groups(Selection{Arm: measure.Dapr})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := d.WriteFortio(&out, groups[0], Response); err != nil {
		t.Fatal(err)
	}
	var res fhttp.HTTPRunnerResults
	dec := json.NewDecoder(&out)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&res); err != nil {
		t.Fatal(err)
	}
	if res.RunType != "HTTP" || res.NumThreads != 16 || res.RequestedQPS != "1000" || !res.StartTime.Equal(begin.Add(10*time.Second)) ||
		res.RequestedDuration != "30s" || res.ActualDuration != 30*time.Second || math.Abs(res.ActualQPS-1000.3) > 1e-9 ||
		res.RetCodes[200] != 30000 || res.RetCodes[503] != 7 || res.RetCodes[-1] != 2 || !strings.Contains(res.Labels, "9 of 30009 requests failed") {
		t.Errorf("%+v", res)
	}
	h := res.DurationHistogram
	if h.Count != 30000 || h.Data[0].Start != h.Min || h.Data[len(h.Data)-1].End != h.Max || h.Data[len(h.Data)-1].Percent != 100 {
		t.Errorf("count %d, min %g, max %g, first %+v, last %+v", h.Count, h.Min, h.Max, h.Data[0], h.Data[len(h.Data)-1])
	}
	var total int64
	for i, b := range h.Data {
		total += b.Count
		if b.End < b.Start || i > 0 && b.Start < h.Data[i-1].End-1e-12 {
			t.Errorf("bucket %d: %+v after %+v", i, b, h.Data[max(0, i-1)])
		}
	}
	if total != h.Count {
		t.Errorf("the buckets hold %d", total)
	}
	for _, p := range h.Percentiles {
		if got := h.CalcPercentile(p.Percentile); math.Abs(got/p.Value-1) > 0.003 {
			t.Errorf("p%g: Fortio comes to %g, we to %g", p.Percentile, got, p.Value)
		}
	}
	if len(h.Percentiles) != 6 {
		t.Errorf("percentiles %v", h.Percentiles)
	}
}

func TestFortioOverGRPC(t *testing.T) {
	d := document(t)
	d.Report.URLs = map[measure.Arm]string{measure.Dapr: "grpc://127.0.0.1:50001/perfrun.v1.Echo/Echo"}
	d.Report.Blocks[1].Errors = map[int]int64{measure.FirstGRPCCode + 14: 7, -1: 2}
	groups, err := d.Groups(Selection{Arm: measure.Dapr})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := d.WriteFortio(&out, groups[0], Response); err != nil {
		t.Fatal(err)
	}
	// Fortio's own results over gRPC have names instead of statuses too, and its pages take OK for a good answer.
	var res struct {
		RunType, URL string
		RetCodes     map[string]int64
	}
	if err := json.Unmarshal(out.Bytes(), &res); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"OK": groups[0].Succeeded, "Unavailable": 7, "-1": 2}
	if diff := cmp.Diff(want, res.RetCodes); diff != "" || res.RunType != "GRPC" || res.URL != d.Report.URLs[measure.Dapr] {
		t.Errorf("%+v %s", res, diff)
	}
}

func TestFortioWithoutAnyAnswer(t *testing.T) {
	d := document(t)
	b := &d.Report.Blocks[0]
	b.Succeeded, b.Errors, b.Response = 0, map[int]int64{-1: 2000}, spikes(t, 0, 0)
	groups, err := d.Groups(Selection{Blocks: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := d.WriteFortio(&out, groups[0], Response); err != nil {
		t.Fatal(err)
	}
	var res fhttp.HTTPRunnerResults
	if err := json.Unmarshal(out.Bytes(), &res); err != nil || res.DurationHistogram.Count != 0 || res.RetCodes[-1] != 2000 {
		t.Errorf("%+v, %v", res, err)
	}
}

// sweep has two points of 8 connections and one of 16, with two pairs each.
func sweep(t *testing.T) *Document {
	t.Helper()
	d := document(t)
	original := d.Report.Blocks
	d.Report.Blocks = nil
	for point, connections := range []int{16, 8, 8} {
		for pair := range 2 {
			for _, b := range original {
				b.Point, b.Connections, b.Pair = point, connections, pair
				d.Report.Blocks = append(d.Report.Blocks, b)
			}
		}
	}
	return d
}

func TestGroups(t *testing.T) {
	tests := map[string]struct {
		selection Selection
		names     []string
		blocks    int
	}{
		"everything": {Selection{}, []string{"invoke-16-baseline", "invoke-16-dapr", "invoke-8-baseline", "invoke-8-dapr",
			"invoke-point2-8-baseline", "invoke-point2-8-dapr"}, 2},
		"an arm":               {Selection{Arm: measure.Dapr}, []string{"invoke-16-dapr", "invoke-8-dapr", "invoke-point2-8-dapr"}, 2},
		"a point":              {Selection{Connections: 16}, []string{"invoke-16-baseline", "invoke-16-dapr"}, 2},
		"a point's arm":        {Selection{Connections: 16, Arm: measure.Baseline}, []string{"invoke-16-baseline"}, 2},
		"blocks":               {Selection{Blocks: []int{1, 3}}, []string{"invoke-16-dapr"}, 2},
		"a block":              {Selection{Blocks: []int{11}}, []string{"invoke-8-dapr"}, 1},
		"the same block twice": {Selection{Blocks: []int{0, 0}}, []string{"invoke-16-baseline"}, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			groups, err := sweep(t).Groups(tc.selection)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, g := range groups {
				names = append(names, g.Name)
				want := int64(1998)
				if g.Arm == measure.Baseline {
					want = 2000
				}
				n := int64(tc.blocks)
				if g.Blocks != tc.blocks || g.Succeeded != n*want || g.Histograms[Response].Count() != n*want || g.Succeeded+g.Failed() != n*2000 ||
					g.Load != 5*time.Second*time.Duration(n) || g.Histograms[Lag].Count() != n*2000 {
					t.Errorf("%s: %+v", g.Name, g)
				}
			}
			if diff := cmp.Diff(tc.names, names); diff != "" {
				t.Error("(-want +got):", diff)
			}
		})
	}
}

func TestNothingSelected(t *testing.T) {
	d := document(t)
	for says, s := range map[string]Selection{
		"there is no block 2":   {Blocks: []int{2}},
		"there is no block -1":  {Blocks: []int{-1}},
		"Dapr at 4 connections": {Connections: 16},
		"Baseline at 4":         {Blocks: []int{0}, Arm: measure.Dapr},
	} {
		for _, write := range []func() error{
			func() error { _, err := d.Groups(s); return err },
			func() error { return d.WriteRequests(io.Discard, s) },
			func() error { return d.WriteUsage(io.Discard, s) },
			func() error { return d.WritePercentiles(io.Discard, s, nil) },
		} {
			if err := write(); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%+v: got %v, want it to say %q", s, err, says)
			}
		}
	}
}
