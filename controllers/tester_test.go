package controllers

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// clock answers every question with its time, after the ways of the question and of the answer.
type clock struct {
	now         *time.Time
	ahead       time.Duration
	there, back []time.Duration
}

func (c *clock) RoundTrip(*http.Request) (*http.Response, error) {
	*c.now = c.now.Add(c.there[0])
	text, err := json.Marshal(measure.Info{Now: c.now.Add(c.ahead)})
	*c.now = c.now.Add(c.back[0])
	c.there, c.back = c.there[1:], c.back[1:]
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(text)))}, err
}

func TestClockOffset(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		ahead       time.Duration
		there, back []time.Duration
		want        time.Duration
	}{
		"the same time":                         {0, []time.Duration{ms, ms, ms}, []time.Duration{ms, ms, ms}, 0},
		"ahead":                                 {2 * time.Second, []time.Duration{ms, ms, ms}, []time.Duration{ms, ms, ms}, 2 * time.Second},
		"behind":                                {-time.Minute, []time.Duration{ms, ms, ms}, []time.Duration{ms, ms, ms}, -time.Minute},
		"the shortest way tells best":           {40 * ms, []time.Duration{100 * ms, ms, 100 * ms}, []time.Duration{ms, ms, ms}, 40 * ms},
		"what the way may explain is no offset": {4 * ms, []time.Duration{10 * ms, 10 * ms, 10 * ms}, []time.Duration{10 * ms, 10 * ms, 10 * ms}, 0},
		"nor is a way that is long in one direction": {0, []time.Duration{60 * ms, 60 * ms, 60 * ms}, []time.Duration{ms, ms, ms}, 0},
	} {
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		r := &PerfRunReconciler{Key: signingKey, Now: func() time.Time { return now },
			HTTP: &http.Client{Transport: &clock{now: &now, ahead: c.ahead, there: c.there, back: c.back}}}
		got, err := r.clockOffset(context.Background(), &v1alpha1.PerfRun{}, &corev1.Pod{Status: corev1.PodStatus{PodIP: "127.0.0.1"}})
		if err != nil || got.Duration != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
}
