package arrival

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stamping: the kernel's own clock, as a packet comes in (Documentation/networking/timestamping.rst).
const stamping = unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_RX_SOFTWARE

// controlBytes has room for a header and three struct timespec.
const controlBytes = 128

// receiver reads messages with their control data. Its buffers and its function live as long as the connection: reading allocates nothing.
type receiver struct {
	raw     syscall.RawConn
	recvmsg func(fd uintptr) (done bool)
	control [controlBytes]byte
	// p is what to read into; the rest is what came of it.
	p               []byte
	n, controlCount int
	err             error
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
	r.recvmsg = func(fd uintptr) bool {
		for {
			r.n, r.controlCount, _, _, r.err = unix.Recvmsg(int(fd), r.p, r.control[:], 0)
			if !errors.Is(r.err, unix.EINTR) {
				return !errors.Is(r.err, unix.EAGAIN)
			}
		}
	}
	return err
}

func (r *receiver) receive(_ net.Conn, p []byte) (n int, at time.Time, err error) {
	r.p = p
	err = r.raw.Read(r.recvmsg)
	r.p = nil
	switch {
	case err != nil:
		return 0, at, err
	case r.err != nil:
		return 0, at, os.NewSyscallError("recvmsg", r.err)
	case r.n == 0 && len(p) > 0:
		return 0, at, io.EOF
	}
	return r.n, stampIn(r.control[:r.controlCount]), nil
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
