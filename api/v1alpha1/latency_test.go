package v1alpha1_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
)

func TestLatencyText(t *testing.T) {
	for _, test := range []struct {
		latency time.Duration
		want    string
	}{
		{0, "0s"},
		{420 * time.Microsecond, "420us"},
		{1403 * time.Microsecond, "1.403ms"},
		{-35 * time.Microsecond, "-35us"},
		{2 * time.Millisecond, "2ms"},
		{1500 * time.Millisecond, "1.5s"},
		{90 * time.Second, "1m30s"},
		{499 * time.Nanosecond, "0s"},
		{500 * time.Nanosecond, "1us"},
		{1403499 * time.Nanosecond, "1.403ms"},
	} {
		text, err := json.Marshal(v1alpha1.NewLatency(test.latency))
		if err != nil {
			t.Fatal(err)
		}
		if want := `"` + test.want + `"`; string(text) != want {
			t.Errorf("%s is written as %s, want %s", test.latency, text, want)
		}
		var back v1alpha1.Latency
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if want := test.latency.Round(time.Microsecond); back.Duration != want {
			t.Errorf("%s is read back as %s, want %s", text, back.Duration, want)
		}
		// A latency that was not made by NewLatency is written the same.
		if got := (v1alpha1.Latency{Duration: test.latency}).String(); got != test.want {
			t.Errorf("String() = %q, want %q", got, test.want)
		}
	}
}

func TestLatencyReadsWhatGoReads(t *testing.T) {
	for text, want := range map[string]time.Duration{
		`"1.403ms"`: 1403 * time.Microsecond,
		`"420us"`:   420 * time.Microsecond,
		`"420µs"`:   420 * time.Microsecond,
		`"1h"`:      time.Hour,
	} {
		var got v1alpha1.Latency
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("reading %s: %v", text, err)
		} else if got.Duration != want {
			t.Errorf("%s is read as %s, want %s", text, got.Duration, want)
		}
	}
}

func TestLatencyRefuses(t *testing.T) {
	for _, text := range []string{`1`, `"fast"`, `""`, `{}`} {
		var l v1alpha1.Latency
		err := json.Unmarshal([]byte(text), &l)
		if err == nil || !strings.Contains(err.Error(), "reading a latency") {
			t.Errorf("reading %s: %v, want an error that says what was being read", text, err)
		}
	}
}
