package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/plan"
	"perfrun.dev/perfrun/internal/rawdata"
	"perfrun.dev/perfrun/internal/stage"
)

// rawPatience is how long results may wait for an API server that does not take the raw data just now. What refuses for longer, such as
// an admission webhook that is down, would in the end take the results with it.
const rawPatience = 30 * time.Second

// errNameTaken: the ConfigMap's name belongs to someone else.
var errNameTaken = errors.New("name taken")

// keepRaw writes the whole report into a ConfigMap, before there is a verdict: whoever does it again after a crash finds the same
// there. An error means that another try may succeed; whatever else prevents it is told in the condition RawData, and harms neither
// results nor verdict.
func (r *PerfRunReconciler) keepRaw(ctx context.Context, o stage.Observation, report *measure.Report, status *v1alpha1.PerfRunStatus) error {
	run := o.Run
	missing := func(reason string, err error) {
		setCondition(run, status, v1alpha1.ConditionRawData, metav1.ConditionFalse, reason,
			"the results are whole, but the raw data behind them could not be kept: "+err.Error())
	}
	file, err := rawdata.Encode(rawdata.Name{Namespace: run.Namespace, Name: run.Name}, report, rawdata.Budget)
	if err != nil {
		missing(v1alpha1.ReasonTooLarge, err)
		return nil
	}
	object := plan.RawData(run, rawdata.Key, file.Bytes)
	switch err := r.createRaw(ctx, run, object, file.Digest); {
	case err == nil:
		status.Raw = &v1alpha1.RawData{ConfigMap: object.Name, Digest: file.Digest, Bytes: int64(len(file.Bytes)),
			SeriesStep: metav1.Duration{Duration: time.Duration(file.SeriesStep) * time.Second}}
		setCondition(run, status, v1alpha1.ConditionRawData, metav1.ConditionTrue, v1alpha1.ReasonKept,
			fmt.Sprintf("ConfigMap %s holds the histograms and series of every block; `kubectl perfrun raw %s` reads it", object.Name, run.Name))
	case errors.Is(err, errNameTaken):
		missing(v1alpha1.ReasonNameTaken, err)
	case passing(err) && o.Now.Sub(retryingSince(run, o.Now)) < rawPatience:
		setCondition(run, status, v1alpha1.ConditionRawData, metav1.ConditionUnknown, v1alpha1.ReasonRetrying, err.Error())
		return err
	default:
		missing(v1alpha1.ReasonNotWritten, err)
	}
	return nil
}

// createRaw creates the ConfigMap, or finds that it did so before.
func (r *PerfRunReconciler) createRaw(ctx context.Context, run *v1alpha1.PerfRun, object *corev1.ConfigMap, digest string) error {
	err := r.Create(ctx, object)
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			err = fmt.Errorf("creating ConfigMap %s: %w", object.Name, err)
		}
		return err
	}
	found := &corev1.ConfigMap{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(object), found); err != nil {
		return fmt.Errorf("reading ConfigMap %s: %w", object.Name, err)
	}
	switch {
	case !metav1.IsControlledBy(found, run):
		return fmt.Errorf("%w: there is a ConfigMap %s that does not belong to this PerfRun", errNameTaken, object.Name)
	case rawdata.Digest(found.BinaryData[rawdata.Key]) != digest:
		return fmt.Errorf("%w: there is a ConfigMap %s already, and it holds something else", errNameTaken, object.Name)
	}
	return nil
}

// passing tells errors that another try may mend from those that it will not. One that is not the API server's own answer is the way to it.
func passing(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsNotFound(err)
}

// retryingSince is when keeping the raw data first failed; now if it has not yet.
func retryingSince(run *v1alpha1.PerfRun, now time.Time) time.Time {
	c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionRawData)
	if c == nil || c.Status != metav1.ConditionUnknown {
		return now
	}
	return c.LastTransitionTime.Time
}
