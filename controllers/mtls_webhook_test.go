package controllers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/internal/plan"
	"perfrun.dev/perfrun/internal/servingcert"
)

// replica is an operator process as far as its webhook is concerned.
type replica struct {
	port int
	stop func()
}

// newReplica runs one in a namespace of its own, in place of the operator's.
func newReplica(namespace string, now func() time.Time) *replica {
	GinkgoHelper()
	certificate := &CertificateReconciler{Namespace: namespace, Names: []string{"localhost"}, Now: now}
	port := freePort()
	grantOwnNamespace(context.Background(), namespace)
	mgr, err := ctrl.NewManager(asOperator(config), ctrl.Options{
		Scheme: scheme, Cache: CacheOptions(namespace, nil),
		Metrics:        metricsserver.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "test", LeaderElectionNamespace: namespace, LeaderElectionReleaseOnCancel: true,
		RetryPeriod:             ptr.To(200 * time.Millisecond),
		Controller:              ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
		WebhookServer:           ctrlwebhook.NewServer(ctrlwebhook.Options{Host: "127.0.0.1", Port: port, TLSOpts: []func(*tls.Config){certificate.TLS}}),
		GracefulShutdownTimeout: ptr.To(5 * time.Second),
	})
	Expect(err).NotTo(HaveOccurred())
	certificate.Client, certificate.Live = mgr.GetClient(), mgr.GetAPIReader()
	Expect(certificate.SetupWithManager(mgr)).To(Succeed())
	RegisterMTLSWebhook(mgr.GetWebhookServer(), scheme)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
	r := &replica{port: port, stop: func() { cancel(); <-done }}
	DeferCleanup(r.stop)
	Eventually(func() error { return certificate.Ready(nil) }).WithTimeout(20 * time.Second).Should(Succeed())
	return r
}

func freePort() int {
	GinkgoHelper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// calls asks the replica for a connection as the API server does, with the authorities that it has been told to trust.
func (r *replica) calls(authorities []byte) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authorities)
	conn, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", r.port), &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS12})
	if err == nil {
		_ = conn.Close()
	}
	return err
}

// installWebhook registers the webhook as config/webhook has it, but that the API server finds the server by a port of this machine, and
// calls it for one namespace alone.
func installWebhook(ctx context.Context, namespace string, port int) *admissionv1.MutatingWebhookConfiguration {
	GinkgoHelper()
	text, err := os.ReadFile("../config/webhook/webhook.yaml")
	Expect(err).NotTo(HaveOccurred())
	c := &admissionv1.MutatingWebhookConfiguration{}
	Expect(yaml.UnmarshalStrict(text, c)).To(Succeed())
	Expect(c.Webhooks).To(HaveLen(1))
	w := &c.Webhooks[0]
	Expect([]string{"perfrun-" + c.Name, w.Name, "perfrun-" + w.ClientConfig.Service.Name}).To(
		Equal([]string{plan.MTLSConfiguration, plan.MTLSWebhook, plan.MTLSService}), "the names in config/webhook, with the prefix of config/default")
	c.Name = plan.MTLSConfiguration
	w.ClientConfig = admissionv1.WebhookClientConfig{URL: ptr.To(fmt.Sprintf("https://localhost:%d%s", port, *w.ClientConfig.Service.Path))}
	w.NamespaceSelector.MatchLabels = map[string]string{corev1.LabelMetadataName: namespace}
	Expect(admin.Create(ctx, c)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(admin.Delete(ctx, c))).To(Succeed()) })
	return c
}

func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	Expect(admin.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

// injected is a pod as Dapr's injector leaves it, with mTLS; mtls is the label that asks for something, if any.
func injected(namespace, mtls string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "p-", Labels: map[string]string{plan.LabelManagedBy: plan.ManagedBy}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "target", Image: "t", Args: []string{"--enable-mtls"}},
			{Name: "daprd", Image: "d", Args: []string{"/daprd", "--enable-mtls", "--app-port", "8080"}}}},
	}
	if mtls != "" {
		pod.Labels[plan.LabelMTLS] = mtls
	}
	return pod
}

// admitted is what the API server makes of a pod.
func admitted(ctx context.Context, pod *corev1.Pod) ([]string, error) {
	err := admin.Create(ctx, pod, client.DryRunAll)
	return pod.Spec.Containers[1].Args, err
}

