package rawdata

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"perfrun.dev/perfrun/internal/measure"
)

// Budget is what a file must stay below. A ConfigMap holds 1 MiB; the rest is for its metadata and for whatever others write into
// those.
const Budget = 900 << 10

// ErrTooLarge: the file is larger than its budget even without any series.
var ErrTooLarge = errors.New("the histograms alone are larger than a ConfigMap holds")

// File is a document as it is stored.
type File struct {
	Bytes []byte
	// Digest of Bytes.
	Digest string
	// SeriesStep of the document.
	SeriesStep int
}

// Encode writes a report as a file of fewer than budget bytes, with the finest series that fit: each step in turn, and none in the end.
// Histograms and counts are always whole. The same report gives the same bytes. The error is ErrTooLarge if not even that fits.
func Encode(run Name, report *measure.Report, budget int) (*File, error) {
	size := 0
	for _, step := range steps(report) {
		document := Document{Format: Format, Version: Version, PerfRun: run, SeriesStep: step, Report: coarser(report, step)}
		text, err := json.Marshal(document)
		if err != nil {
			return nil, fmt.Errorf("encoding the raw data: %w", err)
		}
		if checkText(text) != nil {
			// More than a reader would take.
			continue
		}
		file, err := compress(text)
		if err != nil {
			return nil, err
		}
		if size = len(file); size < budget {
			return &File{Bytes: file, Digest: Digest(file), SeriesStep: step}, nil
		}
	}
	return nil, fmt.Errorf("%w: %d blocks take %d KiB, at most %d KiB are possible; measure fewer points or pairs",
		ErrTooLarge, len(report.Blocks), size>>10, budget>>10)
}

func compress(text []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("compressing the raw data: %w", err)
	}
	return out.Bytes(), nil
}

// coarser is the report with the series of one step alone. The report that it is made from stays as it is.
func coarser(r *measure.Report, step int) measure.Report {
	out := *r
	out.Blocks = append([]measure.BlockReport{}, r.Blocks...)
	for i := range out.Blocks {
		b := &out.Blocks[i]
		b.Timelines = timelines(*b, step)
		if step != measure.TimelineSteps[0] {
			// They are the finest series of all, and go first.
			b.Calls = nil
		}
	}
	out.Usage = append([]measure.Series{}, r.Usage...)
	for i := range out.Usage {
		out.Usage[i].Readings = thinned(out.Usage[i].Readings, step)
	}
	return out
}

// late is how much less than a step may lie between two readings: their timer is not exact.
const late = 500 * time.Millisecond

// thinned leaves out readings within blocks, so that a step lies between two of them; 0: all of them. The first and the last of each
// block stay, which its CPU is computed from; counters being cumulative, the others lose nothing but detail.
func thinned(readings []measure.Reading, step int) []measure.Reading {
	if step == measure.TimelineSteps[0] {
		return readings
	}
	out := make([]measure.Reading, 0, len(readings))
	for i, r := range readings {
		first := i == 0 || readings[i-1].Block != r.Block
		last := i == len(readings)-1 || readings[i+1].Block != r.Block
		within := step > 0 && !first && r.Time.Sub(out[len(out)-1].Time) >= time.Duration(step)*time.Second-late
		if first || last || within {
			out = append(out, r)
		}
	}
	return out
}
