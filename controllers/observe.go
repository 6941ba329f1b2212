package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/plan"
	"perfrun.dev/perfrun/internal/stage"
)

// observe reads all that the run's stage needs, before anything is decided.
func (r *PerfRunReconciler) observe(ctx context.Context, run *v1alpha1.PerfRun) (stage.Observation, error) {
	o := stage.Observation{Now: r.Now(), Run: run, Settings: run.Spec.EffectiveSettings(), PrepareTimeout: r.PrepareTimeout, JavaHost: r.JavaHostImage != ""}
	phase := run.Status.Phase
	if run.DeletionTimestamp == nil && (phase == "" || phase == v1alpha1.PhaseQueued) {
		var err error
		o.Ahead, err = r.ahead(ctx, run)
		return o, err
	}
	if err := r.observeWorkloads(ctx, &o); err != nil {
		return o, err
	}
	switch {
	case run.DeletionTimestamp != nil, phase == v1alpha1.PhaseSuspended, stage.HalfMade(run):
		return o, r.observeLeft(ctx, &o)
	case stage.Stops(run):
		// Nothing that is in Dapr's way, or in the load tester's, is in the way of stopping.
		return o, nil
	}
	switch phase {
	case v1alpha1.PhasePreparing:
		if err := r.observeDapr(ctx, &o); err != nil {
			return o, err
		}
		if err := r.observeComponents(ctx, &o); err != nil {
			return o, err
		}
		if err := r.observeObjects(ctx, &o); err != nil {
			return o, err
		}
		r.observeTesters(ctx, &o)
	case v1alpha1.PhaseMeasuring, v1alpha1.PhaseCollecting:
		r.observeTesters(ctx, &o)
		var err error
		o.Beside, err = r.beside(ctx, run)
		return o, err
	}
	return o, nil
}

// observeDapr looks for Dapr past the cache: none of it is ours.
func (r *PerfRunReconciler) observeDapr(ctx context.Context, o *stage.Observation) error {
	for _, gvk := range []schema.GroupVersionKind{dapr.ConfigurationGVK, dapr.ComponentGVK} {
		if _, err := r.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
			if meta.IsNoMatchError(err) {
				return nil
			}
			return fmt.Errorf("looking for Dapr's %s kind: %w", gvk.Kind, err)
		}
	}
	o.Dapr.CRDs = true
	var err error
	if o.Dapr.Namespace, err = r.daprNamespace(ctx); err != nil || o.Dapr.Namespace == "" {
		return err
	}
	o.Dapr.ControlPlane, err = r.controlPlane(ctx, o.Dapr.Namespace)
	if apierrors.IsForbidden(err) {
		o.Dapr.Forbidden = err.Error()
		return nil
	}
	return err
}

// daprNamespace is where Dapr's control plane is; empty if its injector is not registered.
func (r *PerfRunReconciler) daprNamespace(ctx context.Context) (string, error) {
	if r.DaprNamespace != "" {
		return r.DaprNamespace, nil
	}
	webhook := &admissionv1.MutatingWebhookConfiguration{}
	if err := r.Live.Get(ctx, client.ObjectKey{Name: dapr.InjectorWebhook}, webhook); err != nil {
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "", fmt.Errorf("looking for Dapr's injector: %w", err)
	}
	return dapr.InjectorNamespace(webhook), nil
}

func (r *PerfRunReconciler) controlPlane(ctx context.Context, namespace string) ([]corev1.Pod, error) {
	selector, err := labels.Parse(dapr.ControlPlaneSelector())
	if err != nil {
		return nil, fmt.Errorf("selecting Dapr's control plane: %w", err)
	}
	var pods corev1.PodList
	if err := r.Live.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("listing Dapr's control plane: %w", err)
	}
	return pods.Items, nil
}

// observeComponents reads the namespace's Components where one of them is to keep actors' state.
func (r *PerfRunReconciler) observeComponents(ctx context.Context, o *stage.Observation) error {
	if !o.Dapr.CRDs || o.Settings.Actors == nil {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(dapr.ComponentGVK)
	if err := r.Live.List(ctx, list, client.InNamespace(o.Run.Namespace)); err != nil {
		return fmt.Errorf("listing Dapr's Components: %w", err)
	}
	for i := range list.Items {
		o.Components = append(o.Components, dapr.ComponentOf(&list.Items[i]))
	}
	return nil
}

// observeObjects tells which of the run's objects are missing, and which names are taken by someone else.
func (r *PerfRunReconciler) observeObjects(ctx context.Context, o *stage.Observation) error {
	if !o.Dapr.CRDs {
		return nil
	}
	for _, want := range r.wanted(o) {
		found := &metav1.PartialObjectMetadata{}
		found.SetGroupVersionKind(want.GetObjectKind().GroupVersionKind())
		err := r.Live.Get(ctx, client.ObjectKeyFromObject(want), found)
		name := want.GetObjectKind().GroupVersionKind().Kind + " " + want.GetName()
		switch {
		case apierrors.IsNotFound(err):
			o.Missing = append(o.Missing, name)
		case err != nil:
			return fmt.Errorf("looking for %s: %w", name, err)
		case !metav1.IsControlledBy(found, o.Run):
			o.Taken = append(o.Taken, name)
		}
	}
	if len(o.Missing) == len(r.wanted(o)) {
		return r.observeFormer(ctx, o)
	}
	return nil
}

// observeFormer looks for pods of the run before it has made any: they would answer in place of those to come.
func (r *PerfRunReconciler) observeFormer(ctx context.Context, o *stage.Observation) error {
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(o.Run.Namespace), client.MatchingLabels{plan.LabelRun: string(o.Run.UID)}); err != nil {
		return fmt.Errorf("listing the pods of an attempt that was stopped: %w", err)
	}
	for i := range pods.Items {
		o.Former = append(o.Former, pods.Items[i].Name)
	}
	return nil
}

