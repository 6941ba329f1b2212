package controllers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

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

// observeTester asks the load tester who it is and, once an attempt is recorded, how that is going.
func (r *PerfRunReconciler) observeTester(ctx context.Context, o *stage.Observation) {
	pod := o.LoadTester.Pod
	if pod == nil || pod.Status.PodIP == "" || o.Run.Status.Phase == v1alpha1.PhasePreparing && !ready(pod) {
		o.Tester.Err = errors.New("its pod has no address or is not ready")
		return
	}
	c := r.tester(o.Run, pod)
	info, err := c.Info(ctx)
	if err != nil {
		o.Tester.Err = err
		return
	}
	o.Tester.Info = &info
	attempt := o.Run.Status.Attempt
	if attempt == nil {
		return
	}
	progress, err := c.Progress(ctx, attempt.ID)
	switch {
	case errors.Is(err, measure.ErrUnknownAttempt):
	case err != nil:
		o.Tester.Err = fmt.Errorf("reading the progress: %w", err)
	default:
		o.Tester.Progress = &progress
	}
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
