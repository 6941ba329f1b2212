package controllers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/stage"
)

// tester is the client of a run's load tester.
func (r *PerfRunReconciler) tester(run *v1alpha1.PerfRun, pod *corev1.Pod) *measure.Client {
	signer := measure.Signer{Key: r.Key}
	return &measure.Client{
		BaseURL: "http://" + net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(measure.LoadTesterPort)),
		Token:   func() (string, error) { return signer.Token(string(run.UID), r.Now()) },
		HTTP:    r.HTTP,
	}
}

// observeTesters asks each load tester who it is and, once an attempt is recorded, how that is going.
func (r *PerfRunReconciler) observeTesters(ctx context.Context, o *stage.Observation) {
	o.Testers = make([]stage.Tester, len(o.LoadTester.Pods))
	var all sync.WaitGroup
	for i, pod := range o.LoadTester.Pods {
		all.Go(func() { o.Testers[i] = r.observeTester(ctx, o.Run, pod) })
	}
	all.Wait()
}

func (r *PerfRunReconciler) observeTester(ctx context.Context, run *v1alpha1.PerfRun, pod *corev1.Pod) (out stage.Tester) {
	if pod.Status.PodIP == "" || run.Status.Phase == v1alpha1.PhasePreparing && !ready(pod) {
		out.Err = errors.New("its pod has no address or is not ready")
		return out
	}
	c := r.tester(run, pod)
	info, err := c.Info(ctx)
	if err != nil {
		out.Err = err
		return out
	}
	out.Info = &info
	attempt := run.Status.Attempt
	if attempt == nil {
		return out
	}
	progress, err := c.Progress(ctx, attempt.ID)
	switch {
	case errors.Is(err, measure.ErrUnknownAttempt):
	case err != nil:
		out.Err = fmt.Errorf("reading the progress: %w", err)
	default:
		out.Progress = &progress
	}
	return out
}

// clockSamples: the one with the shortest way tells the offset best; the first may also open a connection.
const clockSamples = 3

// clockOffset is by how much a load tester's clock is ahead of ours: its word against the middle of our waiting for it, which is wrong by at
// most half of that (Cristian 1989, Distributed Computing 3:146). What that may explain is no offset.
func (r *PerfRunReconciler) clockOffset(ctx context.Context, run *v1alpha1.PerfRun, pod *corev1.Pod) (v1alpha1.Latency, error) {
	c := r.tester(run, pod)
	var offset, best time.Duration
	for i := range clockSamples {
		asked := r.Now()
		info, err := c.Info(ctx)
		if err != nil {
			return v1alpha1.Latency{}, fmt.Errorf("comparing clocks with pod %s: %w", pod.Name, err)
		}
		if took := r.Now().Sub(asked); i == 0 || took < best {
			offset, best = info.Now.Sub(asked.Add(took/2)), took
		}
	}
	if offset.Abs() <= best/2 {
		offset = 0
	}
	return v1alpha1.NewLatency(offset), nil
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
