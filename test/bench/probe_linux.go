package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// probe sends requests and measures each, by a client as simple as can be.
func probe(job probeJob) (probeResult, error) {
	result := probeResult{Connections: make([][]sent, job.Connections)}
	var group errgroup.Group
	begin := time.Now()
	for i := range job.Connections {
		group.Go(func() (err error) {
			// Staggered, as the requests of a load are.
			time.Sleep(time.Until(begin.Add(job.Pause * time.Duration(i) / time.Duration(job.Connections))))
			result.Connections[i], err = probeOne(job)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return result, fmt.Errorf("probing: %w", err)
	}
	return result, nil
}

// probeOne probes over one connection.
func probeOne(job probeJob) ([]sent, error) {
	conn, err := net.Dial("tcp", job.Addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	answer := make([]byte, len(anAnswer))
	exchange := func() error { return viaGo(conn, answer) }
	if job.Mode == probeSpin || job.Mode == probeBlock {
		// The descriptor of File is a second one for the same socket, and is blocking.
		file, err := conn.(*net.TCPConn).File()
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		fd := int(file.Fd())
		if err := unix.SetNonblock(fd, job.Mode == probeSpin); err != nil {
			return nil, err
		}
		exchange = func() error { return viaKernel(fd, answer) }
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	requests := make([]sent, 0, job.Calls)
	// One more than is measured, which opens the connection.
	for i := range job.Calls + 1 {
		time.Sleep(job.Pause)
		start := time.Now()
		if err := exchange(); err != nil {
			return nil, err
		}
		if i > 0 {
			requests = append(requests, sent{At: start.UnixNano(), Took: int64(time.Since(start))})
		}
	}
	return requests, nil
}

var probeRequest = append([]byte(fmt.Sprintf("POST /echo HTTP/1.1\r\nHost: probe\r\nContent-Length: %d\r\n\r\n", answerBytes)), make([]byte, answerBytes)...)

func viaGo(conn net.Conn, answer []byte) error {
	if _, err := conn.Write(probeRequest); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, answer)
	return err
}

// viaKernel waits in read(2), or asks again and again if the socket does not block.
func viaKernel(fd int, answer []byte) error {
	if _, err := unix.Write(fd, probeRequest); err != nil {
		return err
	}
	for got := 0; got < len(answer); {
		n, err := unix.Read(fd, answer[got:])
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case n == 0:
			return io.ErrUnexpectedEOF
		}
		got += n
	}
	return nil
}
