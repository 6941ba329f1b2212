package controllers

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/loadtester"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/meter"
	"perfrun.dev/perfrun/internal/plan"
	"perfrun.dev/perfrun/internal/target"
)

// kubelet does for one run what Kubernetes and Dapr do elsewhere, since envtest has an API server only: it makes a Deployment's pod and
// runs what the pod's container says, the project's own load tester and target, each on a loopback address of its own.
// In place of the two sidecars stands a plain proxy, and in place of cluster DNS the plan's URL is rewritten on its way to the load tester.
// What real sidecars do is tested in test/e2e.
type kubelet struct {
	namespace, base string
	// made are the pods that were made of each role: one that goes does not come back while its Deployment is there.
	made map[string]int32
	// reader of Deployments.
	reader   client.Reader
	targetIP string
	// testerIP is the first load tester's.
	testerIP string
	// requests that reached the target's application.
	requests atomic.Int64
	// deaf: so many calls that end a load get no answer, and are not heard.
	deaf atomic.Int64
	// posted counts plans on their way to the load tester.
	posted atomic.Int64
	mu     sync.Mutex
	// stop ends what runs on an address.
	stop    map[string]context.CancelFunc
	proxies []*httptest.Server
}

// subnet gives each kubelet loopback addresses that no other has, nor probably that of a suite that runs at the same time.
var subnet atomic.Int32

func newKubelet(namespace, run string) *kubelet {
	k := makeKubelet(namespace, run)
	DeferCleanup(k.close)
	return k
}

// makeKubelet is for whoever closes it before the spec is over.
func makeKubelet(namespace, run string) *kubelet {
	n := subnet.Add(1)
	net := fmt.Sprintf("127.%d.%d.", 30+(os.Getpid()+int(n/250))%200, n%250)
	return &kubelet{namespace: namespace, base: run, made: map[string]int32{}, reader: admin, stop: map[string]context.CancelFunc{}, testerIP: net + "1", targetIP: net + "2"}
}

// close ends all pods, and the way between them.
func (k *kubelet) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, stop := range k.stop {
		stop()
	}
	for _, proxy := range k.proxies {
		proxy.Close()
	}
	clear(k.stop)
}

// sync makes the pods of the run's Deployments, and runs them.
func (k *kubelet) sync(ctx context.Context) {
	for role, ip := range map[string]string{plan.RoleTarget: k.targetIP, plan.RoleLoadTester: k.testerIP} {
		deployment := &appsv1.Deployment{}
		err := k.reader.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: k.base + "-" + role}, deployment)
		if apierrors.IsNotFound(err) {
			if k.made[role] > 0 {
				k.collect(ctx, role)
				k.made[role] = 0
			}
			continue
		}
		Expect(err).NotTo(HaveOccurred())
		for replica := range *deployment.Spec.Replicas {
			k.syncPod(ctx, deployment, role, replica, ip)
			ip = fmt.Sprintf("%s%d", ip, replica+1)
		}
	}
}

// collect does what Kubernetes does with the pods of a Deployment that is gone.
func (k *kubelet) collect(ctx context.Context, role string) {
	var pods corev1.PodList
	Expect(admin.List(ctx, &pods, client.InNamespace(k.namespace), client.MatchingLabels{plan.LabelRole: role})).To(Succeed())
	for i := range pods.Items {
		Expect(client.IgnoreNotFound(admin.Delete(ctx, &pods.Items[i], client.GracePeriodSeconds(0)))).To(Succeed())
		ip := pods.Items[i].Status.PodIP
		k.kill(ip)
		for _, port := range []int{measure.LoadTesterPort, measure.TargetTracesPort, measure.TargetUsagePort, internalPort} {
			Eventually(func() error {
				l, err := net.Listen("tcp", address(ip, port))
				if err == nil {
					err = l.Close()
				}
				return err
			}).WithContext(ctx).WithTimeout(5*time.Second).Should(Succeed(), "whoever served on it does not end")
		}
	}
}

// internalPort is that of a sidecar for other sidecars.
const internalPort = 50002

func (k *kubelet) syncPod(ctx context.Context, deployment *appsv1.Deployment, role string, replica int32, ip string) {
	if k.made[role] > replica {
		return
	}
	k.made[role]++
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: k.namespace, Name: fmt.Sprintf("%s-pod%d", deployment.Name, replica), Labels: deployment.Spec.Template.Labels},
		Spec: deployment.Spec.Template.Spec}
	pod.Spec.NodeName = "node-of-" + role
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: dapr.SidecarContainer, Image: "daprd"})
	Expect(admin.Create(ctx, pod)).To(Succeed())
	k.start(role, ip, deployment.Spec.Template.Spec.Containers[0].Args)
	pod.Status = readyStatus(ip)
	Expect(admin.Status().Update(ctx, pod)).To(Succeed())
}

