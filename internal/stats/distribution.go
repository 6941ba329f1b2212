package stats

import (
	"fmt"
	"io"
	"math"
	"time"
)

// Bar is one step of a histogram: how many latencies lie in From..To, both included, whole microseconds.
type Bar struct {
	From, To time.Duration
	Count    int64
}

// Bars are the steps that hold something, in ascending order.
func (h *Histogram) Bars() []Bar {
	var bars []Bar
	for _, bar := range h.hdr.Distribution() {
		if bar.Count > 0 {
			bars = append(bars, Bar{From: time.Duration(bar.From) * time.Microsecond, To: time.Duration(bar.To) * time.Microsecond, Count: bar.Count})
		}
	}
	return bars
}

// Min is the smallest latency, to the histogram's resolution; 0 when there are none.
func (h *Histogram) Min() time.Duration { return time.Duration(h.hdr.Min()) * time.Microsecond }

// StdDev is the standard deviation of the latencies, each taken as the middle of its step; 0 when there are none.
func (h *Histogram) StdDev() time.Duration {
	return time.Duration(math.Round(h.hdr.StdDev() * float64(time.Microsecond)))
}

// Reset forgets everything recorded.
func (h *Histogram) Reset() { h.hdr.Reset() }

// hgrmTicks is how many lines there are between one halving of what is left above and the next; HdrHistogram's own default.
const hgrmTicks = 5

// WriteHGRM writes the distribution of percentiles in HdrHistogram's text format (.hgrm), values in milliseconds.
func (h *Histogram) WriteHGRM(w io.Writer) error {
	if _, err := h.hdr.PercentilesPrint(w, hgrmTicks, float64(time.Millisecond/time.Microsecond)); err != nil {
		return fmt.Errorf("writing the percentile distribution: %w", err)
	}
	return nil
}
