// Package stats holds what the measurement needs of statistics: latency histograms that merge without loss, their quantiles, and
// intervals for medians over few blocks. It knows nothing of Kubernetes nor of the contract with the load tester.
package stats

import (
	"errors"
	"fmt"
	"math"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// Lowest latency that a histogram tells from nothing.
	Lowest = time.Microsecond
	// Highest latency that a histogram holds.
	Highest = time.Minute

	// significantDigits: a value is known to 1 in 1000, and to 1 us below 2 ms.
	significantDigits = 3

	lowestMicros  = int64(Lowest / time.Microsecond)
	highestMicros = int64(Highest / time.Microsecond)

	// maxEncodedBytes bounds what Decode looks at. The largest possible encoding is one of 9 bytes for each of about 18,000
	// counts, incompressible, in base64: 220 KB.
	maxEncodedBytes = 256 << 10

	// samplesBeyond a quantile that are needed to say anything about it: with fewer, the quantile is one of the largest handful
	// of values and would be another number in the next run.
	samplesBeyond = 10
)

// Histogram counts latencies in microseconds, 1 us to 60 s, 3 significant digits, about 150 KB. Not safe for concurrent use.
type Histogram struct {
	hdr *hdrhistogram.Histogram
}

// NewHistogram makes an empty histogram.
func NewHistogram() *Histogram {
	return &Histogram{hdr: hdrhistogram.New(lowestMicros, highestMicros, significantDigits)}
}

// Record counts one latency, rounded to the nearest microsecond. What is out of range is counted at the range's end: below 0 as
// 0, above Highest as Highest (see Clamped).
func (h *Histogram) Record(d time.Duration) {
	micros := int64(d.Round(time.Microsecond) / time.Microsecond)
	// The value is within the range, which is the only error that there can be.
	_ = h.hdr.RecordValue(min(max(micros, 0), highestMicros))
}

// Merge adds the counts of other. Nothing is lost, all histograms being alike.
func (h *Histogram) Merge(other *Histogram) { h.hdr.Merge(other.hdr) }

// Count of the latencies recorded.
func (h *Histogram) Count() int64 { return h.hdr.TotalCount() }

// Clamped counts the latencies in the histogram's last step: those above Highest, and those so close below it (0.1%) that the
// histogram does not tell them apart. A histogram in which it is not 0 has too small a Max and too small a Mean.
func (h *Histogram) Clamped() int64 {
	var n int64
	for _, bar := range h.hdr.Distribution() {
		if bar.To >= highestMicros {
			n += bar.Count
		}
	}
	return n
}

// Mean latency; 0 when there are none.
func (h *Histogram) Mean() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(math.Round(h.hdr.Mean() * float64(time.Microsecond)))
}

// Max is the largest latency, to the histogram's resolution; 0 when there are none.
func (h *Histogram) Max() time.Duration {
	return time.Duration(min(h.hdr.Max(), highestMicros)) * time.Microsecond
}

// Above counts the latencies above d, to the histogram's resolution.
func (h *Histogram) Above(d time.Duration) int64 {
	micros := int64(d / time.Microsecond)
	var n int64
	for _, bar := range h.hdr.Distribution() {
		if bar.From > micros {
			n += bar.Count
		}
	}
	return n
}

// Quantile is the smallest latency that at least the share q (0..1) of the latencies do not exceed, to the histogram's resolution
// (upwards). ok only if there are at least 10 samples beyond it.
func (h *Histogram) Quantile(q float64) (d time.Duration, ok bool) {
	if math.IsNaN(q) || q < 0 || q > 1 {
		return 0, false
	}
	rank := h.rank(q)
	if h.Count()-rank < samplesBeyond {
		return 0, false
	}
	return h.at(rank), true
}

// Glimpse is the quantile q (0..1) however few samples lie beyond it; 0 when there are none at all. It is for a picture of many short
// intervals, in which the eye sees the scatter. A figure to be quoted is Quantile.
func (h *Histogram) Glimpse(q float64) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return h.at(h.rank(q))
}

// rank of the sample that is the quantile q.
func (h *Histogram) rank(q float64) int64 {
	count := float64(h.Count())
	// The share is rounded up to a whole sample, but 0.999*1000 is a hair above 999 in binary: a billionth is not a sample.
	return int64(math.Ceil(q*count - 1e-9*count))
}

// at is the latency of the sample with this rank, counted from 1.
func (h *Histogram) at(rank int64) time.Duration {
	// The library rounds to the nearest rank, which leaves out more than the share now and then; asked for a whole rank, it has
	// nothing to round.
	share := 100 * float64(rank) / float64(h.Count())
	return time.Duration(min(h.hdr.ValueAtQuantile(share), highestMicros)) * time.Microsecond
}

// Encode writes the histogram in HdrHistogram's V2 encoding, compressed, in base64, as all of HdrHistogram's tools read it.
func (h *Histogram) Encode() ([]byte, error) {
	encoded, err := h.hdr.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, fmt.Errorf("encoding histogram: %w", err)
	}
	return encoded, nil
}

// errGeometry: a histogram with other steps is none of ours, and merging it would lose counts or precision.
var errGeometry = errors.New("its range or precision is another than 1us to 60s with 3 digits")

// Decode reads what Encode wrote. It may be given any bytes: it allocates at most a few hundred KB and never panics.
func Decode(encoded []byte) (*Histogram, error) {
	if len(encoded) > maxEncodedBytes {
		return nil, fmt.Errorf("decoding histogram: %d bytes, more than any histogram needs", len(encoded))
	}
	if err := checkGeometry(encoded); err != nil {
		return nil, fmt.Errorf("decoding histogram: %w", err)
	}
	hdr, err := hdrhistogram.Decode(encoded)
	if err != nil {
		return nil, fmt.Errorf("decoding histogram: %w", err)
	}
	return &Histogram{hdr: hdr}, nil
}
