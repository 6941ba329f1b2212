package main

import (
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// chapter is a time during which the cluster is the same.
type chapter struct {
	title string
	// delay is what localcluster is told, one command after the other.
	delay [][]string
	// results that are collected.
	results int
	// expected changes, by metric. None: nothing may be reported.
	expected map[string]v1alpha1.Direction
	// by is what they come to.
	by time.Duration
}

// The load tester is on one node and the target on the other; what the first sends to the second is delayed, so that there and back takes so
// much longer. Both arms cross that way once for each call, and 50002 is the port at which sidecars call each other, which the baseline does not use.
const (
	loadTesterNode = "n3"
	targetNode     = "n2"
	sidecarPort    = "50002"
)

func chapters(o options) []chapter {
	worse, better := v1alpha1.DirectionRegression, v1alpha1.DirectionImprovement
	by := o.delay.String()
	return []chapter{
		{title: "as it is", results: o.calm},
		{title: by + " between the nodes", delay: [][]string{{loadTesterNode, by}}, results: o.within, by: o.delay,
			expected: map[string]v1alpha1.Direction{"baseline.p50": worse, "dapr.p50": worse}},
		{title: by + " between the sidecars only", delay: [][]string{{loadTesterNode, by, "--port=" + sidecarPort}}, results: o.within, by: o.delay,
			expected: map[string]v1alpha1.Direction{"baseline.p50": better, "added.p50": worse}},
	}
}
