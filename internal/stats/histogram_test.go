package stats

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
)

const us = time.Microsecond

// upTo records 1us, 2us, ... n us.
func upTo(n int) *Histogram {
	h := NewHistogram()
	for i := range n {
		h.Record(time.Duration(i+1) * us)
	}
	return h
}

func TestQuantile(t *testing.T) {
	tests := map[string]struct {
		h    *Histogram
		q    float64
		want time.Duration
		ok   bool
	}{
		"median of 1..1000":            {upTo(1000), 0.5, 500 * us, true},
		"p90 of 1..1000":               {upTo(1000), 0.9, 900 * us, true},
		"p99 of 1..1000: ten beyond":   {upTo(1000), 0.99, 990 * us, true},
		"p99 of 1..999: nine beyond":   {upTo(999), 0.99, 0, false},
		"p99.9 of 1..10000":            {upTo(10000), 0.999, 9990 * us, true},
		"p99.9 of 1..9999":             {upTo(9999), 0.999, 0, false},
		"median of 1..20: ten beyond":  {upTo(20), 0.5, 10 * us, true},
		"median of 1..19: nine beyond": {upTo(19), 0.5, 0, false},
		"p90 of 1..1016: rounded up":   {upTo(1016), 0.9, 915 * us, true},
		"q 0 of 1..20":                 {upTo(20), 0, us, true},
		"q 1":                          {upTo(1000), 1, 0, false},
		"empty":                        {NewHistogram(), 0.5, 0, false},
		"q above 1":                    {upTo(1000), 1.5, 0, false},
		"q below 0":                    {upTo(1000), -0.5, 0, false},
		"q not a number":               {upTo(1000), math.NaN(), 0, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := tc.h.Quantile(tc.q)
			// One step of the histogram is 0.1%.
			if ok != tc.ok || math.Abs(float64(got-tc.want)) > float64(tc.want)/1000 {
				t.Errorf("got %s, %v, want %s, %v", got, ok, tc.want, tc.ok)
			}
		})
	}
}

func TestRecordRoundsAndClamps(t *testing.T) {
	h := NewHistogram()
	for _, d := range []time.Duration{-time.Second, 400, 1500, 61 * time.Second, time.Hour} {
		h.Record(d)
	}
	if h.Count() != 5 || h.Clamped() != 2 || h.Max() != Highest {
		t.Errorf("count %d, clamped %d, max %s", h.Count(), h.Clamped(), h.Max())
	}
	h = NewHistogram()
	h.Record(1500)
	if h.Max() != 2*us {
		t.Errorf("1.5us is recorded as %s", h.Max())
	}
	if h.Clamped() != 0 {
		t.Errorf("clamped %d", h.Clamped())
	}
}

func TestMean(t *testing.T) {
	if got := upTo(999).Mean(); got != 500*us {
		t.Errorf("got %s", got)
	}
	if got := NewHistogram().Mean(); got != 0 {
		t.Errorf("empty: got %s", got)
	}
}

func TestMergeIsLossless(t *testing.T) {
	whole, merged := NewHistogram(), NewHistogram()
	for part := range 7 {
		h := NewHistogram()
		for i := range 1000 {
			d := time.Duration(1+i*i*(part+1)) * us
			h.Record(d)
			whole.Record(d)
		}
		merged.Merge(h)
	}
	if !whole.hdr.Equals(merged.hdr) || merged.Count() != 7000 {
		t.Errorf("merged %d values into another histogram than recording them at once", merged.Count())
	}
}

func TestEncodeRoundTrip(t *testing.T) {
	for name, h := range map[string]*Histogram{"empty": NewHistogram(), "full": upTo(100000)} {
		encoded, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := Decode(encoded)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !decoded.hdr.Equals(h.hdr) || decoded.Max() != h.Max() {
			t.Errorf("%s: another histogram came back", name)
		}
		decoded.Merge(h)
		if decoded.Count() != 2*h.Count() {
			t.Errorf("%s: a decoded histogram of %d values merged with as many has %d", name, h.Count(), decoded.Count())
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	foreign := func(lowest, highest int64, digits int) []byte {
		h := hdrhistogram.New(lowest, highest, digits)
		encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	encoded, err := upTo(100).Encode()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string][]byte{
		"empty":            nil,
		"not base64":       []byte("***"),
		"too short":        []byte("AAAA"),
		"not zlib":         []byte(base64.StdEncoding.EncodeToString(make([]byte, 100))),
		"truncated":        encoded[:len(encoded)/2/4*4],
		"another range":    foreign(1, 1000, 3),
		"other digits":     foreign(1, highestMicros, 2),
		"longer than any":  []byte(strings.Repeat("A", maxEncodedBytes+4)),
		"huge geometry":    hostile(t, header{Cookie: 0x1c849313, Digits: 5, Lowest: 1, Highest: math.MaxInt64}, nil),
		"zero run too far": hostile(t, header{Cookie: 0x1c849313, PayloadLength: 3, Digits: 3, Lowest: 1, Highest: highestMicros}, []byte{0xff, 0xff, 0x7f}),
	}
	for name, b := range tests {
		if _, err := Decode(b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// hostile encodes a header and a payload as they are.
func hostile(t testing.TB, h header, payload []byte) []byte {
	t.Helper()
	var deflated, out bytes.Buffer
	z := zlib.NewWriter(&deflated)
	if err := binary.Write(z, binary.BigEndian, h); err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(payload); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, v := range []int32{0x1c849314, int32(deflated.Len())} { //nolint:gosec // a few bytes
		if err := binary.Write(&out, binary.BigEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	out.Write(deflated.Bytes())
	return []byte(base64.StdEncoding.EncodeToString(out.Bytes()))
}

func FuzzDecode(f *testing.F) {
	good, err := upTo(1000).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(hostile(f, header{Cookie: 0x1c849313, PayloadLength: 2, Digits: 3, Lowest: 1, Highest: highestMicros}, []byte{2, 4}))
	f.Add(hostile(f, header{Cookie: 0x1c849313, PayloadLength: math.MaxInt32, Digits: 3, Lowest: 1, Highest: highestMicros}, []byte{2}))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := Decode(b)
		if err != nil {
			return
		}
		again, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Decode(again); err != nil || back.Count() != h.Count() {
			t.Errorf("decoded %d values, after encoding again %v, %v", h.Count(), back, err)
		}
		_, _ = h.Quantile(0.5)
		NewHistogram().Merge(h)
	})
}

func TestAbove(t *testing.T) {
	h := NewHistogram()
	for _, d := range []time.Duration{0, 999 * time.Microsecond, time.Millisecond, 1001 * time.Microsecond, 2 * time.Second, 2 * Highest} {
		h.Record(d)
	}
	for d, want := range map[time.Duration]int64{0: 5, time.Millisecond: 3, time.Second: 2} {
		if got := h.Above(d); got != want {
			t.Errorf("%d above %s, want %d", got, d, want)
		}
	}
	if got := NewHistogram().Above(0); got != 0 {
		t.Errorf("%d of none", got)
	}
}
