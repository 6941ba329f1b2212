package rawdata

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"perfrun.dev/perfrun/internal/measure"
)

// What Decode looks at, so that whatever it is given takes at most a few hundred MB.
const (
	// MaxFile bounds what Decode takes: a printed document with a value a line is longer than its compact text.
	MaxFile = 8 * maxText
	// maxText bounds the JSON. A file of 900 KiB holds 1.2 MB of histograms in base64, or readings that take a tenth of their text.
	maxText = 16 << 20
	// maxValues bounds the values of all arrays and objects: an array of "0," grows to the size of its element's type for each of
	// two bytes.
	maxValues = 1 << 20
	// maxWindows is the load tester's.
	maxWindows = 100_000
	// maxSeries is far above the components of any cluster.
	maxSeries = 1000
)

var errTooMuch = errors.New("there is more in it than perfrun writes")

// Decode reads what Encode wrote, or the same document as plain JSON. It may be given any bytes.
func Decode(file []byte) (*Document, error) {
	document, err := decode(file)
	if err != nil {
		return nil, fmt.Errorf("reading the raw data: %w", err)
	}
	return document, nil
}

func decode(file []byte) (*Document, error) {
	if len(file) > MaxFile {
		return nil, errTooMuch
	}
	open := compact
	if bytes.HasPrefix(file, []byte{0x1f, 0x8b}) {
		open = inflate
	}
	text, err := open(file)
	if err != nil {
		return nil, err
	}
	if err := checkText(text); err != nil {
		return nil, err
	}
	var d wireDocument
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("it is not the JSON of %s: %w", Format, err)
	}
	document := d.document()
	if err := document.validate(); err != nil {
		return nil, err
	}
	return document, nil
}

// compact takes the white space out, which is most of a printed document.
func compact(file []byte) ([]byte, error) {
	var text bytes.Buffer
	if err := json.Compact(&text, file); err != nil {
		return nil, fmt.Errorf("it is neither gzip nor JSON: %w", err)
	}
	return text.Bytes(), nil
}

func inflate(file []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("inflating: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return nil, fmt.Errorf("inflating: %w", err)
	}
	return text, nil
}

// checkText refuses what is larger than any document.
func checkText(text []byte) error {
	if len(text) > maxText || bytes.Count(text, []byte{','}) > maxValues {
		return errTooMuch
	}
	return nil
}

// wireDocument is a Document whose long lists end at the first element that is wrong, or one too many; json would go on to the end.
type wireDocument struct {
	Format     string `json:"format"`
	Version    int    `json:"version"`
	PerfRun    Name   `json:"perfRun"`
	SeriesStep int    `json:"seriesStep"`
	Report     struct {
		measure.Report
		Blocks  blocks  `json:"blocks"`
		Usage   series  `json:"usage"`
		Windows windows `json:"windows"`
	} `json:"report"`
}

func (w *wireDocument) document() *Document {
	report := w.Report.Report
	report.Blocks, report.Usage, report.Windows = w.Report.Blocks, w.Report.Usage, w.Report.Windows
	return &Document{Format: w.Format, Version: w.Version, PerfRun: w.PerfRun, SeriesStep: w.SeriesStep, Report: report}
}

type (
	blocks  []measure.BlockReport
	series  []measure.Series
	windows []measure.Window
)

// UnmarshalJSON reads the list.
func (b *blocks) UnmarshalJSON(text []byte) (err error) {
	*b, err = list[measure.BlockReport](text, maxBlocks)
	return err
}

// UnmarshalJSON reads the list.
func (s *series) UnmarshalJSON(text []byte) (err error) {
	*s, err = list[measure.Series](text, maxSeries)
	return err
}

// UnmarshalJSON reads the list.
func (w *windows) UnmarshalJSON(text []byte) (err error) {
	*w, err = list[measure.Window](text, maxWindows)
	return err
}

func list[T any](text []byte, most int) ([]T, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('[') {
		return nil, errors.New("a list is missing")
	}
	out := []T{}
	for dec.More() {
		if len(out) == most {
			return nil, errTooMuch
		}
		var one T
		if err := dec.Decode(&one); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}
