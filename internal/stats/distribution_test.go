package stats

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBars(t *testing.T) {
	h := NewHistogram()
	for _, d := range []time.Duration{us, 3 * us, 3 * us, 10 * time.Millisecond} {
		h.Record(d)
	}
	// 10 ms lies in a step of 8 us.
	want := []Bar{{From: us, To: us, Count: 1}, {From: 3 * us, To: 3 * us, Count: 2}, {From: 10000 * us, To: 10007 * us, Count: 1}}
	if diff := cmp.Diff(want, h.Bars()); diff != "" {
		t.Error("(-want +got):", diff)
	}
	if h.Min() != us {
		t.Errorf("min %s", h.Min())
	}
	h.Reset()
	if h.Count() != 0 || h.Bars() != nil || h.Min() != 0 || h.StdDev() != 0 {
		t.Errorf("after a reset: %+v", h.Bars())
	}
}

func TestStdDev(t *testing.T) {
	// Of 1..n: sqrt((n^2-1)/12).
	want := math.Sqrt((1000*1000 - 1) / 12.0)
	if got := float64(upTo(1000).StdDev()) / 1000; math.Abs(got/want-1) > 0.002 {
		t.Errorf("got %g us, want %g us", got, want)
	}
}

func TestGlimpse(t *testing.T) {
	for name, tc := range map[string]struct {
		h    *Histogram
		q    float64
		want time.Duration
	}{
		"none":               {NewHistogram(), 0.99, 0},
		"one":                {upTo(1), 0.99, us},
		"p99 of ten":         {upTo(10), 0.99, 10 * us},
		"median of ten":      {upTo(10), 0.5, 5 * us},
		"p99 of a thousand":  {upTo(1000), 0.99, 990 * us},
		"the smallest":       {upTo(10), 0, us},
		"the largest of ten": {upTo(10), 1, 10 * us},
	} {
		if got := tc.h.Glimpse(tc.q); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

func TestWriteHGRM(t *testing.T) {
	h := NewHistogram()
	for i := range 1000 {
		h.Record(time.Duration(i+1) * time.Millisecond)
	}
	var out bytes.Buffer
	if err := h.WriteHGRM(&out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	median := ""
	for _, line := range lines {
		if strings.Contains(line, " 0.500000 ") {
			median = strings.Join(strings.Fields(line), " ")
		}
	}
	// Milliseconds, to the end of the step.
	if median != "500.223 0.500000 500 2.00" {
		t.Errorf("the median's line is %q", median)
	}
	if !strings.Contains(out.String(), "Total count    =         1000]") {
		t.Errorf("no totals: %s", out.String())
	}
}
