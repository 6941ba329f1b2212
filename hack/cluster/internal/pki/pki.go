// Package pki makes the cluster's keys and certificates.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"perfrun.dev/perfrun/hack/cluster/internal/files"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 365 * 24 * time.Hour
	// renewBefore leaves a month in which some `up` renews what is to expire.
	renewBefore = 30 * 24 * time.Hour
	// backdate covers a clock that is set back a little.
	backdate = 5 * time.Minute
)

// Store is the folder of key pairs, NAME.crt and NAME.key each.
type Store struct {
	Dir string
	Now func() time.Time
}

// Leaf is a certificate to have.
type Leaf struct {
	Name      string
	Authority string
	// Subject: user name and groups to Kubernetes.
	CommonName    string
	Organizations []string
	// Hosts are DNS names and addresses it may serve as.
	Hosts          []string
	Server, Client bool
	// Issuer makes it an authority below the other one.
	Issuer bool
}

// Authority makes sure of a self-signed authority.
func (s Store) Authority(name string) error {
	cert, _, err := s.load(name)
	if err == nil && s.Now().Before(cert.NotAfter.Add(-renewBefore)) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making key: %w", err)
	}
	t := s.template(pkix.Name{CommonName: "perfrun-" + name}, authorityLife)
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	return s.write(name, t, t, key, key)
}

// Leaf makes sure of a certificate that says what l says, is signed by the
// authority as it is now, and will not expire soon.
func (s Store) Leaf(l Leaf) error {
	ca, caKey, err := s.load(l.Authority)
	if err != nil {
		return err
	}
	cert, _, err := s.load(l.Name)
	if err == nil && s.good(cert, ca, l) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making key: %w", err)
	}
	t := s.template(pkix.Name{CommonName: l.CommonName, Organization: l.Organizations}, leafLife)
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.DNSNames, t.IPAddresses = l.sans()
	if l.Server {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	if l.Client {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}
	if l.Issuer {
		t.IsCA, t.BasicConstraintsValid = true, true
		t.KeyUsage |= x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	}
	return s.write(l.Name, t, ca, key, caKey)
}

func (s Store) good(cert, ca *x509.Certificate, l Leaf) bool {
	dns, ips := l.sans()
	return s.Now().Before(cert.NotAfter.Add(-renewBefore)) &&
		cert.CheckSignatureFrom(ca) == nil &&
		cert.IsCA == l.Issuer &&
		cert.Subject.CommonName == l.CommonName &&
		slices.Equal(cert.Subject.Organization, l.Organizations) &&
		slices.Equal(cert.DNSNames, dns) &&
		slices.EqualFunc(cert.IPAddresses, ips, net.IP.Equal)
}

func (l Leaf) sans() (dns []string, ips []net.IP) {
	for _, h := range l.Hosts {
		if ip := net.ParseIP(h); ip != nil {
			ips = append(ips, ip)
		} else {
			dns = append(dns, h)
		}
	}
	return dns, ips
}

// SigningKey makes sure of a key pair without certificate, NAME.key and
// NAME.pub, for service account tokens.
func (s Store) SigningKey(name string) error {
	if _, err := os.Stat(s.Path(name + ".pub")); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return fmt.Errorf("encoding key: %w", err)
	}
	if err := s.writeKey(name, key); err != nil {
		return err
	}
	// Last, since it is the sign that both are there.
	return files.Write(s.Path(name+".pub"), block("PUBLIC KEY", public), 0o644)
}

// Path is where a file of the store lies.
func (s Store) Path(file string) string { return filepath.Join(s.Dir, file) }

// Read returns the PEM of certificate and key.
func (s Store) Read(name string) (cert, key []byte, err error) {
	cert, err = os.ReadFile(s.Path(name + ".crt"))
	if err != nil {
		return nil, nil, fmt.Errorf("reading certificate: %w", err)
	}
	key, err = os.ReadFile(s.Path(name + ".key"))
	if err != nil {
		return nil, nil, fmt.Errorf("reading key: %w", err)
	}
	return cert, key, nil
}

func (s Store) template(subject pkix.Name, life time.Duration) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		panic(err) // crypto/rand does not fail on Linux
	}
	now := s.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: subject,
		NotBefore: now.Add(-backdate), NotAfter: now.Add(life),
	}
}

func (s Store) load(name string) (*x509.Certificate, crypto.Signer, error) {
	certPEM, keyPEM, err := s.Read(name)
	if err != nil {
		return nil, nil, err
	}
	certBlock, _ := pem.Decode(certPEM)
	keyBlock, _ := pem.Decode(keyPEM)
	if certBlock == nil || keyBlock == nil {
		return nil, nil, fmt.Errorf("reading %s: no PEM in it; remove it with `localcluster down`", s.Path(name))
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("reading certificate %s: %w", name, err)
	}
	key, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("reading key %s: %w", name, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, nil, fmt.Errorf("reading key %s: it cannot sign", name)
	}
	if public, ok := cert.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(signer.Public()) {
		// A crash between the two files: neither is of use.
		return nil, nil, fmt.Errorf("reading %s: key and certificate do not belong together: %w", name, fs.ErrNotExist)
	}
	return cert, signer, nil
}

func (s Store) write(name string, t, parent *x509.Certificate, key *ecdsa.PrivateKey, signer crypto.Signer) error {
	der, err := x509.CreateCertificate(rand.Reader, t, parent, &key.PublicKey, signer)
	if err != nil {
		return fmt.Errorf("signing certificate %s: %w", name, err)
	}
	if err := s.writeKey(name, key); err != nil {
		return err
	}
	return files.Write(s.Path(name+".crt"), block("CERTIFICATE", der), 0o644)
}

func (s Store) writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding key %s: %w", name, err)
	}
	return files.Write(s.Path(name+".key"), block("PRIVATE KEY", der), 0o600)
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
