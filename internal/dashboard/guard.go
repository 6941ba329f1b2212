package dashboard

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// newKey is what opens the dashboard. Whoever is on this machine can reach its port; what it shows is the user's to see.
func newKey() string { return rand.Text() }

// policy of all pages: style, script and data from here, and nothing else from anywhere.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard lets through what a browser asks for that has been given the key, by the address that the command has printed. The key then moves into a
// cookie, and out of the address, which ends up in the browser's history.
func guard(key string, next http.Handler) http.Handler {
	// Cookies are shared by all ports of a host, and two dashboards may be open.
	cookie := "perfrun-" + key[:8]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		switch {
		case !isLocal(r.Host):
			// Some other site's name that leads here, so that its script may read the answer.
			http.Error(w, "This is a page of this machine alone: open it as 127.0.0.1 or localhost.", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			header.Set("Allow", "GET, HEAD")
			http.Error(w, "There is nothing to be changed here.", http.StatusMethodNotAllowed)
		case same(r.URL.Query().Get("key"), key):
			// Lax, not Strict: the browser may come from a file (--open), or from a terminal that is itself a page.
			http.SetCookie(w, &http.Cookie{Name: cookie, Value: key, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
			query := r.URL.Query()
			query.Del("key")
			// One slash: two would begin the name of another host.
			to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: query.Encode()}
			http.Redirect(w, r, to.String(), http.StatusSeeOther)
		case !hasCookie(r, cookie, key):
			http.Error(w, "Open the address that `kubectl perfrun dashboard` has printed: it has the key to this page.", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func hasCookie(r *http.Request, name, key string) bool {
	c, err := r.Cookie(name)
	return err == nil && same(c.Value, key)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// isLocal tells whether a Host header names this machine to itself. Any port will do: `ssh -L` comes by another one.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "localhost" || host == "[::1]" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
