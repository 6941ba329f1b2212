package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// spinTime before an answer is due, the server stops sleeping and looks at the clock instead: longer than it takes a processor to be
// woken, and short enough that the server leaves the other processor's worth of time to whom it measures.
const spinTime = 60 * time.Microsecond

// server is one thread that waits for all connections at once, as precisely as the kernel allows. Go's own timers and goroutines are
// late by up to a millisecond, which is as long as the delays; and one thread needs no locks.
type server struct {
	*conduct
	epoll, listener int
	byFD            map[int]*serverConn
	events          []unix.EpollEvent
	poll            []unix.PollFd
	buffer, control []byte
}

// serve prints its address, serves until standard input is closed, and prints what it has recorded.
func serve(job serverJob) error {
	runtime.LockOSThread()
	// What is allocated while it serves are a few hundred bytes for each request; a collection would be a stall of its own.
	debug.SetGCPercent(-1)
	// Timers of this thread need not be gathered with others'.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("asking for precise timers: %w", err)
	}
	s, port, err := listen(job)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	fmt.Printf("127.0.0.1:%d\n", port)
	if err := s.run(); err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	return json.NewEncoder(os.Stdout).Encode(s.history())
}

func listen(job serverJob) (*server, int, error) {
	c, err := newConduct(job)
	if err != nil {
		return nil, 0, err
	}
	s := &server{conduct: c, byFD: map[int]*serverConn{}, events: make([]unix.EpollEvent, 256), buffer: make([]byte, 64<<10), control: make([]byte, 256)}
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, 0, err
	}
	s.poll = []unix.PollFd{{Fd: int32(s.epoll), Events: unix.POLLIN}} //nolint:gosec // a descriptor
	if s.listener, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
		return nil, 0, err
	}
	if job.Record {
		// Accepted sockets inherit it. The kernel begins to stamp some milliseconds after the first socket has asked for it, so it is
		// asked for before there is a client.
		if err = unix.SetsockoptInt(s.listener, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stampComing|stampGoing); err != nil {
			return nil, 0, err
		}
	}
	if err = unix.Bind(s.listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return nil, 0, err
	}
	if err = unix.Listen(s.listener, 1024); err != nil {
		return nil, 0, err
	}
	addr, err := unix.Getsockname(s.listener)
	if err != nil {
		return nil, 0, err
	}
	return s, addr.(*unix.SockaddrInet4).Port, errors.Join(s.watch(s.listener), s.watch(int(os.Stdin.Fd())))
}

func (s *server) watch(fd int) error {
	return unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}) //nolint:gosec // a descriptor
}

func (s *server) run() error {
	for {
		n, err := s.wait()
		if err != nil {
			return err
		}
		for _, e := range s.events[:n] {
			switch fd := int(e.Fd); fd {
			case int(os.Stdin.Fd()):
				return nil
			case s.listener:
				err = s.accept()
			default:
				err = s.read(s.byFD[fd])
			}
			if err != nil {
				return err
			}
		}
		for conn := s.ready(time.Now().UnixNano()); conn != nil; conn = s.ready(time.Now().UnixNano()) {
			if err := s.send(conn); err != nil {
				return err
			}
		}
	}
}

// wait for something to read, or until shortly before an answer is to leave.
func (s *server) wait() (n int, err error) {
	timeout := -1
	if len(s.pending) > 0 {
		timeout = 0
		if left := time.Duration(s.next()-time.Now().UnixNano()) - spinTime; left > 0 {
			// epoll_wait knows milliseconds only.
			until := unix.NsecToTimespec(int64(left))
			if _, err := unix.Ppoll(s.poll, &until, nil); err != nil && !errors.Is(err, unix.EINTR) {
				return 0, err
			}
		}
	}
	n, err = unix.EpollWait(s.epoll, s.events, timeout)
	if errors.Is(err, unix.EINTR) {
		return 0, nil
	}
	return n, err
}

func (s *server) accept() error {
	fd, _, err := unix.Accept4(s.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	if err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return err
	}
	s.byFD[fd] = &serverConn{fd: fd}
	return s.watch(fd)
}

func (s *server) read(conn *serverConn) error {
	n, stamp, err := s.receive(conn.fd)
	switch {
	case errors.Is(err, unix.EAGAIN):
		// Nothing to read: what woke the server is a stamp that came too late to be used.
		s.left(conn.fd, math.MaxInt64)
		return nil
	case errors.Is(err, unix.EINTR):
		return nil
	case err != nil || n == 0:
		// The client has gone.
		delete(s.byFD, conn.fd)
		return unix.Close(conn.fd)
	}
	request := s.buffer[:n]
	if len(conn.unread) > 0 {
		conn.unread = append(conn.unread, request...)
		request = conn.unread
	}
	if !complete(request) {
		conn.unread = append(conn.unread[:0], request...)
		return nil
	}
	conn.unread = conn.unread[:0]
	if s.arrived(conn, stamp) == 0 {
		return s.send(conn)
	}
	return nil
}

// receive returns what was read and when the kernel got it.
func (s *server) receive(fd int) (n int, stamp int64, err error) {
	if !s.job.Record {
		n, err = unix.Read(fd, s.buffer)
		return n, 0, err
	}
	n, control, _, _, err := unix.Recvmsg(fd, s.buffer, s.control, 0)
	if err != nil || n == 0 {
		return n, 0, err
	}
	if stamp = kernelStamp(s.control[:control]); stamp == 0 {
		s.seen.Unstamped++
		stamp = time.Now().UnixNano()
	}
	return n, stamp, nil
}

func (s *server) send(conn *serverConn) error {
	now := time.Now().UnixNano()
	// An answer fits into an empty socket. A client that has gone is found out when it is read from.
	if n, err := unix.Write(conn.fd, anAnswer); err == nil && n < len(anAnswer) {
		return fmt.Errorf("the socket took %d of %d bytes", n, len(anAnswer))
	}
	if s.job.Record {
		if stamp := s.left(conn.fd, now); stamp != 0 {
			now = stamp
		} else {
			s.seen.Unstamped++
		}
	}
	s.departed(conn, now)
	return nil
}

// left is when the kernel put the answer that was written after a time on its way; 0 if it does not say. On loopback it knows as soon as
// the answer is written. Stamps of earlier answers are thrown away.
func (s *server) left(fd int, after int64) (stamp int64) {
	for {
		_, control, _, _, err := unix.Recvmsg(fd, s.buffer, s.control, unix.MSG_ERRQUEUE)
		if err != nil {
			return 0
		}
		if stamp = kernelStamp(s.control[:control]); stamp >= after {
			return stamp
		}
	}
}

// complete tells whether a request has arrived to its end.
func complete(request []byte) bool {
	head, body, ok := bytes.Cut(request, []byte("\r\n\r\n"))
	if !ok {
		return false
	}
	_, rest, ok := bytes.Cut(head, []byte("Content-Length: "))
	if !ok {
		return true
	}
	value, _, _ := bytes.Cut(rest, []byte("\r\n"))
	length, err := strconv.Atoi(string(value))
	return err == nil && len(body) >= length
}
