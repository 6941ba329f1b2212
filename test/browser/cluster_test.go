package browser

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dashboard"
	"perfrun.dev/perfrun/internal/rawdata"
	"perfrun.dev/perfrun/internal/trend"
)

// cluster is a real API server. There is no operator: the tests write the statuses.
type cluster struct {
	server *envtest.Environment
	admin  client.WithWatch
	scheme *runtime.Scheme
}

// stopServer ends the API server, if there is one.
var stopServer = func() {}

// api is shared by the tests, each of which has namespaces of its own.
var api = sync.OnceValues(func() (*cluster, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil, errors.New("KUBEBUILDER_ASSETS names no folder with kube-apiserver and etcd; `make test` finds or builds one")
	}
	log.SetLogger(logr.Discard())
	c := &cluster{scheme: runtime.NewScheme(), server: &envtest.Environment{
		CRDDirectoryPaths: []string{"../../config/crd/bases"}, ErrorIfCRDPathMissing: true, ControlPlaneStartTimeout: 2 * time.Minute,
	}}
	utilruntime.Must(corev1.AddToScheme(c.scheme))
	utilruntime.Must(rbacv1.AddToScheme(c.scheme))
	utilruntime.Must(v1alpha1.AddToScheme(c.scheme))
	config, err := c.server.Start()
	if err != nil {
		return nil, err
	}
	stopServer = func() { _ = c.server.Stop() }
	config.QPS = -1
	c.admin, err = client.NewWithWatch(config, client.Options{Scheme: c.scheme})
	return c, err
})

func theCluster(t *testing.T) *cluster {
	t.Helper()
	c, err := api()
	must(t, err)
	return c
}

// link is a connection to the API server that can be cut.
type link struct {
	mu   sync.Mutex
	down bool
	open map[net.Conn]bool
}

func (l *link) dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return nil, errors.New("the link is cut")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		l.open[conn] = true
	}
	return conn, err
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for conn := range l.open {
		_ = conn.Close()
	}
	clear(l.open)
}

func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}

// serve a dashboard with this user's rights.
func (c *cluster) serve(t *testing.T, user *rest.Config, o dashboard.Options) (address string, l *link) {
	t.Helper()
	l = &link{open: map[net.Conn]bool{}}
	config := rest.CopyConfig(user)
	config.Dial, config.QPS = l.dial, -1
	var err error
	o.Client, err = client.NewWithWatch(config, client.Options{Scheme: c.scheme})
	must(t, err)
	o.Cluster = "kind-perf"
	_, raw := sweep(t)
	o.Raw = func(context.Context, *v1alpha1.PerfRun) (*rawdata.Document, error) { return raw, nil }
	d := dashboard.New(o)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { d.Run(ctx); close(ended) }()
	server := httptest.NewServer(d)
	t.Cleanup(func() { stop(); server.Close(); <-ended })
	return d.Address(server.Listener.Addr().String()), l
}

// user with a role of these rules in a namespace; in none: no rights at all.
func (c *cluster) user(t *testing.T, name, namespace string) *rest.Config {
	t.Helper()
	user, err := c.server.AddUser(envtest.User{Name: name}, nil)
	must(t, err)
	if namespace != "" {
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "viewer"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"perfrun.dev"}, Resources: []string{"perfruns", "perfschedules", "perfseries"}, Verbs: []string{"get", "list", "watch"}}}}
		must(t, c.admin.Create(t.Context(), role))
		must(t, c.admin.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "viewer"},
			RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "viewer"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: name}}}))
	}
	return user.Config()
}

func (c *cluster) namespace(t *testing.T, name string) string {
	t.Helper()
	must(t, c.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	return name
}

// run with this status.
func (c *cluster) run(t *testing.T, namespace, name string, status v1alpha1.PerfRunStatus) *v1alpha1.PerfRun {
	t.Helper()
	run := &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioInvocation}}
	must(t, c.admin.Create(t.Context(), run))
	run.Status = status
	must(t, c.admin.Status().Update(t.Context(), run))
	return run
}

