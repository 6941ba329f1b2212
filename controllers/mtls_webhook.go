package controllers

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/plan"
)

// mtlsPath on the webhook server; config/webhook names it too.
const mtlsPath = "/mtls"

// mtlsWebhook answers the API server about pods that carry the label perfrun.dev/mtls.
type mtlsWebhook struct{ decoder admission.Decoder }

// RegisterMTLSWebhook puts the webhook on a server.
func RegisterMTLSWebhook(server ctrlwebhook.Server, scheme *runtime.Scheme) {
	server.Register(mtlsPath, &ctrlwebhook.Admission{Handler: mtlsWebhook{admission.NewDecoder(scheme)}})
}

// Handle changes the sidecar's arguments, and nothing else of the pod.
func (w mtlsWebhook) Handle(ctx context.Context, req admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := w.decoder.Decode(req, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("decoding the pod: %w", err))
	}
	on, err := strconv.ParseBool(pod.Labels[plan.LabelMTLS])
	if err != nil {
		return admission.Errored(http.StatusBadRequest,
			fmt.Errorf("the label %s is %q: must be true or false", plan.LabelMTLS, pod.Labels[plan.LabelMTLS]))
	}
	patch := dapr.MTLSPatch(pod, on)
	if patch == nil {
		return admission.Allowed("")
	}
	logf.FromContext(ctx).V(1).Info("switching mTLS", "on", on, "namespace", req.Namespace, "pod", pod.GenerateName+pod.Name)
	return admission.Patched("", jsonpatch.NewOperation("add", patch.Path, patch.Args))
}
