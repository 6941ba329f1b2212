package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"google.golang.org/grpc"
)

// port is one of those that are served.
type port struct {
	name, addr string
	listener   net.Listener
	// accept serves what comes in at the listener until shutdown, which waits for requests in flight until ctx ends.
	accept   func(net.Listener) error
	shutdown func(context.Context) error
}

func httpPort(name, addr string, handler http.Handler) *port {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout}
	accept := func(l net.Listener) error {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
	return &port{name: name, addr: addr, accept: accept, shutdown: server.Shutdown}
}

func grpcPort(name, addr string, server *grpc.Server) *port {
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
	return &port{name: name, addr: addr, accept: accept, shutdown: shutdown}
}

func (p *port) open(ctx context.Context) (err error) {
	if p.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", p.addr); err != nil {
		return fmt.Errorf("opening %s port: %w", p.name, err)
	}
	return nil
}

func (p *port) serve() error {
	if err := p.accept(p.listener); err != nil {
		return fmt.Errorf("serving %s port: %w", p.name, err)
	}
	return nil
}

func (p *port) stop(ctx context.Context) error {
	<-ctx.Done()
	graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := p.shutdown(graceful); err != nil {
		return fmt.Errorf("closing %s port: %w", p.name, err)
	}
	return nil
}
