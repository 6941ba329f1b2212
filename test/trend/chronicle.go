package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/changepoint"
	"perfrun.dev/perfrun/internal/trend"
)

// near is how many runs apart are still the same change.
var near = changepoint.Default().MinResults

// chronicle is what has happened, and what was reported of it.
type chronicle struct {
	// runs in the order of their results, whether they can be compared or not; calm are those before anything was done.
	runs, calm []v1alpha1.RunResult
	spoilt     int
	// now is the chapter that goes on, began where each with something done began, and good how many results this one has.
	now   chapter
	began []int
	good  int
	known []v1alpha1.FigureChange
	found []outcome
}

func (h *chronicle) open(c chapter) {
	h.now, h.good = c, 0
	if c.by > 0 {
		h.began = append(h.began, len(h.runs))
	}
}

func (h *chronicle) done() bool { return h.good >= h.now.results }

// add a result, and what all of them have come to. It returns what is reported for the first time: a change may be taken back when another follows
// it soon, and come back.
func (h *chronicle) add(result v1alpha1.RunResult, changes []v1alpha1.FigureChange) []v1alpha1.FigureChange {
	h.runs = append(h.runs, result)
	if result.Verdict != v1alpha1.PhaseSucceeded {
		h.spoilt++
		return nil
	}
	h.good++
	if h.now.by == 0 {
		h.calm = append(h.calm, result)
	}
	fresh := trend.Fresh(&v1alpha1.PerfSeries{Results: h.runs}, h.known, changes)
	h.known = append(h.known, fresh...)
	for _, change := range fresh {
		o := outcome{chapter: h.now.title, change: change, after: h.good, by: h.now.by, expected: h.now.expected[change.Metric] == change.Direction}
		at := h.position(change.Since)
		for i, began := range h.began {
			if off := at - began; i == 0 || o.expected || max(off, -off) < max(o.off, -o.off) {
				o.off = off
			}
		}
		h.found = append(h.found, o)
	}
	return fresh
}

// close the chapter: what was to be reported and was not is an outcome too.
func (h *chronicle) close() {
	for metric, direction := range h.now.expected {
		was := func(o outcome) bool {
			return o.chapter == h.now.title && o.change.Metric == metric && o.change.Direction == direction
		}
		if !slices.ContainsFunc(h.found, was) {
			h.found = append(h.found, outcome{chapter: h.now.title, expected: true, by: h.now.by,
				change: v1alpha1.FigureChange{Metric: metric, Direction: direction}})
		}
	}
}

func (h *chronicle) position(run string) int {
	return slices.IndexFunc(h.runs, func(r v1alpha1.RunResult) bool { return r.Run == run })
}

// outcome is a change that was to be reported, or was reported.
type outcome struct {
	chapter string
	change  v1alpha1.FigureChange
	// expected: it was to be reported.
	expected bool
	// after so many results of the chapter it was reported; 0 if never.
	after int
	// off is how many runs beside the first of a chapter it is said to have begun: the chapter that it was reported in, or, if it was not to be expected, the
	// one that it is nearest to.
	off int
	// by is what the way was delayed by.
	by time.Duration
}

// difference that a change of a latency comes to.
func (o outcome) difference() (time.Duration, bool) {
	if !isLatency(o.change.Metric) {
		return 0, false
	}
	before, err := time.ParseDuration(o.change.Before)
	after, err2 := time.ParseDuration(o.change.After)
	return after - before, err == nil && err2 == nil
}

// interval of the difference, from that of the relative size.
func (o outcome) interval() (low, high time.Duration) {
	before, err := time.ParseDuration(o.change.Before)
	if err != nil {
		return 0, 0
	}
	of := func(size string) time.Duration {
		v, err := strconv.ParseFloat(size, 64)
		if err != nil {
			return 0
		}
		return time.Duration(v * float64(before)).Round(time.Microsecond)
	}
	return of(o.change.Size.Low), of(o.change.Size.High)
}

// fault says what is wrong with an outcome; "" if nothing is.
func (o outcome) fault() string {
	switch {
	case o.expected && o.after == 0:
		return "was not reported"
	case !o.expected && o.by > 0 && max(o.off, -o.off) < near:
		// It came with a delay, as what that does to processors and queues. The first run of what is small moves by a few.
		return ""
	case !o.expected:
		return "nothing was done that it could come from"
	case o.off != 0:
		return fmt.Sprintf("said to have begun %+d run(s) beside the one it began with", o.off)
	}
	// The delay is a lower bound: a program that holds packets on a busy machine is late now and then.
	difference, ok := o.difference()
	if size := math.Abs(difference.Seconds()); !ok || size < 0.8*o.by.Seconds() || size > 1.6*o.by.Seconds() {
		return fmt.Sprintf("comes to %s, and not to about %s", difference, o.by)
	}
	return ""
}

// verdict is an error unless all was as expected. A change that is explained by none of the chapters is a false alarm.
func verdict(found []outcome) error {
	var faults []string
	for _, o := range found {
		if fault := o.fault(); fault != "" {
			faults = append(faults, fmt.Sprintf("%s: %s of %s: %s", o.chapter, o.change.Direction, o.change.Metric, fault))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	slices.Sort(faults)
	return errors.New(strings.Join(faults, "\n"))
}
