package controllers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// The operator's service account, as config/default installs it.
const (
	operatorNamespace = "perfrun-system"
	operatorUser      = "system:serviceaccount:" + operatorNamespace + ":perfrun-controller-manager"
)

// asOperator makes calls as the operator's service account: with the rights of config/rbac, and no others.
func asOperator(administrator *rest.Config) *rest.Config {
	c := rest.CopyConfig(administrator)
	c.Impersonate = rest.ImpersonationConfig{UserName: operatorUser,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + operatorNamespace, "system:authenticated"}}
	return c
}

// rules are a role, whether of a cluster or of a namespace.
type rules struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Rules             []rbacv1.PolicyRule `json:"rules"`
}

// rolesOf are the roles in one of the files of config/rbac.
func rolesOf(file string) (out []rules, err error) {
	f, err := os.Open(filepath.Join("..", "config", "rbac", file))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	for decoder := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		var one rules
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		if one.Kind != "" {
			out = append(out, one)
		}
	}
}

// installRights gives the operator's service account what config/rbac has for it.
func installRights(ctx context.Context) {
	GinkgoHelper()
	roles, err := rolesOf("role.yaml")
	Expect(err).NotTo(HaveOccurred())
	cluster := roles[slices.IndexFunc(roles, func(r rules) bool { return r.Kind == "ClusterRole" })]
	Expect(admin.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "perfrun-manager-role"}, Rules: cluster.Rules})).To(Succeed())
	Expect(admin.Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "perfrun-manager-rolebinding"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "perfrun-manager-role"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: operatorUser}}})).To(Succeed())
	Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}})).To(Succeed())
	grantOwnNamespace(ctx, operatorNamespace)
}

// grantOwnNamespace gives the operator the rights of its own namespace in another that stands for it.
func grantOwnNamespace(ctx context.Context, namespace string) {
	GinkgoHelper()
	for _, file := range []string{"role.yaml", "leader_election_role.yaml"} {
		roles, err := rolesOf(file)
		Expect(err).NotTo(HaveOccurred())
		for _, r := range roles {
			if r.Kind != "Role" {
				continue
			}
			meta := metav1.ObjectMeta{Namespace: namespace, Name: r.Name}
			Expect(client.IgnoreAlreadyExists(admin.Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: r.Rules}))).To(Succeed())
			Expect(client.IgnoreAlreadyExists(admin.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta,
				RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: r.Name},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: operatorUser}}}))).To(Succeed())
		}
	}
}

// audited makes the API server write down every call, and treat an owner that blocks its deletion as OpenShift and others do.
func audited(environment *envtest.Environment) (log string) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	Expect(os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"), 0o600)).To(Succeed())
	environment.ControlPlane.GetAPIServer().Configure().
		Set("audit-policy-file", policy).Set("audit-log-path", log).Set("audit-log-mode", "blocking").
		Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	return log
}

// unusedHere are rights of which this suite makes no use, each with what does.
var unusedHere = map[string]string{
	"update perfrun.dev/perfruns/finalizers":      "asked for by the API server's admission, where a run becomes an owner that blocks its deletion; enabled here",
	"update perfrun.dev/perfschedules/finalizers": "the same, where a schedule becomes the owner of its runs and its series",
	"get pods":                   "the manager's own pod, for its image, when it starts",
	"patch events.k8s.io/events": "counts up an event that comes again",
}

// expectRightsUsed holds what the operator asked for in the whole suite against its role: it was never refused, and there is no right that it
// never uses.
func expectRightsUsed(log string) {
	if c, _ := GinkgoConfiguration(); len(c.FocusStrings)+len(c.SkipStrings)+len(c.FocusFiles) > 0 || CurrentSpecReport().Failed() {
		return
	}
	used, refused := asked(log)
	Expect(sets.List(refused)).To(BeEmpty(), "the operator was refused what it asked for")
	roles, err := rolesOf("role.yaml")
	Expect(err).NotTo(HaveOccurred())
	var idle []string
	for _, role := range roles {
		for _, rule := range role.Rules {
			for _, right := range rights(rule) {
				// A cache lists where the API server does not stream what there is at the beginning of a watch.
				_, elsewhere := unusedHere[right]
				if !elsewhere && !used.Has(right) && !used.Has(strings.Replace(right, "list ", "watch ", 1)) {
					idle = append(idle, right)
				}
			}
		}
	}
	Expect(idle).To(BeEmpty(), "the operator has rights that it does not use")
}

func rights(rule rbacv1.PolicyRule) (out []string) {
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				out = append(out, right(verb, group, resource))
			}
		}
	}
	return out
}

func right(verb, group, resource string) string {
	return verb + " " + strings.TrimPrefix(group+"/"+resource, "/")
}

// auditEvent is what counts of audit.k8s.io/v1, Event.
type auditEvent struct {
	Verb             string
	ImpersonatedUser struct{ Username string }
	ObjectRef        struct{ APIGroup, Resource, Subresource string }
	ResponseStatus   struct{ Code int }
}

// asked reads from the audit log what the operator was given and what it was refused.
func asked(log string) (used, refused sets.Set[string]) {
	GinkgoHelper()
	used, refused = sets.New[string](), sets.New[string]()
	f, err := os.Open(log)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e auditEvent
		Expect(json.Unmarshal(lines.Bytes(), &e)).To(Succeed())
		if e.ImpersonatedUser.Username != operatorUser || e.ObjectRef.Resource == "" {
			continue
		}
		resource := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		into := used
		if e.ResponseStatus.Code == http.StatusForbidden {
			into = refused
		}
		into.Insert(right(e.Verb, e.ObjectRef.APIGroup, resource))
	}
	Expect(lines.Err()).NotTo(HaveOccurred())
	return used, refused
}

