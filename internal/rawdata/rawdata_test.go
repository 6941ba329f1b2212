package rawdata

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"perfrun.dev/perfrun/internal/measure"
)

func TestRoundTrip(t *testing.T) {
	report := knownReport(t)
	file, err := Encode(invoke, report, Budget)
	if err != nil {
		t.Fatal(err)
	}
	if file.SeriesStep != 1 || len(file.Bytes) > 10<<10 {
		t.Errorf("step %d, %d bytes", file.SeriesStep, len(file.Bytes))
	}
	again, err := Encode(invoke, report, Budget)
	if err != nil || !bytes.Equal(file.Bytes, again.Bytes) || file.Digest != again.Digest {
		t.Error("the same report gives other bytes", err)
	}
	want := *report
	want.Blocks = append([]measure.BlockReport{}, report.Blocks...)
	for i := range want.Blocks {
		want.Blocks[i].Timelines = want.Blocks[i].Timelines[:1]
	}
	got, err := Decode(file.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Document{Format: Format, Version: 1, PerfRun: invoke, SeriesStep: 1, Report: want}, got); diff != "" {
		t.Error("(-want +got):", diff)
	}

	var plain bytes.Buffer
	if err := got.WriteJSON(&plain); err != nil {
		t.Fatal(err)
	}
	fromJSON, err := Decode(plain.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, fromJSON); diff != "" {
		t.Error("as plain JSON (-want +got):", diff)
	}
}

func TestVerify(t *testing.T) {
	file, err := Encode(invoke, knownReport(t), Budget)
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(file.Bytes, file.Digest); err != nil {
		t.Error(err)
	}
	file.Bytes[len(file.Bytes)/2] ^= 1
	if err := Verify(file.Bytes, file.Digest); err == nil || !strings.Contains(err.Error(), file.Digest) {
		t.Errorf("a changed byte: %v", err)
	}
}

// A smaller budget makes the series coarser, and never touches a histogram or a count.
func TestBudget(t *testing.T) {
	report := noisyReport(t, 6, 120)
	before, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	former := 1 << 30
	for budget := 1 << 30; ; {
		file, err := Encode(invoke, report, budget)
		if errors.Is(err, ErrTooLarge) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(file.Bytes) >= budget || len(file.Bytes) >= former {
			t.Fatalf("%d bytes with a budget of %d", len(file.Bytes), budget)
		}
		got = append(got, file.SeriesStep)
		checkStep(t, report, file)
		former, budget = len(file.Bytes), len(file.Bytes)
	}
	if diff := cmp.Diff([]int{1, 2, 5, 10, 30, 60, 0}, got); diff != "" {
		t.Error("steps (-want +got):", diff)
	}
	if after, _ := json.Marshal(report); !bytes.Equal(before, after) {
		t.Error("encoding has changed the report")
	}
}

func checkStep(t *testing.T, report *measure.Report, file *File) {
	t.Helper()
	d, err := Decode(file.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range report.Blocks {
		b := d.Report.Blocks[i]
		want.Timelines = timelines(want, file.SeriesStep)
		if diff := cmp.Diff(want, b); diff != "" {
			t.Fatalf("step %d, block %d (-want +got): %s", file.SeriesStep, i, diff)
		}
	}
	// 120 s a block: a reading each second with both ends, each step, or the two ends.
	want := 2
	if file.SeriesStep > 0 {
		want = 120/file.SeriesStep + 1
	}
	for _, s := range d.Report.Usage {
		if n := len(s.Readings) / len(d.Report.Blocks); n < want || n > want+1 {
			t.Errorf("step %d: %d readings a block, want %d", file.SeriesStep, n, want)
		}
	}
}

// The largest sweep with the default pairs fits as it is.
func TestUsualRunsFit(t *testing.T) {
	for _, tc := range []struct{ pairs, step int }{{6, 1}, {16 * 6, 1}} {
		file, err := Encode(invoke, noisyReport(t, tc.pairs, 10), Budget)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d blocks of 10 s: %d KiB at %d s", 2*tc.pairs, len(file.Bytes)>>10, file.SeriesStep)
		if file.SeriesStep == 0 {
			t.Errorf("%d blocks have no room for series", 2*tc.pairs)
		}
	}
	_, err := Encode(invoke, noisyReport(t, 300, 2), Budget)
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "600 blocks") {
		t.Errorf("600 blocks: %v", err)
	}
}

