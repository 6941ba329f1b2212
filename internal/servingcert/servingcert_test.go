package servingcert

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"
	"time"
)

var (
	names = []string{"perfrun-webhook.perfrun-system.svc"}
	now   = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

func fresh(t *testing.T, former Set, now time.Time) Set {
	t.Helper()
	s, err := New(names, former, now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// call asks a server with this set for a connection, as a client that trusts these authorities and whose clock says now.
func call(t *testing.T, server Set, authorities []byte, name string) error {
	t.Helper()
	pair, err := server.Pair()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{*pair}, MinVersion: tls.VersionTLS13})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_ = conn.(*tls.Conn).Handshake()
			_ = conn.Close()
		}
	}()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authorities)
	conn, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{RootCAs: roots, ServerName: name, Time: func() time.Time { return now }, MinVersion: tls.VersionTLS13})
	if err == nil {
		_ = conn.Close()
	}
	return err
}

func TestACertificateIsGoodForItsNamesAlone(t *testing.T) {
	s := fresh(t, Set{}, now)
	if err := call(t, s, s.Authorities, names[0]); err != nil {
		t.Error(err)
	}
	if call(t, s, s.Authorities, "kubernetes.default.svc") == nil {
		t.Error("it is taken for another name")
	}
	if call(t, s, fresh(t, Set{}, now).Authorities, names[0]) == nil {
		t.Error("it is taken by a client that trusts another authority")
	}
}

func TestBothCertificatesAreTrustedAfterARenewal(t *testing.T) {
	former := fresh(t, Set{}, now.Add(-renewBefore))
	s := fresh(t, former, now)
	for what, served := range map[string]Set{"the new one": s, "the former one, which another replica may still serve": former} {
		if err := call(t, served, s.Authorities, names[0]); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := strings.Count(string(fresh(t, s, now.Add(Lifetime)).Authorities), "BEGIN CERTIFICATE"); n != 1 {
		t.Errorf("%d authorities are trusted after those before are over, want 1", n)
	}
}

func TestRenewAt(t *testing.T) {
	made := now
	good := fresh(t, Set{}, made)
	other := fresh(t, Set{}, made)
	cases := []struct {
		name  string
		set   Set
		names []string
		now   time.Time
		fails bool
	}{
		{"fresh", good, names, made, false},
		{"an hour before its end", good, names, made.Add(Lifetime - time.Hour), false},
		{"over", good, names, made.Add(Lifetime + time.Hour), true},
		{"the API server's clock is behind", good, names, made.Add(-skew / 2), false},
		{"for another name", good, []string{"perfrun-webhook.elsewhere.svc"}, made, true},
		{"empty", Set{}, names, made, true},
		{"the key of another", Set{Authorities: good.Authorities, Cert: good.Cert, Key: other.Key}, names, made, true},
		{"the authority of another", Set{Authorities: other.Authorities, Cert: good.Cert, Key: good.Key}, names, made, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			at, err := c.set.RenewAt(c.names, c.now)
			if (err != nil) != c.fails {
				t.Fatalf("got %v", err)
			}
			if want := made.Add(Lifetime * 2 / 3); !c.fails && (at.Before(want.Add(-time.Second)) || at.After(want.Add(time.Second))) {
				t.Errorf("renewed at %s, want %s", at, want)
			}
		})
	}
}
