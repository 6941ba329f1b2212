package delay

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// RoundTrip is how long a packet takes from inside the network namespace that a
// file pins to an address and back: the median of some connections' first
// exchange, which kernels alone have with each other. That nobody listens on the
// port is an answer as well.
func RoundTrip(netns string, ip string, port int) (time.Duration, error) {
	type result struct {
		median time.Duration
		err    error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this function, and no other may run inside
		median, err := roundTrip(netns, net.ParseIP(ip).To4(), port)
		done <- result{median, err}
	}()
	r := <-done
	return r.median, r.err
}

func roundTrip(netns string, ip net.IP, port int) (time.Duration, error) {
	f, err := os.Open(netns)
	if err != nil {
		return 0, fmt.Errorf("entering network namespace: %w", err)
	}
	defer func() { _ = f.Close() }() // read only
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		return 0, fmt.Errorf("entering network namespace: %w", err)
	}
	took := make([]time.Duration, 21)
	for i := range took {
		if took[i], err = connect(ip, port); err != nil {
			return 0, err
		}
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

func connect(ip net.IP, port int) (time.Duration, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("making a socket: %w", err)
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	// A send timeout bounds a blocking connect as well.
	limit := unix.NsecToTimeval((2 * time.Second).Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit); err != nil {
		return 0, fmt.Errorf("setting up a socket: %w", err)
	}
	begun := time.Now()
	err = unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte(ip)})
	if err != nil && !errors.Is(err, unix.ECONNREFUSED) {
		return 0, fmt.Errorf("connecting to %s: %w", ip, err)
	}
	return time.Since(begun), nil
}
