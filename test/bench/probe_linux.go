package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// probe sends requests one at a time and measures each, by a client as simple as can be.
func probe(job probeJob) (probeResult, error) {
	conn, err := net.Dial("tcp", job.Addr)
	if err != nil {
		return probeResult{}, fmt.Errorf("probing: %w", err)
	}
	defer func() { _ = conn.Close() }()
	exchange := func() (time.Time, error) { return viaGo(conn) }
	switch job.Mode {
	case probeStamp:
		raw, err := conn.(*net.TCPConn).SyscallConn()
		if err != nil {
			return probeResult{}, fmt.Errorf("probing: %w", err)
		}
		if err := stamping(raw); err != nil {
			return probeResult{}, fmt.Errorf("probing: %w", err)
		}
		exchange = func() (time.Time, error) { return viaStamps(conn, raw) }
	case probeSpin, probeBlock:
		// The descriptor of File is a second one for the same socket, and is blocking.
		file, err := conn.(*net.TCPConn).File()
		if err != nil {
			return probeResult{}, fmt.Errorf("probing: %w", err)
		}
		defer func() { _ = file.Close() }()
		fd := int(file.Fd())
		if err := unix.SetNonblock(fd, job.Mode == probeSpin); err != nil {
			return probeResult{}, fmt.Errorf("probing: %w", err)
		}
		exchange = func() (time.Time, error) { return viaKernel(fd) }
	}
	runtime.LockOSThread()
	result := probeResult{Took: make([]int64, 0, job.Calls)}
	// One more than is measured, which opens the connection.
	for i := range job.Calls + 1 {
		time.Sleep(job.Pause)
		start := time.Now()
		end, err := exchange()
		if err != nil {
			return result, fmt.Errorf("probing: %w", err)
		}
		if i > 0 {
			result.Took = append(result.Took, int64(end.Sub(start)))
		}
	}
	return result, nil
}

var probeRequest = append([]byte(fmt.Sprintf("POST /echo HTTP/1.1\r\nHost: probe\r\nContent-Length: %d\r\n\r\n", answerBytes)), make([]byte, answerBytes)...)

// answerBuffer is used by one probe at a time.
var answerBuffer = make([]byte, len(anAnswer))

// The exchanges return when the answer was there.

func viaGo(conn net.Conn) (time.Time, error) {
	if _, err := conn.Write(probeRequest); err != nil {
		return time.Time{}, err
	}
	_, err := io.ReadFull(conn, answerBuffer)
	return time.Now(), err
}

// viaKernel waits in read(2), or asks again and again if the socket does not block.
func viaKernel(fd int) (time.Time, error) {
	if _, err := unix.Write(fd, probeRequest); err != nil {
		return time.Time{}, err
	}
	for got := 0; got < len(answerBuffer); {
		n, err := unix.Read(fd, answerBuffer[got:])
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return time.Time{}, err
		case n == 0:
			return time.Time{}, io.ErrUnexpectedEOF
		}
		got += n
	}
	return time.Now(), nil
}

func stamping(raw syscall.RawConn) (err error) {
	if controlErr := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stampingFlags)
	}); controlErr != nil {
		return controlErr
	}
	return err
}

var stampBuffer = make([]byte, 256)

func viaStamps(conn net.Conn, raw syscall.RawConn) (at time.Time, err error) {
	if _, err := conn.Write(probeRequest); err != nil {
		return at, err
	}
	for got := 0; got < len(answerBuffer); {
		var n, control int
		if readErr := raw.Read(func(fd uintptr) (done bool) {
			n, control, _, _, err = unix.Recvmsg(int(fd), answerBuffer[got:], stampBuffer, 0)
			return !errors.Is(err, unix.EAGAIN)
		}); readErr != nil {
			return at, readErr
		}
		if err != nil {
			return at, err
		}
		if n == 0 {
			return at, io.ErrUnexpectedEOF
		}
		got += n
		at = time.Unix(0, kernelStamp(stampBuffer[:control]))
	}
	return at, nil
}
