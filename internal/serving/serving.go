// Package serving opens a program's ports, serves them until it is to end, and closes them.
package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
)

const (
	// stopTimeout is how long requests in flight may take to end: pods of a run have 5 s in all.
	stopTimeout = 4 * time.Second

	readHeaderTimeout = 10 * time.Second
)

// Port is one of those that are served.
type Port struct {
	name, addr string
	listener   net.Listener
	// accept serves what comes in at the listener until shutdown, which waits for requests in flight until ctx ends.
	accept   func(net.Listener) error
	shutdown func(context.Context) error
}

// HTTP is a port on which server serves. A client has 10 s for the head of its request, unless server says otherwise.
func HTTP(name, addr string, server *http.Server) *Port {
	server.ReadHeaderTimeout = cmp.Or(server.ReadHeaderTimeout, readHeaderTimeout)
	accept := func(l net.Listener) error {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
	return &Port{name: name, addr: addr, accept: accept, shutdown: server.Shutdown}
}

// GRPC is a port on which server serves.
func GRPC(name, addr string, server *grpc.Server) *Port {
	accept := func(l net.Listener) error {
		if err := server.Serve(l); !errors.Is(err, grpc.ErrServerStopped) {
			return err
		}
		return nil
	}
	shutdown := func(ctx context.Context) error {
		defer context.AfterFunc(ctx, server.Stop)()
		server.GracefulStop()
		return ctx.Err()
	}
	return &Port{name: name, addr: addr, accept: accept, shutdown: shutdown}
}

// Run opens the ports and serves until ctx ends; requests in flight are then given 4 s. It returns nil after such an end, and an error
// if a port cannot be opened or served. log tells when the ports are open; nil means slog.Default.
func Run(ctx context.Context, log *slog.Logger, ports ...*Port) error {
	if log == nil {
		log = slog.Default()
	}
	for i, p := range ports {
		if err := p.open(ctx); err != nil {
			for _, opened := range ports[:i] {
				_ = opened.listener.Close()
			}
			return err
		}
		log.Info("serving", "port", p.name, "addr", p.listener.Addr().String())
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, p := range ports {
		group.Go(p.serve)
		group.Go(func() error { return p.stop(ctx) })
	}
	return group.Wait()
}

func (p *Port) open(ctx context.Context) (err error) {
	if p.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", p.addr); err != nil {
		return fmt.Errorf("opening %s port: %w", p.name, err)
	}
	return nil
}

func (p *Port) serve() error {
	if err := p.accept(p.listener); err != nil {
		return fmt.Errorf("serving %s port: %w", p.name, err)
	}
	return nil
}

func (p *Port) stop(ctx context.Context) error {
	<-ctx.Done()
	graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := p.shutdown(graceful); err != nil {
		return fmt.Errorf("closing %s port: %w", p.name, err)
	}
	return nil
}
