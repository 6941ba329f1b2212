package main

import (
	"crypto/tls"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"perfrun.dev/perfrun/controllers"
)

// webhookOptions say how the webhook is served that switches mTLS for the runs' pods.
type webhookOptions struct {
	// port to listen on; 0: not at all.
	port int
	// certDir holds a certificate that someone else keeps; empty: the manager keeps one.
	certDir string
}

func (o webhookOptions) server(certificate *controllers.CertificateReconciler) webhook.Server {
	options := webhook.Options{Port: o.port, CertDir: o.certDir,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.MinVersion = tls.VersionTLS12 }}}
	if o.port == 0 {
		options.Port = -1
	}
	if o.certDir == "" {
		options.TLSOpts = append(options.TLSOpts, certificate.TLS)
	}
	return webhook.NewServer(options)
}

// addWebhook registers the webhook and, unless someone else keeps it, the keeper of its certificate. Such a manager is ready once it
// can serve the webhook; one with a directory does not even start without a certificate.
func addWebhook(mgr ctrl.Manager, o webhookOptions, certificate *controllers.CertificateReconciler) error {
	if o.port == 0 {
		return nil
	}
	controllers.RegisterMTLSWebhook(mgr.GetWebhookServer(), mgr.GetScheme())
	if o.certDir != "" {
		return nil
	}
	certificate.Client, certificate.Live = mgr.GetClient(), mgr.GetAPIReader()
	if err := certificate.SetupWithManager(mgr); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("webhook-certificate", certificate.Ready); err != nil {
		return fmt.Errorf("adding the webhook's readiness check: %w", err)
	}
	return nil
}