// observeLeft names what there is of the run's objects.
func (r *PerfRunReconciler) observeLeft(ctx context.Context, o *stage.Observation) error {
	left, err := r.left(ctx, o)
	for _, object := range left {
		o.Left = append(o.Left, object.Kind+" "+object.Name)
	}
	return err
}

// left are the run's objects that exist, of those that clean-up deletes.
func (r *PerfRunReconciler) left(ctx context.Context, o *stage.Observation) ([]*metav1.PartialObjectMetadata, error) {
	var out []*metav1.PartialObjectMetadata
	for _, object := range r.objects(o) {
		found := &metav1.PartialObjectMetadata{}
		found.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
		err := r.Live.Get(ctx, client.ObjectKeyFromObject(object), found)
		switch {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			// Also where Dapr has been uninstalled meanwhile, and its kinds with it.
		case err != nil:
			return nil, fmt.Errorf("looking for %s: %w", object.GetName(), err)
		case metav1.IsControlledBy(found, o.Run):
			out = append(out, found)
		}
	}
	return out, nil
}

// wanted are the objects that are to be there by now.
func (r *PerfRunReconciler) wanted(o *stage.Observation) []client.Object {
	if o.Settings.ControlPlane != nil {
		return r.objects(o)
	}
	objects := plan.ObjectsOf(o.Run, o.Settings, r.operator())
	out := groundwork(objects)
	switch {
	case plan.TargetFirst(o.Settings) && !placed(o.Target):
		return append(out, objects.Target)
	case plan.LoadTesterFirst(o.Settings) && !placed(o.LoadTester):
		return append(out, objects.LoadTester)
	default:
		return append(out, objects.Target, objects.LoadTester)
	}
}

// placed tells whether a workload's first pod has a node.
func placed(w stage.Workload) bool {
	pod := w.Pod()
	return pod != nil && pod.Spec.NodeName != ""
}

// objects are all that a run has, in the order in which they are created: a sidecar that starts looks for what it reads first.
func (r *PerfRunReconciler) objects(o *stage.Observation) []client.Object {
	objects := plan.ObjectsOf(o.Run, o.Settings, r.operator())
	if objects.Fleet != nil {
		return append(read(objects), objects.Fleet)
	}
	return append(groundwork(objects), objects.Target, objects.LoadTester)
}

// groundwork are the objects that come before the Deployments with sidecars.
func groundwork(objects plan.Objects) []client.Object {
	out := append(read(objects), objects.Service)
	if objects.Sink != nil {
		out = append(out, objects.SinkService, objects.Sink)
	}
	if objects.Joining != nil {
		out = append(out, objects.Joining)
	}
	return out
}

// read are the objects that are to be there before any pod: what sidecars read when they start, and who may call them.
func read(objects plan.Objects) []client.Object {
	out := []client.Object{objects.Configuration}
	for _, p := range objects.Policies {
		out = append(out, p)
	}
	if objects.StateStore != nil {
		out = append(out, objects.StateStore)
	}
	return out
}

func (r *PerfRunReconciler) observeWorkloads(ctx context.Context, o *stage.Observation) error {
	if o.Settings.ControlPlane != nil {
		return r.observeFleet(ctx, o, plan.NamesOf(o.Run).Fleet, plan.RoleFleet, &o.Fleet)
	}
	names := plan.NamesOf(o.Run)
	var err error
	if o.LoadTester, err = r.workload(ctx, o.Run, names.LoadTester, plan.RoleLoadTester, int(o.Settings.LoadTesterReplicas)); err != nil {
		return err
	}
	if o.Target, err = r.workload(ctx, o.Run, names.Target, plan.RoleTarget, o.Settings.Hosts()); err != nil {
		return err
	}
	if o.Settings.Rebalances() {
		if err := r.observeFleet(ctx, o, names.Joining, plan.RoleJoining, &o.Joining); err != nil {
			return err
		}
	}
	if !o.Settings.Export {
		return nil
	}
	o.Sink, err = r.workload(ctx, o.Run, names.Sink, plan.RoleSink, 1)
	return err
}

// workload reads a Deployment of the run and its newest pods that are not on their way out, from the cache.
func (r *PerfRunReconciler) workload(ctx context.Context, run *v1alpha1.PerfRun, name, role string, replicas int) (stage.Workload, error) {
	var out stage.Workload
	deployment := &appsv1.Deployment{}
	err := r.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: name}, deployment)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return out, fmt.Errorf("reading Deployment %s: %w", name, err)
	case err == nil && metav1.IsControlledBy(deployment, run):
		out.Deployment = deployment
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(run.Namespace),
		client.MatchingLabels{plan.LabelRun: string(run.UID), plan.LabelRole: role}); err != nil {
		return out, fmt.Errorf("listing the pods of %s: %w", name, err)
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.DeletionTimestamp == nil {
			out.Pods = append(out.Pods, pod)
		}
	}
	byName := func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(out.Pods, func(a, b *corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), byName(a, b))
	})
	out.Pods = out.Pods[:min(len(out.Pods), replicas)]
	slices.SortFunc(out.Pods, byName)
	return out, nil
}
