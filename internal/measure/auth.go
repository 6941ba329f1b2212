package measure

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	issuer         = "perfrun"
	audiencePrefix = "perfrun-loadtester/"

	// tokenLife is short because a token is made for one call and travels over plain HTTP within the cluster: whoever sees one
	// can use it against this run's load tester only, and only until it expires.
	tokenLife = time.Minute

	// clockLeeway is how far the clocks of two nodes may be apart before calls are refused. Kubernetes itself asks for clocks
	// that agree to well under a minute.
	clockLeeway = time.Minute
)

// ErrUnauthorized is what a Verifier answers to every bad token, whatever is wrong with it: a stranger learns nothing from it.
var ErrUnauthorized = errors.New("the bearer token is missing, expired or not for this run")

// Signer makes the tokens that the operator shows to load testers. Only the operator holds its key; the load testers are given
// the public half as an argument, so that no Secret has to lie in a user's namespace.
type Signer struct {
	Key ed25519.PrivateKey
}

// Token proves to the load tester of the run with this UID that the operator is calling. It is valid for a minute from now.
func (s Signer) Token(run string, now time.Time) (string, error) {
	if len(s.Key) != ed25519.PrivateKeySize {
		return "", fmt.Errorf("signing a token: key of %d bytes, want %d", len(s.Key), ed25519.PrivateKeySize)
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.RegisteredClaims{
		Issuer:    issuer,
		Audience:  jwt.ClaimStrings{audiencePrefix + run},
		IssuedAt:  jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(tokenLife)),
	}).SignedString(s.Key)
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	return token, nil
}

// Verifier tells whether a token was made by the operator for one run.
type Verifier struct {
	Key ed25519.PublicKey
	// Run is the UID of the PerfRun that tokens must be for.
	Run string
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// Verify returns ErrUnauthorized unless the token is signed with the Signer's key by EdDSA (no other method is looked at), is
// for this run, and expired less than the clock leeway of one minute ago.
func (v Verifier) Verify(token string) error {
	if len(v.Key) != ed25519.PublicKeySize {
		return ErrUnauthorized
	}
	now := v.Now
	if now == nil {
		now = time.Now
	}
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithIssuer(issuer),
		jwt.WithAudience(audiencePrefix+v.Run),
		jwt.WithExpirationRequired(),
		jwt.WithLeeway(clockLeeway),
		jwt.WithTimeFunc(now),
	)
	if _, err := parser.ParseWithClaims(token, &jwt.RegisteredClaims{}, v.key); err != nil {
		return ErrUnauthorized
	}
	return nil
}

func (v Verifier) key(*jwt.Token) (any, error) { return v.Key, nil }

// FormatPublicKey writes a key in the form that ParsePublicKey reads: standard base64 of its 32 bytes.
func FormatPublicKey(key ed25519.PublicKey) string { return base64.StdEncoding.EncodeToString(key) }

// ParsePublicKey reads a key as the load tester gets it in its arguments.
func ParsePublicKey(s string) (ed25519.PublicKey, error) {
	key, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("parsing public key: %w", err)
	}
	if len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("parsing public key: %d bytes, want %d", len(key), ed25519.PublicKeySize)
	}
	return key, nil
}
