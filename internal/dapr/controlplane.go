package dapr

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
)

// InjectorWebhook is the name of the MutatingWebhookConfiguration that Dapr's Helm chart installs.
const InjectorWebhook = "dapr-sidecar-injector"

// Part is one part of Dapr's control plane.
type Part string

// The parts of the control plane.
const (
	Operator  Part = "operator"
	Sentry    Part = "sentry"
	Injector  Part = "injector"
	Placement Part = "placement"
	Scheduler Part = "scheduler"
)

// parts by the value of the label "app" that Dapr's Helm chart gives to the pods.
var parts = map[string]Part{
	"dapr-operator":         Operator,
	"dapr-sentry":           Sentry,
	"dapr-sidecar-injector": Injector,
	"dapr-placement-server": Placement,
	"dapr-scheduler-server": Scheduler,
}

// ControlPlaneSelector selects the control plane's pods in Dapr's namespace.
func ControlPlaneSelector() string {
	apps := make([]string, 0, len(parts))
	for app := range parts {
		apps = append(apps, app)
	}
	slices.Sort(apps)
	return "app in (" + strings.Join(apps, ",") + ")"
}

// PartOf tells which part of the control plane a pod is; false if it is none.
func PartOf(pod *corev1.Pod) (Part, bool) {
	p, ok := parts[pod.Labels["app"]]
	return p, ok
}

// Installation is what is known of a cluster's Dapr.
type Installation struct {
	// CRDs: the Configuration kind is served.
	CRDs bool
	// Namespace of the control plane, as the injector's webhook names it; empty if the webhook is not registered.
	Namespace string
	// ControlPlane are the control plane's pods.
	ControlPlane []corev1.Pod
	// Forbidden is the API server's refusal to show them; empty if it shows them.
	Forbidden string
}

// VersionOf the control plane, by the label that Dapr's Helm chart gives to its pods; empty if none has it.
func VersionOf(controlPlane []corev1.Pod) string {
	for i := range controlPlane {
		if v := controlPlane[i].Labels["app.kubernetes.io/version"]; v != "" {
			return v
		}
	}
	return ""
}

// InjectorNamespace is the namespace of the service that a webhook configuration sends pods to; empty if it names none.
func InjectorNamespace(webhook *admissionv1.MutatingWebhookConfiguration) string {
	for _, w := range webhook.Webhooks {
		if w.ClientConfig.Service != nil {
			return w.ClientConfig.Service.Namespace
		}
	}
	return ""
}

// InjectorReady tells whether a pod of the sidecar injector can answer. Dapr's webhook fails open: without a ready injector,
// pods are admitted without their sidecar.
func (i Installation) InjectorReady() bool {
	return slices.ContainsFunc(i.ControlPlane, func(pod corev1.Pod) bool {
		part, ok := PartOf(&pod)
		return ok && part == Injector && ready(&pod)
	})
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
