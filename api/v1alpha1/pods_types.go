package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// SidecarSettings configures the Dapr sidecars, by the annotations that Dapr's injector reads.
type SidecarSettings struct {
	// cpu is each sidecar's CPU limit; "0" sets none. Default 500m, as published.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity('0'))",message="sidecar.cpu must be a number of CPUs, 0 or more, such as 500m or 1"
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// memory is each sidecar's memory limit; unset or "0" sets none.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity('0'))",message="sidecar.memory must be a number of bytes, 0 or more, such as 256Mi"
	Memory *resource.Quantity `json:"memory,omitempty"`

	// image is the sidecar's image. Unset: the one that the cluster's Dapr injects.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image *string `json:"image,omitempty"`

	// logLevel is the sidecar's log level. Unset: Dapr's default, info.
	// +optional
	// +kubebuilder:validation:Enum=debug;info;warn;error
	LogLevel *string `json:"logLevel,omitempty"`
}

// LoadTesterSettings configures the pods that send the load.
type LoadTesterSettings struct {
	PodSettings `json:",inline"`

	// replicas is the number of load tester pods, each with a Dapr sidecar of its own, that the connections and the rate of requests are
	// divided among evenly; from 1 to 16, and every number of connections must be a multiple of it. More than one is for a load that one
	// pod, or its sidecar, cannot carry. Default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	Replicas *int32 `json:"replicas,omitempty"`
}

// PodSettings configures the pods of the load tester or of the target.
type PodSettings struct {
	// resources of the main container. Unset: no limits, so that only the sidecars are held back, and a request of CPU (500m for the
	// load tester, 100m for the target), without which the sidecars would be served first on a busy node.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[has(self.requests) ? self.requests : {}, has(self.limits) ? self.limits : {}].all(m, m.all(k, isQuantity(string(m[k])) && !quantity(string(m[k])).isLessThan(quantity('0'))))",message="resources.requests and resources.limits must be quantities, 0 or more, such as 500m or 256Mi"
	// +kubebuilder:validation:XValidation:rule="!has(self.claims)",message="resources takes requests and limits only, no claims"
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// nodeSelector limits the nodes that the pod may run on.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations let the pod run on tainted nodes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// imagePullSecrets name Secrets in the PerfRun's namespace for pulling the pod's images.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
}

// TargetSettings configures the target's pod and says what application is under test: perfrun's own, or an image of the user's. That one
// answers POST /echo with any 2xx, or over gRPC AppCallback/OnInvoke (with invocation.proxying, perfrun.v1.Echo/Echo), or in scenario Actors
// hosts actors.type; it runs as a numeric user other than root, with a read-only root file system and without capabilities.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) || !has(self.runAsUser)",fieldPath=".runAsUser",message="target.runAsUser needs target.image: perfrun's own application has its own"
// +kubebuilder:validation:XValidation:rule="has(self.image) || !has(self.args)",fieldPath=".args",message="target.args needs target.image: perfrun's own application takes none"
// +kubebuilder:validation:XValidation:rule="has(self.image) || !has(self.port)",fieldPath=".port",message="target.port needs target.image: perfrun's own application has its own"
type TargetSettings struct {
	PodSettings `json:",inline"`

	// image of the application. Unset: perfrun's own, which answers each request with its body, and counts how many were sampled;
	// with another image the sampling is not observed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image *string `json:"image,omitempty"`

	// args of the image's entry point, at most 32. Unset: the image's own.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	Args []string `json:"args,omitempty"`

	// port that the image's application serves invocation.target's protocol on, on all of the pod's addresses; from 1 to 65535, but for
	// those that Dapr's sidecar and perfrun's meter have in the same pod. Default 8080.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:XValidation:rule="!(self in [3500, 3501, 7777, 9090, 18081, 50001, 50002])",message="target.port must not be 3500, 3501, 7777, 9090, 50001 or 50002, which Dapr's sidecar has in the same pod, nor 18081, which is perfrun's meter's"
	Port *int32 `json:"port,omitempty"`

	// runAsUser is the numeric user that the image's process runs as; from 1 to 2147483647. Unset: the image's own, which must then be
	// numeric and not root, or the kubelet refuses to start it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	RunAsUser *int64 `json:"runAsUser,omitempty"`
}
