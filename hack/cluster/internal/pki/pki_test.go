package pki

import (
	"bytes"
	"crypto/x509"
	"os"
	"testing"
	"time"
)

// clock is moved by the tests.
type clock struct{ time.Time }

func store(t *testing.T) (Store, *clock) {
	t.Helper()
	c := &clock{time.Now()}
	s := Store{Dir: t.TempDir(), Now: func() time.Time { return c.Time }}
	if err := s.Authority("ca"); err != nil {
		t.Fatal(err)
	}
	return s, c
}

func leaf() Leaf {
	return Leaf{
		Name: "server", Authority: "ca", CommonName: "me", Organizations: []string{"us"},
		Hosts: []string{"localhost", "127.0.0.1"}, Server: true,
	}
}

func read(t *testing.T, s Store, name string) []byte {
	t.Helper()
	cert, _, err := s.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func ensure(t *testing.T, s Store, l Leaf) []byte {
	t.Helper()
	if err := s.Leaf(l); err != nil {
		t.Fatal(err)
	}
	return read(t, s, l.Name)
}

func TestLeafVerifies(t *testing.T) {
	s, _ := store(t)
	ensure(t, s, leaf())
	cert, _, err := s.load("server")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(read(t, s, "ca"))
	for _, host := range []string{"localhost", "127.0.0.1"} {
		if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Errorf("as %s: %v", host, err)
		}
	}
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err == nil {
		t.Error("a server's certificate serves a client")
	}
	if life := time.Until(cert.NotAfter); life < 364*24*time.Hour {
		t.Errorf("it lives for %v only", life)
	}
}

func TestLeafIsRenewedForAReasonOnly(t *testing.T) {
	tests := []struct {
		name   string
		change func(*testing.T, Store, *clock, *Leaf)
		renews bool
	}{
		{"nothing", func(*testing.T, Store, *clock, *Leaf) {}, false},
		{"ten months", func(_ *testing.T, _ Store, c *clock, _ *Leaf) { c.Time = c.AddDate(0, 10, 0) }, false},
		{"nearly a year", func(_ *testing.T, _ Store, c *clock, _ *Leaf) { c.Time = c.AddDate(0, 11, 15) }, true},
		{"another host", func(_ *testing.T, _ Store, _ *clock, l *Leaf) { l.Hosts = append(l.Hosts, "10.0.0.1") }, true},
		{"another group", func(_ *testing.T, _ Store, _ *clock, l *Leaf) { l.Organizations = nil }, true},
		{"another authority", func(t *testing.T, s Store, _ *clock, _ *Leaf) {
			if err := os.Remove(s.Path("ca.crt")); err != nil {
				t.Fatal(err)
			}
			if err := s.Authority("ca"); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"a key of another certificate", func(t *testing.T, s Store, _ *clock, _ *Leaf) {
			key, err := os.ReadFile(s.Path("ca.key"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(s.Path("server.key"), key, 0o600); err != nil {
				t.Fatal(err)
			}
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, c := store(t)
			l := leaf()
			before := ensure(t, s, l)
			tt.change(t, s, c, &l)
			if after := ensure(t, s, l); bytes.Equal(before, after) == tt.renews {
				t.Errorf("renewed: %v", !tt.renews)
			}
		})
	}
}

func TestIssuerCanIssue(t *testing.T) {
	s, _ := store(t)
	ensure(t, s, Leaf{Name: "issuer", Authority: "ca", CommonName: "issuer", Issuer: true})
	l := leaf()
	l.Authority = "issuer"
	ensure(t, s, l)
	cert, _, err := s.load("server")
	if err != nil {
		t.Fatal(err)
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(read(t, s, "ca"))
	between.AppendCertsFromPEM(read(t, s, "issuer"))
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between}); err != nil {
		t.Error(err)
	}
}

func TestKeysArePrivate(t *testing.T) {
	s, _ := store(t)
	ensure(t, s, leaf())
	if err := s.SigningKey("tokens"); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"ca.key", "server.key", "tokens.key"} {
		st, err := os.Stat(s.Path(file))
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", file, st.Mode())
		}
	}
}
