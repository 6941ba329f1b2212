package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
)

const (
	// managerUser is who the audit log says the operator is.
	managerUser      = "perfrun-manager"
	managerNamespace = "perfrun-system"
	sampleFile       = "config/samples/perfrun_invocation.yaml"
	// finishedFile is the sample as it was once it had finished on a real cluster.
	finishedFile = "config/argocd/perfrun.dev/PerfRun/testdata/succeeded.yaml"
	// workers that create and finish runs at a time.
	workers = 20
)

// Every request, once, when it is answered; a watch when it begins.
const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}`

// server is an API server with what the operator looks for, and nobody else who works.
type server struct {
	environment *envtest.Environment
	admin       client.WithWatch
	dir         string
	kubeconfig  string
	namespaces  []string
	sample      v1alpha1.PerfRunSpec
}

func startServer(ctx context.Context, namespaces int) (*server, error) {
	dir, err := os.MkdirTemp("", "perfrun-scale-")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	s := &server{dir: dir, kubeconfig: filepath.Join(dir, "kubeconfig"), environment: &envtest.Environment{
		CRDDirectoryPaths:        []string{"config/crd/bases", "controllers/testdata"},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: 2 * time.Minute,
	}}
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("writing the audit policy: %w", err)
	}
	s.environment.ControlPlane.GetAPIServer().Configure().
		Set("audit-policy-file", policy).Set("audit-log-path", s.auditLog()).Set("audit-log-maxsize", "10000")
	if _, err := s.environment.Start(); err != nil {
		return nil, fmt.Errorf("starting the API server: %w", err)
	}
	if err := s.furnish(ctx, namespaces); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *server) auditLog() string { return filepath.Join(s.dir, "audit.log") }

func (s *server) stop() {
	if err := s.environment.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "scale: stopping the API server:", err)
	}
	os.RemoveAll(s.dir)
}

// furnish puts there what the operator looks for: its namespace and webhook, Dapr's injector, and namespaces for the runs.
func (s *server) furnish(ctx context.Context, namespaces int) error {
	user, err := s.environment.AddUser(envtest.User{Name: managerUser, Groups: []string{"system:masters"}}, nil)
	if err != nil {
		return fmt.Errorf("adding the operator's user: %w", err)
	}
	config, err := user.KubeConfig()
	if err != nil {
		return fmt.Errorf("writing the operator's kubeconfig: %w", err)
	}
	if err := os.WriteFile(s.kubeconfig, config, 0o600); err != nil {
		return fmt.Errorf("writing the operator's kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	direct := *s.environment.Config
	direct.QPS = -1
	if s.admin, err = client.NewWithWatch(&direct, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("connecting to the API server: %w", err)
	}
	var sample v1alpha1.PerfRun
	if err := readYAML(sampleFile, &sample); err != nil {
		return err
	}
	s.sample = sample.Spec
	for _, name := range []string{managerNamespace, "dapr-system"} {
		if err := s.namespace(ctx, name); err != nil {
			return err
		}
	}
	for i := range namespaces {
		s.namespaces = append(s.namespaces, fmt.Sprintf("scale-%02d", i+1))
		if err := s.namespace(ctx, s.namespaces[i]); err != nil {
			return err
		}
	}
	return s.installDapr(ctx)
}

func (s *server) namespace(ctx context.Context, name string) error {
	if err := s.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	return nil
}

// installDapr registers what the operator looks for: the injector's webhook, which is our own under another name and selects no pod here,
// and a ready pod of the injector.
func (s *server) installDapr(ctx context.Context) error {
	for _, name := range []string{"perfrun-mtls", "dapr-sidecar-injector"} {
		webhook := &unstructured.Unstructured{}
		if err := readYAML("config/webhook/webhook.yaml", webhook); err != nil {
			return err
		}
		webhook.SetName(name)
		webhooks, _, err := unstructured.NestedSlice(webhook.Object, "webhooks")
		if err != nil || len(webhooks) != 1 {
			return fmt.Errorf("reading the webhook: it has %d entries (%w)", len(webhooks), err)
		}
		if name != "perfrun-mtls" {
			err = unstructured.SetNestedField(webhooks[0].(map[string]any), "dapr-system", "clientConfig", "service", "namespace")
		}
		if err == nil {
			err = unstructured.SetNestedSlice(webhook.Object, webhooks, "webhooks")
		}
		if err == nil {
			err = s.admin.Create(ctx, webhook)
		}
		if err != nil {
			return fmt.Errorf("creating webhook %s: %w", name, err)
		}
	}
	injector := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dapr-system", Name: "injector", Labels: map[string]string{"app": "dapr-sidecar-injector"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "injector", Image: "none"}}},
	}
	if err := s.admin.Create(ctx, injector); err != nil {
		return fmt.Errorf("creating the injector's pod: %w", err)
	}
	injector.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "127.20.0.1",
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	if err := s.admin.Status().Update(ctx, injector); err != nil {
		return fmt.Errorf("making the injector's pod ready: %w", err)
	}
	return nil
}

func readYAML(path string, into any) error {
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(bytes.TrimSpace(text), into)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}

// inParallel does n things, some at a time, and returns the first error.
func inParallel(n int, do func(i int) error) error {
	var all sync.WaitGroup
	next := make(chan int)
	failed := make(chan error, workers)
	for range workers {
		all.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	var err error
	for i := range n {
		select {
		case next <- i:
			continue
		case err = <-failed:
		}
		break
	}
	close(next)
	all.Wait()
	if err == nil {
		select {
		case err = <-failed:
		default:
		}
	}
	return err
}
