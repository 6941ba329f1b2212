// Package loadtester runs a measurement plan: it sends each request when it is due and records it. It is a small server that is given
// one plan in its life, as package measure describes.
package loadtester

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/serving"
)

const (
	readTimeout    = 30 * time.Second
	maxHeaderBytes = 16 << 10
	maxTokenBytes  = 4 << 10
)

// Options of Serve.
type Options struct {
	// Addr to serve on, such as ":8080".
	Addr string
	// Run is the UID of the PerfRun that this load tester is for.
	Run string
	// Target is the host that the baseline's requests go to; plans with others are refused.
	Target string
	// PublicKey of the operator's Signer.
	PublicKey ed25519.PublicKey
	// ProcRoot is where /proc is mounted; empty means /proc.
	ProcRoot string
	// Log tells of an attempt's beginning and end; nil means slog.Default.
	Log *slog.Logger
}

// Server serves the load tester's contract.
type Server struct {
	opts     Options
	verifier measure.Verifier
	info     measure.Info
	log      *slog.Logger
	// life ends when the server does, and any load with it.
	life context.Context //nolint:containedctx // a load outlives the request that starts it

	mu      sync.Mutex
	attempt *attempt
}

// New makes a server whose load ends with ctx.
func New(ctx context.Context, opts Options) *Server {
	log := opts.Log
	if log == nil {
		log = slog.Default()
	}
	return &Server{
		opts: opts, log: log, life: ctx,
		verifier: measure.Verifier{Key: opts.PublicKey, Run: opts.Run},
		info:     measure.Info{Version: measure.Version, Run: opts.Run, Instance: rand.Text()},
	}
}

// Serve serves until ctx ends, which stops any load. It returns nil after such an end, and an error if the port cannot be served.
func Serve(ctx context.Context, opts Options) error {
	s := New(ctx, opts)
	server := &http.Server{Handler: s.Handler(), ReadTimeout: readTimeout, MaxHeaderBytes: maxHeaderBytes}
	return serving.Run(ctx, s.log.With("run", opts.Run, "instance", s.info.Instance), serving.HTTP("contract", opts.Addr, server))
}

// Handler serves all of the contract's paths.
func (s *Server) Handler() http.Handler {
	api := http.NewServeMux()
	api.HandleFunc("GET "+measure.PathInfo, func(w http.ResponseWriter, _ *http.Request) {
		info := s.info
		info.Now = time.Now()
		answer(w, http.StatusOK, info)
	})
	api.HandleFunc("POST "+measure.PathRuns, s.start)
	api.HandleFunc("GET "+measure.PathRuns+"/{attempt}", s.known(func(w http.ResponseWriter, _ *http.Request, a *attempt) {
		answer(w, http.StatusOK, a.progress())
	}))
	api.HandleFunc("DELETE "+measure.PathRuns+"/{attempt}", s.known(func(w http.ResponseWriter, _ *http.Request, a *attempt) {
		a.stop()
		w.WriteHeader(http.StatusNoContent)
	}))
	api.HandleFunc("POST "+measure.PathRuns+"/{attempt}/windows", s.known(postWindows))
	api.HandleFunc("GET "+measure.PathRuns+"/{attempt}/report", s.known(getReport))

	mux := http.NewServeMux()
	mux.HandleFunc("GET "+measure.PathHealth, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || len(token) > maxTokenBytes || s.verifier.Verify(token) != nil {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write(unauthorized)
			return
		}
		api.ServeHTTP(w, r)
	})
	return mux
}

// unauthorized is the same for whatever is wrong with a token, and costs nothing to make.
var unauthorized = []byte(`{"error":"` + measure.ErrUnauthorized.Error() + "\"}\n")

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error here is the client's who has gone.
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, format string, args ...any) {
	answer(w, status, map[string]string{"error": fmt.Sprintf(format, args...)})
}

// decode reads a body of at most limit bytes, and answers for what is wrong with it.
func decode(w http.ResponseWriter, r *http.Request, limit int64, into any) (ok bool) {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit)).Decode(into)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refuse(w, http.StatusRequestEntityTooLarge, "the body is longer than %d bytes", limit)
	case err != nil:
		refuse(w, http.StatusBadRequest, "decoding the body: %v", err)
	}
	return err == nil
}
