package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"perfrun.dev/perfrun/controllers"
	"perfrun.dev/perfrun/internal/servingcert"
)

// A certificate from outside, as cert-manager's is, is served from its directory, and another one once it is there.
func TestTheWebhookServesWhatIsInItsDirectory(t *testing.T) {
	dir := t.TempDir()
	put := func() servingcert.Set {
		t.Helper()
		set, err := servingcert.New([]string{"localhost"}, servingcert.Set{}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{"tls.key": set.Key, "tls.crt": set.Cert} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return set
	}
	first := put()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	server := webhookOptions{port: port, certDir: dir}.server(&controllers.CertificateReconciler{})
	controllers.RegisterMTLSWebhook(server, newScheme())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	awaitServed(t, port, first)
	awaitServed(t, port, put())
}

func awaitServed(t *testing.T, port int, set servingcert.Set) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(set.Authorities)
	var err error
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var conn *tls.Conn
		conn, err = tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port), &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS12})
		if err == nil {
			_ = conn.Close()
			return
		}
	}
	t.Fatal(err)
}