func (k *kubelet) start(role, ip string, args []string) {
	ctx, cancel := context.WithCancel(context.Background())
	k.mu.Lock()
	k.stop[ip] = cancel
	k.mu.Unlock()
	if role == plan.RoleLoadTester {
		k.startTester(ctx, ip, args)
		return
	}
	k.startTarget(ctx, args)
}

// processes stands for the /proc of every pod: it shows this process and, as the application, the one that has started it, whatever else the
// machine has.
var processes string

func showProcesses() {
	var err error
	processes, err = os.MkdirTemp("", "perfrun-proc-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, processes)
	self, parent := strconv.Itoa(os.Getpid()), strconv.Itoa(os.Getppid())
	for name, to := range map[string]string{"self": self, self: "/proc/" + self, parent: "/proc/" + parent, "stat": "/proc/stat"} {
		Expect(os.Symlink(to, filepath.Join(processes, name))).To(Succeed())
	}
}

func flagsOf(args []string) map[string]string {
	flags := map[string]string{}
	for _, a := range args {
		name, value, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		flags[name] = value
	}
	return flags
}

func (k *kubelet) startTester(ctx context.Context, ip string, args []string) {
	flags := flagsOf(args)
	key, err := measure.ParsePublicKey(flags["public-key"])
	Expect(err).NotTo(HaveOccurred())
	serve(ctx, func() error {
		// Plans come with the proxy's address in place of the Service's name.
		return loadtester.Serve(ctx, loadtester.Options{Addr: ip + ":8080", Run: flags["run"], Target: "127.0.0.1", PublicKey: key, ProcRoot: processes, Log: slog.New(slog.DiscardHandler)})
	}, ip+":8080")
}

func (k *kubelet) startTarget(ctx context.Context, args []string) {
	actorType := flagsOf(args)["actor-type"]
	serve(ctx, func() error {
		return target.Serve(ctx, target.Options{Addr: address(k.targetIP, measure.TargetPort), TracesAddr: address(k.targetIP, measure.TargetTracesPort), ActorType: actorType})
	}, address(k.targetIP, measure.TargetPort))
	serve(ctx, func() error {
		return meter.Serve(ctx, meter.Options{Addr: address(k.targetIP, measure.TargetUsagePort), ProcRoot: processes})
	}, address(k.targetIP, measure.TargetUsagePort))
	// The target's sidecar: TLS on its internal port.
	internal, err := net.Listen("tcp", address(k.targetIP, internalPort))
	Expect(err).NotTo(HaveOccurred())
	sidecar := httptest.NewUnstartedServer(http.NotFoundHandler())
	sidecar.Listener = internal
	sidecar.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	sidecar.StartTLS()
	context.AfterFunc(ctx, sidecar.Close)
	if actorType != "" {
		k.startMetadata(ctx, actorType)
	}
}

// startMetadata is the target's sidecar once it hosts the actor type.
func (k *kubelet) startMetadata(ctx context.Context, actorType string) {
	public, err := net.Listen("tcp", address(k.targetIP, dapr.PublicPort))
	Expect(err).NotTo(HaveOccurred())
	sidecar := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"actorRuntime":{"runtimeStatus":"RUNNING","hostReady":true,"activeActors":[{"type":%q}]}}`, actorType)
	}))
	sidecar.Listener = public
	sidecar.Start()
	context.AfterFunc(ctx, sidecar.Close)
}

func address(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// serve runs a server until its context ends, and waits until it listens.
func serve(ctx context.Context, run func() error, addr string) {
	go func() {
		defer GinkgoRecover()
		Expect(run()).To(Succeed())
	}()
	Eventually(func() error {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			err = c.Close()
		}
		return err
	}).WithContext(ctx).Should(Succeed())
}

// kill ends a pod's process, as the end of its pod does.
func (k *kubelet) kill(ip string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if stop := k.stop[ip]; stop != nil {
		stop()
	}
	delete(k.stop, ip)
}

// RoundTrip stands for cluster DNS and the sidecars: both paths lead to the target, through a proxy that counts.
func (k *kubelet) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodDelete && k.deaf.Add(-1) >= 0 {
		return nil, errLost
	}
	if req.Method == http.MethodPost && req.URL.Path == measure.PathRuns {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		var p measure.Plan
		if err := json.Unmarshal(body, &p); err != nil {
			return nil, err
		}
		proxy := k.proxy()
		for arm, endpoint := range p.Endpoints {
			path := measure.TargetPath
			if _, actor, ok := strings.Cut(endpoint.URL, "/actors/"); ok {
				path = "/actors/" + actor
			}
			endpoint.URL = proxy + path
			p.Endpoints[arm] = endpoint
		}
		if body, err = json.Marshal(p); err != nil {
			return nil, err
		}
		req = req.Clone(req.Context())
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		k.posted.Add(1)
	}
	return http.DefaultTransport.RoundTrip(req)
}

func (k *kubelet) proxy() string {
	to := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: k.targetIP + ":8080"})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.requests.Add(1)
		to.ServeHTTP(w, r)
	}))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.proxies = append(k.proxies, server)
	return server.URL
}
