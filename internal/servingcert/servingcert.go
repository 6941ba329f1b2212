// Package servingcert makes the certificates of the operator's webhook server, and says when they are to be renewed. It knows nothing of
// Kubernetes, keeps nothing and has no clock.
package servingcert

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

const (
	// Lifetime of a certificate, and of the authority that has signed it.
	Lifetime = 90 * 24 * time.Hour
	// renewBefore its end a certificate is renewed: two thirds of its life are over, and a month is left in which a renewal may fail.
	renewBefore = Lifetime / 3
	// skew is how far the API server's clock may be behind ours.
	skew = time.Hour
)

// Set is a serving certificate with all that belongs to it, in PEM.
type Set struct {
	// Authorities are the certificates that clients trust: the one that has signed Cert, and those of earlier certificates that are
	// still valid, since another replica may serve one of them for a moment.
	Authorities []byte
	// Cert and Key are what a server serves.
	Cert, Key []byte
}

// New makes a certificate for these DNS names, signed by an authority made for it alone, whose key is forgotten at once: there is none that
// could be stolen. The authorities of former stay trusted while they are valid; former may be empty.
func New(names []string, former Set, now time.Time) (Set, error) {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Set{}, fmt.Errorf("drawing the authority's key: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Set{}, fmt.Errorf("drawing the serving key: %w", err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "perfrun webhook authority"},
		NotBefore:    now.Add(-skew), NotAfter: now.Add(Lifetime),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage:            x509.KeyUsageCertSign,
		PermittedDNSDomains: names, PermittedDNSDomainsCritical: true,
	}
	authority, err := sign(&template, &template, &authorityKey.PublicKey, authorityKey)
	if err != nil {
		return Set{}, fmt.Errorf("signing the authority: %w", err)
	}
	cert, err := sign(&x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano() + 1),
		Subject:      pkix.Name{CommonName: "perfrun webhook"},
		NotBefore:    template.NotBefore, NotAfter: template.NotAfter,
		DNSNames: names,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, authority, &key.PublicKey, authorityKey)
	if err != nil {
		return Set{}, fmt.Errorf("signing the certificate: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Set{}, fmt.Errorf("encoding the serving key: %w", err)
	}
	return Set{
		Authorities: encode(append([]*x509.Certificate{authority}, valid(former.Authorities, now)...)),
		Cert:        encode([]*x509.Certificate{cert}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, nil
}

func sign(template, parent *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// RenewAt is when a set is to be renewed. An error says why it is of no use at all: something is missing, does not fit together, is not for
// these names or is over.
func (s Set) RenewAt(names []string, now time.Time) (time.Time, error) {
	pair, err := s.Pair()
	if err != nil {
		return time.Time{}, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.Authorities)
	for _, name := range names {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: now}); err != nil {
			return time.Time{}, fmt.Errorf("verifying the certificate: %w", err)
		}
	}
	return pair.Leaf.NotAfter.Add(-renewBefore), nil
}

// Pair is the certificate as a server takes it.
func (s Set) Pair() (*tls.Certificate, error) {
	if len(s.Cert) == 0 || len(s.Key) == 0 {
		return nil, errors.New("there is no certificate")
	}
	pair, err := tls.X509KeyPair(s.Cert, s.Key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	return &pair, nil
}

// valid are the certificates of some PEM text that are not over.
func valid(text []byte, now time.Time) []*x509.Certificate {
	var out []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && now.Before(cert.NotAfter) {
			out = append(out, cert)
		}
	}
	return out
}

func encode(certs []*x509.Certificate) []byte {
	var b bytes.Buffer
	for _, c := range certs {
		b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
	}
	return b.Bytes()
}
