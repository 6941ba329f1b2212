package cli

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dashboard"
	"perfrun.dev/perfrun/internal/rawdata"
)

func dashboardCommand(on *cluster) *cobra.Command {
	var port uint16
	var open bool
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Serve a page on this machine: all runs live, the queue, reports, the trends of schedules",
		Long: `Serve a page on this machine, until Ctrl-C: all runs with their progress, the queue, each run's report, the trend of each schedule with its changes.

It is read with your own kubeconfig and rights; nothing is installed in the cluster. Without -n it is of all namespaces, or of the
context's where you may not list PerfRuns in all. It listens on 127.0.0.1 alone, and the address that is printed has a key in it,
since whoever else is on this machine can reach the port: do not pass it on.`,
		Example: "  kubectl perfrun dashboard --open\n  kubectl perfrun dashboard --port 8080 -n team-a",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := newDashboard(on)
			if err != nil {
				return err
			}
			return serveDashboard(cmd.Context(), d, port, open, cmd.OutOrStdout())
		},
	}
	cmd.Flags().Uint16Var(&port, "port", 0, "listen on this `port` of 127.0.0.1; 0 is any free one")
	cmd.Flags().BoolVar(&open, "open", false, "open the page in the browser")
	return cmd
}

func newDashboard(on *cluster) (*dashboard.Dashboard, error) {
	c, namespace, err := on.client()
	if err != nil {
		return nil, err
	}
	o := dashboard.Options{Client: c, Fallback: namespace, Raw: func(ctx context.Context, run *v1alpha1.PerfRun) (*rawdata.Document, error) {
		return documentOf(ctx, c, run)
	}}
	if on.flags.Namespace != nil && *on.flags.Namespace != "" {
		o.Namespace = namespace
	}
	config, err := on.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	o.Cluster = config.CurrentContext
	if chosen := on.flags.Context; chosen != nil && *chosen != "" {
		o.Cluster = *chosen
	}
	if o.Cluster == "" {
		o.Cluster = "this cluster"
	}
	return dashboard.New(o), nil
}

// serveDashboard until the context ends.
func serveDashboard(ctx context.Context, d *dashboard.Dashboard, port uint16, open bool, out io.Writer) error {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return fmt.Errorf("listening for the dashboard: %w", err)
	}
	server := &http.Server{Handler: d, ReadHeaderTimeout: 10 * time.Second}
	go d.Run(ctx)
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	address := d.Address(listener.Addr().String())
	if _, err := fmt.Fprintf(out, "%s\nCtrl-C ends it.\n", address); err != nil {
		return err
	}
	if open {
		door, err := doorTo(address)
		if err != nil {
			return err
		}
		defer func() { _ = os.Remove(door) }()
		if err := openBrowser(ctx, door); err != nil {
			_, _ = fmt.Fprintf(out, "No browser could be opened (%v): open the address above.\n", err)
		}
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the dashboard: %w", err)
	}
	return nil
}

// doorTo an address is a file that only the user can read, and that leads there: all users of a machine can see the arguments of a browser.
func doorTo(address string) (string, error) {
	file, err := os.CreateTemp("", "perfrun-*.html")
	if err != nil {
		return "", fmt.Errorf("opening the dashboard: %w", err)
	}
	_, err = fmt.Fprintf(file, `<!doctype html><title>perfrun</title><meta http-equiv="refresh" content="0; url=%s">`, html.EscapeString(address))
	if err := errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(file.Name())
		return "", fmt.Errorf("opening the dashboard: %w", err)
	}
	return file.Name(), nil
}

// openBrowser as each system does.
func openBrowser(ctx context.Context, path string) error {
	command := []string{"xdg-open", path}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open", path}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", path}
	}
	return exec.CommandContext(ctx, command[0], command[1:]...).Start()
}
