package measure

import (
	"crypto/ed25519"
	"errors"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func testKeys(t *testing.T) (ed25519.PublicKey, ed25519.PrivateKey) {
	t.Helper()
	pub, priv, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return pub, priv
}

func signed(t *testing.T, method jwt.SigningMethod, key any, claims jwt.Claims) string {
	t.Helper()
	token, err := jwt.NewWithClaims(method, claims).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestVerify(t *testing.T) {
	pub, priv := testKeys(t)
	_, stranger := testKeys(t)
	claims := func(change func(*jwt.RegisteredClaims)) jwt.RegisteredClaims {
		c := jwt.RegisteredClaims{
			Issuer: "perfrun", Audience: jwt.ClaimStrings{"perfrun-loadtester/run-1"}, ExpiresAt: jwt.NewNumericDate(noon.Add(time.Minute)),
		}
		change(&c)
		return c
	}
	same := func(*jwt.RegisteredClaims) {}
	eddsa := jwt.SigningMethodEdDSA
	good, err := Signer{Key: priv}.Token("run-1", noon)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		token string
		at    time.Duration
		ok    bool
	}{
		"fresh":                       {good, 0, true},
		"verifier's clock behind":     {good, -59 * time.Second, true},
		"within life and leeway":      {good, 119 * time.Second, true},
		"expired":                     {good, 121 * time.Second, false},
		"empty":                       {"", 0, false},
		"rubbish":                     {"a.b.c", 0, false},
		"truncated":                   {good[:len(good)-4], 0, false},
		"hand-made":                   {signed(t, eddsa, priv, claims(same)), 0, true},
		"signed by a stranger":        {signed(t, eddsa, stranger, claims(same)), 0, false},
		"unsigned":                    {signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims(same)), 0, false},
		"public key as shared secret": {signed(t, jwt.SigningMethodHS256, []byte(pub), claims(same)), 0, false},
		"another run":                 {signed(t, eddsa, priv, claims(func(c *jwt.RegisteredClaims) { c.Audience[0] = "perfrun-loadtester/run-2" })), 0, false},
		"no audience":                 {signed(t, eddsa, priv, claims(func(c *jwt.RegisteredClaims) { c.Audience = nil })), 0, false},
		"no expiry":                   {signed(t, eddsa, priv, claims(func(c *jwt.RegisteredClaims) { c.ExpiresAt = nil })), 0, false},
		"another issuer":              {signed(t, eddsa, priv, claims(func(c *jwt.RegisteredClaims) { c.Issuer = "someone" })), 0, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			v := Verifier{Key: pub, Run: "run-1", Now: func() time.Time { return noon.Add(tc.at) }}
			err := v.Verify(tc.token)
			if (err == nil) != tc.ok || (err != nil && !errors.Is(err, ErrUnauthorized)) {
				t.Errorf("Verify: %v, want ok=%v", err, tc.ok)
			}
		})
	}
	if (Verifier{Run: "run-1"}).Verify(good) == nil {
		t.Error("a verifier without a key accepted a token")
	}
	if _, err := (Signer{}).Token("run-1", noon); err == nil {
		t.Error("a signer without a key made a token")
	}
}

func TestPublicKeyRoundTrip(t *testing.T) {
	pub, _ := testKeys(t)
	got, err := ParsePublicKey(FormatPublicKey(pub))
	if err != nil || !got.Equal(pub) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "!", "AAAA"} {
		if _, err := ParsePublicKey(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func FuzzVerify(f *testing.F) {
	pub, priv, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	good, err := Signer{Key: priv}.Token("r", noon)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	v := Verifier{Key: pub, Run: "r", Now: func() time.Time { return noon }}
	f.Fuzz(func(t *testing.T, token string) {
		if v.Verify(token) == nil && len(token) < len(good)/2 {
			t.Errorf("accepted %q", token)
		}
	})
}