var _ = Describe("The webhook", Serial, func() {
	It("changes the sidecars of a run's pods and no others, while its certificate is renewed and replicas come and go", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		// Its first certificate is two months old: due for renewal by today's clock.
		var clock atomic.Pointer[time.Time]
		clock.Store(ptr.To(time.Now().Add(-servingcert.Lifetime * 2 / 3)))
		now := func() time.Time { return *clock.Load() }
		first := newReplica(namespace, now)
		configuration := installWebhook(ctx, namespace, first.port)
		trusted := func() []byte {
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(configuration), configuration)).To(Succeed())
			return configuration.Webhooks[0].ClientConfig.CABundle
		}
		Eventually(trusted).WithContext(ctx).WithTimeout(10*time.Second).ShouldNot(BeEmpty(), "the operator tells the API server whom to trust")

		with, without := []string{"/daprd", "--enable-mtls", "--app-port", "8080"}, []string{"/daprd", "--app-port", "8080"}
		Eventually(func() ([]string, error) { return admitted(ctx, injected(namespace, "false")) }).WithContext(ctx).WithTimeout(5 * time.Second).Should(Equal(without))
		Expect(admitted(ctx, injected(namespace, "true"))).To(Equal(with))
		Expect(admitted(ctx, injected(namespace, ""))).To(Equal(with))
		foreign := injected(namespace, "false")
		foreign.Labels[plan.LabelManagedBy] = "Helm"
		Expect(admitted(ctx, foreign)).To(Equal(with))
		_, err := admitted(ctx, injected(namespace, "perhaps"))
		Expect(err).To(MatchError(ContainSubstring(`is "perhaps": must be true or false`)))

		By("serving the same from a second replica, which does not lead")
		second := newReplica(namespace, now)
		Expect(second.calls(trusted())).To(Succeed())

		By("renewing when the time has come")
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: certificateSecret}}
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
		former := string(secret.Data[corev1.TLSCertKey])
		clock.Store(ptr.To(time.Now()))
		secret.Labels = map[string]string{"look": "again"}
		Expect(admin.Update(ctx, secret)).To(Succeed())
		renewed := func() string {
			Expect(admitted(ctx, injected(namespace, "false"))).To(Equal(without), "a call while the certificate is being renewed")
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
			return string(secret.Data[corev1.TLSCertKey])
		}
		Eventually(renewed).WithContext(ctx).WithTimeout(20 * time.Second).WithPolling(time.Millisecond).ShouldNot(Equal(former))
		Consistently(renewed).WithContext(ctx).WithTimeout(2 * time.Second).WithPolling(10 * time.Millisecond).Should(Equal(string(secret.Data[corev1.TLSCertKey])))
		Expect(trusted()).To(Equal(secret.Data[authoritiesEntry]))
		Expect(strings.Count(string(trusted()), "BEGIN CERTIFICATE")).To(Equal(2), "the former authority stays trusted")
		latest := servingcert.Set{Authorities: secret.Data[authoritiesEntry], Cert: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]}
		Expect(first.calls(trusted())).To(Succeed())
		Expect(second.calls(trusted())).To(Succeed())

		By("making no other certificate when another replica takes the lead, and putting right what someone has changed")
		first.stop()
		broken := configuration.DeepCopy()
		broken.Webhooks[0].ClientConfig.CABundle = nil
		Expect(admin.Patch(ctx, broken, client.StrategicMergeFrom(configuration))).To(Succeed())
		Eventually(trusted).WithContext(ctx).WithTimeout(20 * time.Second).Should(Equal(latest.Authorities))
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
		Expect(string(secret.Data[corev1.TLSCertKey])).To(Equal(string(latest.Cert)))

		By("making another where the Secret is gone")
		Expect(admin.Delete(ctx, secret)).To(Succeed())
		Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(secret), secret) }).WithContext(ctx).WithTimeout(10 * time.Second).Should(Succeed())
		Eventually(func() error { return second.calls(secret.Data[authoritiesEntry]) }).WithContext(ctx).WithTimeout(10 * time.Second).Should(Succeed())
	}, SpecTimeout(2*time.Minute))

	It("keeps a run's pods from coming up otherwise while it does not answer, and no others", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		installWebhook(ctx, namespace, freePort())
		Eventually(func() error { _, err := admitted(ctx, injected(namespace, "true")); return err }).WithContext(ctx).WithTimeout(5*time.Second).
			Should(MatchError(ContainSubstring(plan.MTLSWebhook)), "what the run's message is made from")
		Expect(admitted(ctx, injected(namespace, ""))).NotTo(BeEmpty())
	}, SpecTimeout(time.Minute))
})
