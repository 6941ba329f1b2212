// Package relay is the only way into a cluster: a process that listens on a
// loopback port of the machine and passes bytes on to the API server, with
// sockets it makes inside the first node's network namespace. It also keeps
// the logs from growing without bound.
package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Command is the hidden command of this program that is the relay.
const Command = "_relay"

const (
	// maxLog is what a log may hold before it is cut, checked every minute;
	// two times that, with the part kept aside, bounds the disk it takes.
	maxLog     = 20 << 20
	checkEvery = time.Minute
)

// Serve listens on the address listen and connects to the IPv4 address target
// inside the namespace that the file netns pins, until the process is ended.
func Serve(listen, netns, target, logs string) error {
	dial, err := dialer(netns, target)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	go trimLogs(logs)
	for {
		c, err := l.Accept()
		if err != nil {
			return fmt.Errorf("accepting: %w", err)
		}
		go func() {
			if err := pass(c, dial); err != nil {
				log.Print(err)
			}
		}()
	}
}

// dialer connects from inside a network namespace. A socket belongs to the
// namespace of the thread that made it, whoever uses it later, so one thread
// that stays inside makes them all.
func dialer(netns, target string) (func() (net.Conn, error), error) {
	addr, err := net.ResolveTCPAddr("tcp4", target)
	if err != nil {
		return nil, fmt.Errorf("reading target: %w", err)
	}
	type result struct {
		fd  int
		err error
	}
	wanted, made := make(chan struct{}), make(chan result)
	entered := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: no other goroutine may run inside
		entered <- enter(netns)
		for range wanted {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			made <- result{fd, err}
		}
	}()
	if err := <-entered; err != nil {
		return nil, err
	}
	var one sync.Mutex
	return func() (net.Conn, error) {
		one.Lock()
		wanted <- struct{}{}
		r := <-made
		one.Unlock()
		if r.err != nil {
			return nil, fmt.Errorf("making a socket inside the cluster: %w", r.err)
		}
		return connect(r.fd, addr)
	}, nil
}

func enter(netns string) error {
	f, err := os.Open(netns)
	if err != nil {
		return fmt.Errorf("entering network namespace: %w", err)
	}
	defer func() { _ = f.Close() }() // read only
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("entering network namespace: %w", err)
	}
	return nil
}

// connect takes over fd, also when it fails.
func connect(fd int, addr *net.TCPAddr) (net.Conn, error) {
	// A send timeout bounds a blocking connect as well.
	tv := unix.NsecToTimeval((5 * time.Second).Nanoseconds())
	sa := &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte(addr.IP.To4())}
	err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &tv)
	if err == nil {
		err = unix.Connect(fd, sa)
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	f := os.NewFile(uintptr(fd), "relay")
	defer func() { _ = f.Close() }() // FileConn has made a copy
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", addr, err)
	}
	return net.FileConn(f)
}

// pass copies both ways until both sides have closed.
func pass(client net.Conn, dial func() (net.Conn, error)) error {
	defer func() { _ = client.Close() }() // both directions are done by then
	server, err := dial()
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // both directions are done by then
	done := make(chan struct{})
	go func() {
		half(server, client)
		close(done)
	}()
	half(client, server)
	<-done
	return nil
}

// half copies one way and hands the end of the stream on, so that the other
// direction can finish by itself. Errors here are a peer that went away.
func half(dst, src net.Conn) {
	_, err := io.Copy(dst, src)
	if err != nil {
		_ = dst.Close()
		_ = src.Close()
		return
	}
	if t, ok := dst.(interface{ CloseWrite() error }); ok {
		_ = t.CloseWrite()
	}
}

// trimLogs copies a log that has grown too long aside and empties it. Its
// writer appends and does not notice.
func trimLogs(dir string) {
	for range time.Tick(checkEvery) {
		all, err := filepath.Glob(filepath.Join(dir, "*.log"))
		if err != nil {
			log.Print(err)
		}
		for _, file := range all {
			if err := trim(file, maxLog); err != nil {
				log.Printf("trimming %s: %v", file, err)
			}
		}
	}
}

func trim(file string, limit int64) error {
	st, err := os.Stat(file)
	if err != nil || st.Size() <= limit {
		return err
	}
	data, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = data.Close() }() // read only
	old, err := os.Create(strings.TrimSuffix(file, ".log") + ".log.1")
	if err != nil {
		return err
	}
	_, err = io.CopyN(old, data, st.Size())
	return errors.Join(err, old.Close(), os.Truncate(file, 0))
}

// FreePort returns want if nobody listens there, or another port that is free.
func FreePort(ctx context.Context, want int) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", want))
	if err != nil {
		l, err = lc.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
