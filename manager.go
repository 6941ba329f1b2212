package main

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"
	_ "time/tzdata" // schedules have time zones, and the image has no database of them

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/controllers"
	"perfrun.dev/perfrun/internal/plan"
)

type managerOptions struct {
	leaderElect                 bool
	metricsAddr, probeAddr      string
	metricsRuns                 int
	webhook                     webhookOptions
	namespace, podName, image   string
	javaHostImage               string
	prepareTimeout, httpTimeout time.Duration
	namespaces                  []string
	daprNamespace               string
	networkPolicies             bool
	verbose                     bool
}

func managerCommand() *cobra.Command {
	var o managerOptions
	cmd := &cobra.Command{
		Use:   "manager",
		Short: "Run the operator",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runManager(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.leaderElect, "leader-elect", false, "let only one of several managers work at a time")
	f.StringVar(&o.metricsAddr, "metrics-bind-address", ":8443", "address of the metrics endpoint (HTTPS, authenticated by the API server); 0 turns it off")
	f.IntVar(&o.metricsRuns, "metrics-runs", 100, "of how many finished PerfRuns, and of how many PerfSchedules, the metrics have figures: those that finished last; about 70 series each")
	f.StringVar(&o.probeAddr, "health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	f.IntVar(&o.webhook.port, "webhook-port", 9443, "port of the webhook that switches mTLS for the runs' pods; 0 turns it off")
	f.StringVar(&o.webhook.certDir, "webhook-cert-dir", "",
		"directory with the webhook's certificate, tls.crt and tls.key, read again when they change; default: the manager makes and renews one in a Secret of its own")
	f.StringVar(&o.namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of the manager, where its signing key and its lease lie (default: $POD_NAMESPACE)")
	f.StringSliceVar(&o.namespaces, "namespaces", nil,
		"serve the PerfRuns of these namespaces alone, with Roles in them instead of a ClusterRole (default: of all namespaces); see config/namespaced")
	f.StringVar(&o.daprNamespace, "dapr-namespace", "", "namespace of Dapr's control plane (default: where its injector's webhook says, which takes a ClusterRole to read)")
	f.BoolVar(&o.networkPolicies, "network-policies", true, "create NetworkPolicies with each run, so that its pods are called by each other and by the manager's namespace alone")
	f.StringVar(&o.podName, "pod-name", os.Getenv("POD_NAME"), "pod of the manager, whose image the runs' pods get (default: $POD_NAME)")
	f.StringVar(&o.image, "image", "", "image of the runs' pods (default: the manager's own)")
	f.StringVar(&o.javaHostImage, "actor-host-java-image", "", "image of the Java actor host, for actors.host: Java (default: none; such runs are refused)")
	f.DurationVar(&o.prepareTimeout, "prepare-timeout", 3*time.Minute, "how long a run may wait for its pods and sidecars before it ends with Error")
	f.DurationVar(&o.httpTimeout, "load-tester-timeout", 10*time.Second, "how long a load tester may take to answer")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log every step")
	return cmd
}

func runManager(ctx context.Context, o managerOptions) error {
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
	if o.namespace == "" {
		return fmt.Errorf("the manager's namespace is unknown: set --namespace or $POD_NAMESPACE")
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the API server: %w", err)
	}
	var exporter *controllers.Exporter
	if o.metricsAddr != "0" {
		exporter = controllers.NewExporter(o.metricsRuns)
	}
	certificate := &controllers.CertificateReconciler{Namespace: o.namespace, Now: time.Now,
		Names: []string{plan.MTLSService + "." + o.namespace + ".svc"}}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        newScheme(),
		Cache:                         controllers.CacheOptions(o.namespace, exporter, o.namespaces...),
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              "perfrun-manager",
		LeaderElectionNamespace:       o.namespace,
		LeaderElectionReleaseOnCancel: true,
		HealthProbeBindAddress:        o.probeAddr,
		Metrics:                       controllers.MetricsOptions(o.metricsAddr),
		WebhookServer:                 o.webhook.server(certificate),
		GracefulShutdownTimeout:       ptr.To(5 * time.Second),
	})
	if err != nil {
		return fmt.Errorf("creating the manager: %w", err)
	}
	if exporter != nil {
		if err := exporter.SetupWithManager(ctx, mgr, metrics.Registry); err != nil {
			return err
		}
	}
	if err := addReconciler(ctx, mgr, config, o); err != nil {
		return err
	}
	if err := addWebhook(mgr, o.webhook, certificate); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return mgr.Start(ctx)
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

func addReconciler(ctx context.Context, mgr ctrl.Manager, config *rest.Config, o managerOptions) error {
	// The manager's own client reads from a cache that has not started yet.
	direct, err := client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	image := o.image
	if image == "" {
		if image, err = ownImage(ctx, direct, o.namespace, o.podName); err != nil {
			return err
		}
	}
	var key ed25519.PrivateKey
	if key, err = controllers.SigningKey(ctx, direct, o.namespace); err != nil {
		return err
	}
	metrics, err := metricsclient.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client for metrics-server: %w", err)
	}
	versions, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a discovery client: %w", err)
	}
	r := &controllers.PerfRunReconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Metrics: metrics, Discovery: versions,
		Recorder: mgr.GetEventRecorder("perfrun"), Image: image, JavaHostImage: o.javaHostImage, Key: key,
		HTTP: &http.Client{Timeout: o.httpTimeout}, PrepareTimeout: o.prepareTimeout, Now: time.Now,
		DaprNamespace: o.daprNamespace,
	}
	if o.networkPolicies {
		r.CallsFrom = o.namespace
	}
	if err := r.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	s := &controllers.PerfScheduleReconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("perfrun"), Now: time.Now}
	return s.SetupWithManager(ctx, mgr)
}

// ownImage is the image that the manager itself runs from.
func ownImage(ctx context.Context, reader client.Reader, namespace, name string) (string, error) {
	var pod corev1.Pod
	if err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pod); err != nil {
		return "", fmt.Errorf("finding the manager's own image (set --image outside a cluster): %w", err)
	}
	for _, c := range pod.Spec.Containers {
		if c.Name == "manager" {
			return c.Image, nil
		}
	}
	return "", fmt.Errorf("finding the manager's own image: pod %s/%s has no container named manager; set --image", namespace, name)
}
