package dashboard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestGuard(t *testing.T) {
	const key = "0123456789abcdef"
	handler := guard(key, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("secret")) }))
	ask := func(method, target, host, cookie string) *http.Response {
		r := httptest.NewRequest(method, target, nil)
		r.Host = host
		if cookie != "" {
			r.AddCookie(&http.Cookie{Name: "perfrun-01234567", Value: cookie})
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if got, want := strings.Contains(w.Body.String(), "secret"), w.Code == http.StatusOK; got != want {
			t.Errorf("%s %s as %s: %d with %q", method, target, host, w.Code, w.Body)
		}
		return w.Result()
	}
	for _, tc := range []struct {
		name, method, target, host, cookie string
		want                               int
	}{
		{"with the key's cookie", "GET", "/", "127.0.0.1:8080", key, 200},
		{"by name", "GET", "/", "localhost:1", key, 200},
		{"by IPv6", "GET", "/", "[::1]:8080", key, 200},
		{"without a port", "GET", "/", "127.0.0.1", key, 200},
		{"without the key", "GET", "/", "127.0.0.1:8080", "", 403},
		{"with another key", "GET", "/", "127.0.0.1:8080", "0123456789abcdeF", 403},
		{"with another key in the address", "GET", "/?key=x", "127.0.0.1:8080", "", 403},
		{"by the name of another site", "GET", "/", "evil.example", key, 421},
		{"by the name of another site with the key", "GET", "/?key=" + key, "127.0.0.1.evil.example:8080", "", 421},
		{"by an address of the network", "GET", "/", "192.168.1.7:8080", key, 421},
		{"to change something", "POST", "/", "127.0.0.1:8080", key, 405},
		{"before asking from elsewhere", "OPTIONS", "/", "127.0.0.1:8080", key, 405},
	} {
		answer := ask(tc.method, tc.target, tc.host, tc.cookie)
		if answer.StatusCode != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, answer.StatusCode, tc.want)
		}
		if policy := answer.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
			t.Errorf("%s: the policy is %q", tc.name, policy)
		}
		for name := range answer.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: others may read it by %s", tc.name, name)
			}
		}
	}
}

// TestKeyMovesIntoACookie: out of the address, and to nowhere but here.
func TestKeyMovesIntoACookie(t *testing.T) {
	const key = "0123456789abcdef"
	handler := guard(key, http.NotFoundHandler())
	for target, want := range map[string]string{"/?key=" + key: "/", "/runs/a/b?x=1&key=" + key: "/runs/a/b?x=1", "//evil.example/?key=" + key: "/evil.example/"} {
		r := httptest.NewRequest("GET", "http://127.0.0.1:1"+target, nil)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != want {
			t.Errorf("%s: %d to %q, want %q", target, w.Code, got, want)
		}
		cookies := w.Result().Cookies()
		if len(cookies) != 1 || cookies[0].Value != key || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode {
			t.Errorf("%s: the cookies are %v", target, cookies)
		}
	}
}

func TestKeysDiffer(t *testing.T) {
	if a, b := newKey(), newKey(); a == b || len(a) < 20 {
		t.Errorf("%q and %q", a, b)
	}
}
