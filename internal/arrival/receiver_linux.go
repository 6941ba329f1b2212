package arrival

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stamping: the kernel's own clock, as a packet comes in (Documentation/networking/timestamping.rst).
const stamping = unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_RX_SOFTWARE

// controlBytes has room for a header and three struct timespec.
const controlBytes = 128

// receiver reads messages with their control data. Its buffers and its function live as long as the connection: reading allocates nothing.
type receiver struct {
	conn net.Conn
	raw  syscall.RawConn
	try  func(fd uintptr) (done bool)
	// unsent is to be written before p is read into; nil if nothing is.
	unsent, p []byte
	// When writing began; what came of it, and of reading.
	asked    time.Time
	writeErr error
	n        int
	errno    syscall.Errno
	// message is what recvmsg is told and tells; it points to the other two.
	message unix.Msghdr
	vector  unix.Iovec
	control [controlBytes]byte
}

func (r *receiver) prepare(conn net.Conn) (err error) {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return errors.New("the connection is not a socket")
	}
	if r.raw, err = socket.SyscallConn(); err != nil {
		return err
	}
	if controlErr := r.raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stamping)
	}); controlErr != nil {
		return controlErr
	}
	r.conn, r.try = conn, r.step
	return err
}

// step is called when reading begins, and whenever the connection has become readable.
func (r *receiver) step(fd uintptr) (done bool) {
	if request := r.unsent; request != nil {
		// Reading has begun: whatever arrives from here on ends the wait that "not done" leads to (net's poller keeps it in mind), be it
		// before that wait begins.
		r.unsent, r.asked = nil, time.Now()
		_, r.writeErr = r.conn.Write(request)
		return r.writeErr != nil
	}
	for {
		r.recvmsg(fd)
		if r.errno != unix.EINTR {
			return r.errno != unix.EAGAIN
		}
	}
}

// recvmsg is unix.Recvmsg without the sender's address, for which that makes room on the heap each time.
func (r *receiver) recvmsg(fd uintptr) {
	r.vector.Base = unsafe.SliceData(r.p)
	r.vector.SetLen(len(r.p))
	r.message = unix.Msghdr{Iov: &r.vector, Iovlen: 1, Control: &r.control[0]}
	r.message.SetControllen(len(r.control))
	n, _, errno := unix.Syscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.message)), 0)
	r.n, r.errno = int(n), errno
}

func (r *receiver) receive(unsent, p []byte) (n int, asked, at time.Time, err error) {
	r.unsent, r.p, r.asked, r.writeErr = unsent, p, time.Time{}, nil
	err = r.raw.Read(r.try)
	r.p, r.vector.Base = nil, nil
	switch {
	case err != nil:
		return 0, r.asked, at, err
	case r.writeErr != nil:
		return 0, r.asked, at, r.writeErr
	case r.errno != 0:
		return 0, r.asked, at, os.NewSyscallError("recvmsg", r.errno)
	case r.n == 0 && len(p) > 0:
		return 0, r.asked, at, io.EOF
	}
	return r.n, r.asked, stampIn(r.control[:r.message.Controllen]), nil
}

// stampIn finds the software time stamp, the first of three struct timespec; zero if there is none.
func stampIn(control []byte) time.Time {
	for len(control) > 0 {
		header, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			break
		}
		if header.Level == unix.SOL_SOCKET && header.Type == unix.SO_TIMESTAMPING && len(data) >= 16 {
			seconds, nanoseconds := binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
			if seconds == 0 {
				break
			}
			return time.Unix(int64(seconds), int64(nanoseconds)) //nolint:gosec // times of this century
		}
		control = rest
	}
	return time.Time{}
}