// A load tester of another version may record no series.
func TestWithoutTimelines(t *testing.T) {
	report := knownReport(t)
	report.Blocks[1].Timelines = nil
	file, err := Encode(invoke, report, Budget)
	if err != nil || file.SeriesStep != 0 {
		t.Fatalf("%+v, %v", file, err)
	}
	d, err := Decode(file.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteRequests(io.Discard, Selection{}); !errors.Is(err, ErrNoSeries) {
		t.Errorf("got %v", err)
	}
}

func TestThinned(t *testing.T) {
	at := func(block int, seconds ...float64) (out []measure.Reading) {
		for _, s := range seconds {
			out = append(out, measure.Reading{Block: block, Time: begin.Add(time.Duration(s * float64(time.Second)))})
		}
		return out
	}
	both := append(at(0, 0, 0.999, 2.001, 2.998, 4.002, 4.5), at(1, 10, 11, 12, 13)...)
	tests := map[string]struct {
		step int
		in   []measure.Reading
		want []measure.Reading
	}{
		"every second":                    {1, both, both},
		"every other":                     {2, both, append(at(0, 0, 2.001, 4.002, 4.5), at(1, 10, 12, 13)...)},
		"longer than a block":             {60, both, append(at(0, 0, 4.5), at(1, 10, 13)...)},
		"ends alone":                      {0, both, append(at(0, 0, 4.5), at(1, 10, 13)...)},
		"one reading":                     {0, at(3, 1), at(3, 1)},
		"none":                            {5, nil, []measure.Reading{}},
		"a source that is read at ends":   {10, at(0, 0, 10), at(0, 0, 10)},
		"blocks that were not read whole": {2, append(at(0, 0), at(2, 20)...), append(at(0, 0), at(2, 20)...)},
	}
	for name, tc := range tests {
		if diff := cmp.Diff(tc.want, thinned(tc.in, tc.step)); diff != "" {
			t.Errorf("%s (-want +got): %s", name, diff)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	with := func(change func(d *Document)) []byte {
		d := document(t)
		change(d)
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	zipped := func(text []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, _ = w.Write(text)
		_ = w.Close()
		return out.Bytes()
	}
	whole := zipped(with(func(*Document) {}))
	report := func(fields string) []byte {
		return []byte(`{"format":"perfrun.dev/rawdata","version":1,"perfRun":{"namespace":"a","name":"b"},"seriesStep":0,"report":{"rps":1,` + fields + `}}`)
	}
	tests := map[string]struct {
		file []byte
		says string
	}{
		"nothing":              {nil, "JSON"},
		"no JSON":              {[]byte("hello"), "JSON"},
		"half a file":          {whole[:len(whole)/2], "inflating"},
		"a bomb":               {zipped(make([]byte, maxText+1000)), "more in it"},
		"commas":               {report(`"blocks":[` + strings.Repeat("0,", maxValues+1) + "0]"), "more in it"},
		"another format":       {with(func(d *Document) { d.Format = "x" }), `"x"`},
		"a newer version":      {with(func(d *Document) { d.Version = 2 }), "version 2"},
		"a path as name":       {with(func(d *Document) { d.PerfRun.Name = "../../etc" }), "no name"},
		"no rate":              {with(func(d *Document) { d.Report.RPS = 0 }), "rate"},
		"a strange step":       {with(func(d *Document) { d.SeriesStep = 3 }), "3 s"},
		"another step":         {with(func(d *Document) { d.SeriesStep = 2 }), "2 s"},
		"columns":              {with(func(d *Document) { d.Report.Blocks[0].Timelines[0].P50 = nil }), "columns"},
		"replicas of nowhere":  {with(func(d *Document) { d.Report.Replicas = []measure.Replica{{Pod: "a"}} }), "0 replicas"},
		"a timeline too few":   {with(func(d *Document) { d.Report.Blocks[0].Timelines = nil }), "0 timelines"},
		"a third arm":          {with(func(d *Document) { d.Report.Blocks[0].Arm = "Both" }), "Both"},
		"no connections":       {with(func(d *Document) { d.Report.Blocks[0].Connections = 0 }), "0 connections"},
		"negative counts":      {with(func(d *Document) { d.Report.Blocks[0].Succeeded = -1 }), "negative"},
		"beyond counting":      {with(func(d *Document) { d.Report.Blocks[0].Planned = 1 << 50 }), "at most"},
		"negative errors":      {with(func(d *Document) { d.Report.Blocks[0].Errors = map[int]int64{500: -3} }), "-3 errors"},
		"end before start":     {with(func(d *Document) { d.Report.Blocks[0].End = begin.Add(-time.Hour) }), "negative"},
		"a reading of nowhere": {with(func(d *Document) { d.Report.Usage[0].Readings[0].Block = 9 }), "block 9"},
		"too many blocks":      {report(`"blocks":[` + strings.Repeat("{},", maxBlocks) + "{}]"), "more in it"},
		"numbers as blocks":    {report(`"blocks":[0,0]`), "number"},
		"text as usage":        {report(`"usage":"x"`), "list"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(tc.file)
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want it to say %q", err, tc.says)
			}
		})
	}
}

// Whatever is read either is refused, or can be exported and read again.
func FuzzDecode(f *testing.F) {
	whole, err := Encode(invoke, knownReport(f), Budget)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes)
	var plain bytes.Buffer
	if err := document(f).WriteJSON(&plain); err != nil {
		f.Fatal(err)
	}
	f.Add(plain.Bytes())
	f.Add([]byte(`{"format":"perfrun.dev/rawdata","version":1,"perfRun":{"namespace":"a","name":"b"},"report":{"rps":1,"blocks":[]}}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		d, err := Decode(file)
		if err != nil {
			return
		}
		_ = d.WriteRequests(io.Discard, Selection{})
		_ = d.WriteUsage(io.Discard, Selection{})
		_ = d.WritePercentiles(io.Discard, Selection{}, []float64{0, 50, 99.99, 100})
		if groups, err := d.Groups(Selection{}); err == nil {
			for _, g := range groups {
				_ = WriteHGRM(io.Discard, g, Response)
				_ = d.WriteFortio(io.Discard, g, Service)
			}
		}
		again, err := Encode(d.PerfRun, &d.Report, 1<<30)
		if err != nil {
			// A moment that JSON can read, but not write.
			return
		}
		if _, err := Decode(again.Bytes); err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
	})
}

func TestGroupsRefuse(t *testing.T) {
	// More counts than a float64 tells apart; HdrHistogram would print percentiles for ever.
	huge := hdrhistogram.New(1, 60_000_000, 3)
	if err := errors.Join(huge.RecordValues(1000, 1<<60), huge.RecordValue(2000)); err != nil {
		t.Fatal(err)
	}
	encoded, err := huge.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	for says, histogram := range map[string][]byte{
		"block 1: its service histogram: decoding": []byte("no histogram"),
		"of 2000 requests":                         encoded,
	} {
		d := document(t)
		d.Report.Blocks[1].Service = histogram
		if _, err := d.Groups(Selection{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want it to say %q", err, says)
		}
	}
}
