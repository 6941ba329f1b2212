// Package target is the application under test: it answers every request with the request's own body, and on another port, apart
// from the measured path, tells how many of them had a trace context.
package target

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/serving"
)

const (
	// maxBodyBytes: twice the largest payload that a plan may have.
	maxBodyBytes = 2 << 20

	// maxPooledBytes: larger buffers are left to the garbage collector, so that one large request is not paid for forever.
	maxPooledBytes = 64 << 10
)

// Options of Serve.
type Options struct {
	// Addr of the application port, such as ":8080".
	Addr string
	// GRPCAddr of the application over gRPC; empty: not served.
	GRPCAddr string
	// TracesAddr of the port that tells of the traces.
	TracesAddr string
	// ActorType that the application hosts; empty: it hosts no actors.
	ActorType string
	// Log tells when the ports are open; nil means slog.Default.
	Log *slog.Logger
}

// Target counts what its application has received.
type Target struct {
	// actorType that it hosts, and what it tells its sidecar of that; empty: none.
	actorType       string
	actorConfig     []byte
	traced, sampled atomic.Int64
	buffers         sync.Pool
}

// New makes a target that has counted nothing yet.
func New() *Target {
	return &Target{buffers: sync.Pool{New: func() any { return new(bytes.Buffer) }}}
}

// HostActors makes it the host of an actor type.
func (t *Target) HostActors(actorType string) {
	t.actorType, t.actorConfig = actorType, actorConfig(actorType)
}

// Serve serves its ports until ctx ends; requests in flight are then given 10 s. It returns nil after such an end, and an error if a
// port cannot be opened or served.
func Serve(ctx context.Context, opts Options) error {
	t := New()
	if opts.ActorType != "" {
		t.HostActors(opts.ActorType)
	}
	ports := []*serving.Port{
		serving.HTTP("application", opts.Addr, &http.Server{Handler: t.Handler()}),
		serving.HTTP("traces", opts.TracesAddr, &http.Server{Handler: t.TracesHandler()}),
	}
	if opts.GRPCAddr != "" {
		ports = append(ports, serving.GRPC("gRPC application", opts.GRPCAddr, t.GRPCServer()))
	}
	return serving.Run(ctx, opts.Log, ports...)
}

// Handler is the application. What the sidecar asks of any application is answered at once and not counted: 404 means that there
// is nothing to configure or to subscribe to.
func (t *Target) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/dapr/config" && t.actorConfig != nil:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(t.actorConfig)
		case path == "/dapr/config", path == "/dapr/subscribe":
			w.WriteHeader(http.StatusNotFound)
		case path == measure.PathHealth:
			w.WriteHeader(http.StatusOK)
		case t.actorType != "" && strings.HasPrefix(path, actorsPath):
			t.actor(w, r)
		default:
			t.echo(w, r)
		}
	})
}

func (t *Target) echo(w http.ResponseWriter, r *http.Request) {
	t.countTrace(r.Header)
	buffer := t.buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool's New makes nothing else
	defer t.release(buffer)
	if r.ContentLength > maxBodyBytes {
		http.Error(w, "the body is longer than 2 MiB", http.StatusRequestEntityTooLarge)
		return
	}
	n, err := buffer.ReadFrom(io.LimitReader(r.Body, maxBodyBytes+1))
	switch {
	case err != nil:
		http.Error(w, "the body could not be read", http.StatusBadRequest)
		return
	case n > maxBodyBytes:
		http.Error(w, "the body is longer than 2 MiB", http.StatusRequestEntityTooLarge)
		return
	}
	header := w.Header()
	if kind := r.Header["Content-Type"]; len(kind) > 0 {
		header["Content-Type"] = kind[:1]
	} else {
		// Without a type, net/http would look into the body to guess one.
		header["Content-Type"] = unknownType
	}
	header["Content-Length"] = []string{strconv.FormatInt(n, 10)}
	// An error here is the client's who has gone.
	_, _ = w.Write(buffer.Bytes())
}

var unknownType = []string{"application/octet-stream"}

func (t *Target) release(buffer *bytes.Buffer) {
	if buffer.Cap() > maxPooledBytes {
		return
	}
	buffer.Reset()
	t.buffers.Put(buffer)
}

func (t *Target) countTrace(header http.Header) {
	values := header["Traceparent"]
	if len(values) != 1 {
		return
	}
	t.count(parseTraceparent(values[0]))
}

func (t *Target) count(traced, sampled bool) {
	if traced {
		t.traced.Add(1)
	}
	if sampled {
		t.sampled.Add(1)
	}
}

// TracesHandler serves measure.TargetTracesPath and measure.PathHealth.
func (t *Target) TracesHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+measure.TargetTracesPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(measure.Traces{Traced: t.traced.Load(), Sampled: t.sampled.Load()})
	})
	mux.HandleFunc("GET "+measure.PathHealth, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	return mux
}
