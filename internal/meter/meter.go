// Package meter tells what the processes of its pod have used. It runs in a container of its own beside the application under test, so
// that any image is measured alike, and the application does not pay for being asked.
package meter

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/serving"
	"perfrun.dev/perfrun/internal/usage"
)

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
	return serving.Run(ctx, opts.Log, serving.HTTP("usage", opts.Addr, &http.Server{Handler: Handler(opts.ProcRoot)}))
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
