package plan

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// policies keep others from the run's pods: those of a run talk to each other, and the operator talks to the load testers. Only what comes in is
// limited. Sidecars ask Dapr's control plane, load testers read its counters, and neither is ever called by it.
func policies(run *v1alpha1.PerfRun, s v1alpha1.Settings, op Operator) []*networkingv1.NetworkPolicy {
	if op.CallsFrom == "" {
		return nil
	}
	names := NamesOf(run)
	own := map[string]string{LabelRun: string(run.UID)}
	out := []*networkingv1.NetworkPolicy{policy(run, names.Configuration, own, networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: own}}},
	})}
	if s.ControlPlane != nil {
		return out
	}
	return append(out, policy(run, names.LoadTester, selector(run, RoleLoadTester), networkingv1.NetworkPolicyIngressRule{
		// The label that the API server itself gives to every namespace.
		From: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: op.CallsFrom}}}},
		Ports: []networkingv1.NetworkPolicyPort{{
			Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt32(measure.LoadTesterPort))}},
	}))
}

func policy(run *v1alpha1.PerfRun, name string, pods map[string]string, ingress networkingv1.NetworkPolicyIngressRule) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: meta(run, name, ""),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: pods},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{ingress},
		},
	}
}