// listenOn an address of its own.
func listenOn(address string) net.Listener {
	GinkgoHelper()
	l, err := net.Listen("tcp", address)
	Expect(err).NotTo(HaveOccurred())
	return l
}

var _ = Describe("The operator's rights", func() {
	It("suffice for its signing key, and for no other Secret", func(ctx SpecContext) {
		c, err := client.New(asOperator(config), client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		made, err := SigningKey(ctx, c, operatorNamespace)
		Expect(err).NotTo(HaveOccurred())
		found, err := SigningKey(ctx, c, operatorNamespace)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(Equal(made))
	})

	It("suffice to scale a fleet", func(ctx SpecContext) {
		counters := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "process_cpu_seconds_total 1\nprocess_resident_memory_bytes 2\n")
		}))
		Expect(counters.Listener.Close()).To(Succeed())
		counters.Listener = listenOn("127.20.0.1:9090")
		counters.Start()
		DeferCleanup(counters.Close)
		run := newRun(ctx, func(s *v1alpha1.PerfRunSpec) {
			*s = v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioControlPlane, Duration: &metav1.Duration{Duration: time.Hour},
				ControlPlane: &v1alpha1.ControlPlaneSettings{Pods: ptr.To[int32](3)}}
		})
		fresh := newManager(ctx, nil, false)
		tomorrow := func() *PerfRunReconciler {
			r := fresh()
			if reload(ctx, run).Status.Phase == v1alpha1.PhaseMeasuring {
				r.Now = func() time.Time { return time.Now().Add(24 * time.Hour) }
			}
			return r
		}
		fleet := &appsv1.Deployment{}
		Eventually(func() (int32, error) {
			step(ctx, tomorrow, run)
			err := admin.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: "invoke-fleet"}, fleet)
			return ptr.Deref(fleet.Spec.Replicas, 0), client.IgnoreNotFound(err)
		}).WithContext(ctx).WithTimeout(20*time.Second).Should(BeEquivalentTo(3), func() string { return describe(ctx, run) })
	}, SpecTimeout(time.Minute))

	It("suffice to tell of a run's stages in events", func(ctx SpecContext) {
		run := newRun(ctx)
		fresh := newManager(ctx, nil, false)
		Eventually(func() ([]eventsv1.Event, error) {
			step(ctx, fresh, run)
			var list eventsv1.EventList
			err := admin.List(ctx, &list, client.InNamespace(run.Namespace))
			return list.Items, err
		}).WithContext(ctx).WithTimeout(20 * time.Second).Should(ContainElement(HaveField("Regarding.Name", run.Name)))
	}, SpecTimeout(time.Minute))
})

// documented is a row of docs/security.md's table of rights: where, group, resources, names, verbs.
var documented = regexp.MustCompile(`(?m)^\| (cluster|own namespace) \|([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\|([^|]+)\|$`)

// TestEveryRightHasItsReason: the table in docs/security.md and the roles in config/rbac say the same.
func TestEveryRightHasItsReason(t *testing.T) {
	text, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, row := range documented.FindAllStringSubmatch(string(text), -1) {
		cells := row[1:]
		for i := range cells {
			cells[i] = strings.TrimSpace(strings.ReplaceAll(cells[i], "`", ""))
		}
		if len(cells[5]) < 20 {
			t.Errorf("%v: no reason", cells)
		}
		told = append(told, strings.Join(cells[:5], " | "))
	}
	var given []string
	for _, file := range []string{"role.yaml", "leader_election_role.yaml"} {
		roles, err := rolesOf(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range roles {
			where := "own namespace"
			if role.Kind == "ClusterRole" {
				where = "cluster"
			}
			for _, rule := range role.Rules {
				given = append(given, strings.Join([]string{where, listed(rule.APIGroups), listed(rule.Resources), listed(rule.ResourceNames), listed(rule.Verbs)}, " | "))
			}
		}
	}
	slices.Sort(told)
	slices.Sort(given)
	if diff := cmp.Diff(given, told); diff != "" {
		t.Errorf("docs/security.md differs from config/rbac (-config +docs):\n%s", diff)
	}
}

func listed(words []string) string {
	if len(words) == 1 && words[0] == "" {
		return "core"
	}
	sorted := slices.Sorted(slices.Values(words))
	return strings.Join(sorted, ", ")
}

// TestWhatSecurityIsShownByExists: the tests that docs/security.md names.
func TestWhatSecurityIsShownByExists(t *testing.T) {
	text, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, pattern := range []string{"*_test.go", "../internal/*/*_test.go", "../api/*/*_test.go", "../test/*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(source)
		}
	}
	for _, name := range regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w+`).FindAllString(string(text), -1) {
		if !strings.Contains(sources.String(), "func "+name+"(") {
			t.Errorf("%s is not there", name)
		}
	}
	// Specs are quoted with the end of their text.
	for _, spec := range regexp.MustCompile("\\*([^*\n]+)\\* \\((?:controllers|`make e2e`)").FindAllStringSubmatch(string(text), -1) {
		words := strings.Fields(spec[1])
		if tail := strings.Join(words[max(0, len(words)-6):], " "); !strings.Contains(sources.String(), tail+`"`) {
			t.Errorf("no spec ends with %q", tail)
		}
	}
}