// finished is the status of the run that testdata has.
func finished(t *testing.T) v1alpha1.PerfRunStatus {
	run, _ := sweep(t)
	return run.Status
}

func waiting(phase v1alpha1.Phase, place int32, message string) v1alpha1.PerfRunStatus {
	return v1alpha1.PerfRunStatus{Phase: phase, QueuePosition: place, Conditions: []metav1.Condition{{
		Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: "Queued", Message: message, LastTransitionTime: metav1.Now()}}}
}

func measuring(percent int32) v1alpha1.PerfRunStatus {
	s := waiting(v1alpha1.PhaseMeasuring, 0, "measuring")
	s.Progress = &v1alpha1.Progress{Block: percent / 10, Blocks: 12, Percent: percent, Display: fmt.Sprintf("%d%%", percent), Activity: "block 5 of 12, Dapr",
		EstimatedCompletion: &metav1.Time{Time: time.Now().Add(time.Minute)}}
	return s
}

// regressed is a schedule of 30 nights; from the 20th on, Dapr adds a third more to p99, and before the 8th it was another Dapr.
func (c *cluster) regressed(t *testing.T, namespace, name string) *v1alpha1.PerfSchedule {
	t.Helper()
	series := &v1alpha1.PerfSeries{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	noise := rand.New(rand.NewPCG(1, 2))
	run, _ := sweep(t)
	run.Status.Results = run.Status.Results[2:]
	first := time.Date(2026, 10, 1, 3, 0, 0, 0, time.UTC)
	for i := range 30 {
		one := run.DeepCopy()
		one.Name, one.UID = fmt.Sprintf("%s-%d", name, i), ""
		one.Status.StartTime = &metav1.Time{Time: first.AddDate(0, 0, i)}
		one.Status.Environment.Dapr = "1.18.0"
		if i < 8 {
			one.Status.Environment.Dapr = "1.17.0"
		}
		p99 := 6e6 * (1 + 0.03*noise.NormFloat64())
		if i >= 20 {
			p99 *= 1.33
		}
		one.Status.Results[0].Added.P99 = &v1alpha1.AddedLatency{Value: v1alpha1.NewLatency(time.Duration(p99)),
			Low: new(v1alpha1.NewLatency(time.Duration(p99 * 0.93))), High: new(v1alpha1.NewLatency(time.Duration(p99 * 1.1)))}
		_, err := trend.Add(series, one)
		must(t, err)
	}
	must(t, c.admin.Create(t.Context(), series))
	schedule := &v1alpha1.PerfSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.PerfScheduleSpec{Schedule: "0 3 * * *", RunTemplate: v1alpha1.RunTemplate{Spec: v1alpha1.PerfRunSpec{Scenario: v1alpha1.ScenarioInvocation}}}}
	must(t, c.admin.Create(t.Context(), schedule))
	settings := v1alpha1.ScheduleSettings{Schedule: "0 3 * * *", TimeZone: "Etc/UTC", ConcurrencyPolicy: v1alpha1.ConcurrencyForbid, MinChange: "0.05"}
	found, err := trend.Analyse(series, settings)
	must(t, err)
	schedule.Status = v1alpha1.PerfScheduleStatus{Settings: &settings, Results: found.Results, Changes: found.Changes, Steps: found.Steps,
		Series:           &v1alpha1.SeriesReference{Name: name, Results: int32(len(series.Results))},
		NextScheduleTime: &metav1.Time{Time: time.Now().Add(5 * time.Hour)}, LastScheduleTime: &metav1.Time{Time: first.AddDate(0, 0, 29)},
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionRegressed, Status: found.Regressed, Reason: found.Reason, Message: found.Message, LastTransitionTime: metav1.Now()}}}
	must(t, c.admin.Status().Update(t.Context(), schedule))
	return schedule
}
