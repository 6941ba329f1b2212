// Package meter tells what the processes of its pod have used. It runs in a container of its own beside the application under test, so
// that any image is measured alike, and the application does not pay for being asked.
package meter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/usage"
)

const readHeaderTimeout = 10 * time.Second

// Options of Serve.
type Options struct {
	// Addr to serve on.
	Addr string
	// ProcRoot is where /proc is mounted; empty means /proc.
	ProcRoot string
	// Log tells when the port is open; nil means slog.Default.
	Log *slog.Logger
}

// Serve serves until ctx ends. It returns nil after such an end, and an error if the port cannot be opened or served.
func Serve(ctx context.Context, opts Options) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", opts.Addr)
	if err != nil {
		return fmt.Errorf("opening port: %w", err)
	}
	log := opts.Log
	if log == nil {
		log = slog.Default()
	}
	log.Info("serving", "addr", listener.Addr().String())
	server := &http.Server{Handler: Handler(opts.ProcRoot), ReadHeaderTimeout: readHeaderTimeout}
	// A reading takes about a millisecond: none is worth waiting for.
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

// Handler serves measure.TargetUsagePath, read below procRoot (empty: /proc), and measure.PathHealth.
func Handler(procRoot string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+measure.PathHealth, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET "+measure.TargetUsagePath, func(w http.ResponseWriter, _ *http.Request) {
		pod, err := usage.ReadOthers(procRoot)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		pod.Node = usage.ReadNode(procRoot)
		w.Header().Set("Content-Type", "application/json")
		// An error here is the client's who has gone.
		_ = json.NewEncoder(w).Encode(pod)
	})
	return mux
}
