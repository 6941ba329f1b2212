package v1alpha1

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Latency is a duration written as Go writes durations, rounded to whole microseconds and kept to ASCII:
// "420us", "1.403ms", "-35us". The histograms behind it hold three significant digits, so finer steps would be noise.
//
// +kubebuilder:validation:Type=string
type Latency struct {
	time.Duration `json:"-"`
}

// NewLatency rounds d to whole microseconds.
func NewLatency(d time.Duration) Latency { return Latency{d.Round(time.Microsecond)} }

// String writes the latency with "us" for microseconds.
func (l Latency) String() string {
	return strings.Replace(l.Round(time.Microsecond).String(), "µs", "us", 1)
}

// MarshalJSON writes the latency as a string.
func (l Latency) MarshalJSON() ([]byte, error) { return json.Marshal(l.String()) }

// UnmarshalJSON reads what MarshalJSON wrote, and every other string that Go reads as a duration.
func (l *Latency) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("reading a latency: %w", err)
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("reading a latency: %w", err)
	}
	l.Duration = d
	return nil
}
