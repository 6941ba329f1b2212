package plan

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// end of a connection, as a NetworkPolicy sees it.
type end struct {
	namespace string
	labels    map[string]string
}

func matches(t *testing.T, s *metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	return selector.Matches(labels.Set(of))
}

// allowed says what a network that enforces the policies does with a connection: pods that no policy selects take all, others what one of the
// policies lets in (Kubernetes' documentation, "Network Policies").
func allowed(t *testing.T, all []*networkingv1.NetworkPolicy, from, to end, port int32) bool {
	t.Helper()
	selected := false
	for _, p := range all {
		if p.Namespace != to.namespace || !matches(t, &p.Spec.PodSelector, to.labels) {
			continue
		}
		selected = true
		for _, rule := range p.Spec.Ingress {
			open := len(rule.Ports) == 0
			for _, allowed := range rule.Ports {
				open = open || allowed.Port.IntVal == port
			}
			for _, peer := range rule.From {
				here := peer.NamespaceSelector == nil && from.namespace == p.Namespace ||
					peer.NamespaceSelector != nil && matches(t, peer.NamespaceSelector, map[string]string{"kubernetes.io/metadata.name": from.namespace})
				if open && here && (peer.PodSelector == nil || matches(t, peer.PodSelector, from.labels)) {
					return true
				}
			}
		}
	}
	return !selected
}

func TestPoliciesLetThroughWhatARunNeedsAndNothingElse(t *testing.T) {
	r := run(greedy)
	op := operator()
	op.CallsFrom = "perfrun-system"
	all := ObjectsOf(r, r.Spec.EffectiveSettings(), op).Policies
	other := run()
	other.UID = "another"
	pod := func(r *v1alpha1.PerfRun, role string) end { return end{r.Namespace, Labels(r, role)} }
	manager := end{"perfrun-system", map[string]string{"app.kubernetes.io/component": "manager"}}
	injector := end{"dapr-system", map[string]string{"app": "dapr-sidecar-injector"}}
	stranger := end{r.Namespace, map[string]string{"app": "shop"}}
	// Labels can be given to any pod by whoever may create pods: what is in another namespace does not count as the run's.
	impostor := end{"elsewhere", Labels(r, RoleLoadTester)}
	tester, target, sink := pod(r, RoleLoadTester), pod(r, RoleTarget), pod(r, RoleSink)
	for name, tc := range map[string]struct {
		from, to end
		ports    []int32
		want     bool
	}{
		"the operator gives the plan and reads the report":              {manager, tester, []int32{8080}, true},
		"the baseline, and the usage, traces and sidecar of the target": {tester, target, []int32{8080, 8082, 80, 18081, 18082, 50002, 9090, 3501}, true},
		"the target's sidecar answers and asks the caller's":            {target, tester, []int32{50002}, true},
		"both sidecars export, and the load tester reads what came":     {tester, sink, []int32{4317, 8080}, true},
		"the target's sidecar exports":                                  {target, sink, []int32{4317}, true},
		"both need the control plane, whatever its own policies say":    {tester, injector, []int32{50001, 50005, 9090}, true},

		"the operator has no business with":        {manager, target, []int32{8080, 18081, 50002}, false},
		"the operator needs of the load tester":    {manager, tester, []int32{3500, 9090, 50001}, false},
		"a pod of the namespace, load tester":      {stranger, tester, []int32{8080}, false},
		"a pod of the namespace, target":           {stranger, target, []int32{8080, 18081, 18082, 50002, 9090}, false},
		"a pod of the namespace, sink":             {stranger, sink, []int32{4317, 8080}, false},
		"another run's load tester":                {pod(other, RoleLoadTester), target, []int32{8080}, false},
		"a pod elsewhere with the run's labels":    {impostor, target, []int32{8080, 18081}, false},
		"another namespace, load tester's plan":    {impostor, tester, []int32{8080}, false},
		"a policy must not touch what is not ours": {manager, stranger, []int32{80}, true},
	} {
		for _, port := range tc.ports {
			if got := allowed(t, all, tc.from, tc.to, port); got != tc.want {
				t.Errorf("%s: port %d: allowed %t, want %t", name, port, got, tc.want)
			}
		}
	}
	for _, p := range all {
		if len(p.Spec.PolicyTypes) != 1 || p.Spec.PolicyTypes[0] != networkingv1.PolicyTypeIngress {
			t.Errorf("%s: %v: what goes out is to stay as the namespace has it", p.Name, p.Spec.PolicyTypes)
		}
	}
	if fleet := authored()["fleet"]; len(ObjectsOf(fleet, fleet.Spec.EffectiveSettings(), op).Policies) != 1 {
		t.Error("a fleet needs to be called by nobody")
	}
	if len(ObjectsOf(r, r.Spec.EffectiveSettings(), operator()).Policies) != 0 {
		t.Error("there are policies where none are asked for")
	}
}

// TestPoliciesLetThroughEveryAddressOfAPlan: what the operator tells a load tester to call or to read, the run's policies let it.
func TestPoliciesLetThroughEveryAddressOfAPlan(t *testing.T) {
	address := regexp.MustCompile(`\b(10\.0\.0\.\d+):(\d+)`)
	op := operator()
	op.CallsFrom = "perfrun-system"
	for name, r := range authored() {
		s := r.Spec.EffectiveSettings()
		if s.ControlPlane != nil {
			continue
		}
		ends := map[string]end{}
		pod := func(role string) *corev1.Pod {
			ip := fmt.Sprintf("10.0.0.%d", len(ends)+1)
			ends[ip] = end{r.Namespace, Labels(r, role)}
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: role + ip}, Status: corev1.PodStatus{PodIP: ip}}
		}
		pods := Pods{LoadTesters: []*corev1.Pod{pod(RoleLoadTester)}, Targets: []*corev1.Pod{pod(RoleTarget), pod(RoleJoining)}, Sink: pod(RoleSink)}
		objects := ObjectsOf(r, s, op)
		plans := Measurements(r, s, v1alpha1.Attempt{ID: AttemptID(0), LoadTesters: []v1alpha1.LoadTester{{Instance: "a"}}}, pods)
		text, err := json.Marshal(plans)
		if err != nil {
			t.Fatal(err)
		}
		found := address.FindAllStringSubmatch(string(text), -1)
		for _, a := range found {
			port, err := strconv.ParseInt(a[2], 10, 32)
			if err != nil || !allowed(t, objects.Policies, ends["10.0.0.1"], ends[a[1]], int32(port)) {
				t.Errorf("%s: the load tester may not call %s of %v (%v)", name, a[0], ends[a[1]].labels, err)
			}
		}
		if len(found) < 4 {
			t.Errorf("%s: only %d addresses are in the plan: %s", name, len(found), text)
		}
	}
}
