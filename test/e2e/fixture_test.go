package e2e

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

type change func(*v1alpha1.PerfRunSpec)

// perfRun is a run that is over soon, hardly loads the machine and waits for no other: 2 pairs of 2 s at 200 requests/s over 4 connections.
func perfRun(namespace, name string, changes ...change) *v1alpha1.PerfRun {
	run := &v1alpha1.PerfRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.PerfRunSpec{
			Scenario:    v1alpha1.ScenarioInvocation,
			RPS:         ptr.To[int32](200),
			Connections: []int32{4},
			Exclusive:   ptr.To(false),
		},
	}
	blocks(2, 2*time.Second, time.Second)(&run.Spec)
	for _, c := range changes {
		c(&run.Spec)
	}
	return run
}

// blocks sets the schedule: pairs of blocks of a length, after a warm-up of each arm.
func blocks(pairs int32, length, warmup time.Duration) change {
	return func(s *v1alpha1.PerfRunSpec) {
		s.Pairs = ptr.To(pairs)
		s.Duration = &metav1.Duration{Duration: time.Duration(pairs) * length}
		s.Warmup = &metav1.Duration{Duration: warmup}
	}
}

// load sets the rate of requests per second and the connections that they are spread over.
func load(rps int32, connections ...int32) change {
	return func(s *v1alpha1.PerfRunSpec) { s.RPS, s.Connections = ptr.To(rps), connections }
}

// exclusive makes a run wait for those before it, as runs do by default.
func exclusive(s *v1alpha1.PerfRunSpec) { s.Exclusive = nil }

// kept leaves the pods where they are after the verdict.
func kept(s *v1alpha1.PerfRunSpec) { s.Cleanup = ptr.To(v1alpha1.CleanupNever) }
