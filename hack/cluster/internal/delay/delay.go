// Package delay makes the network between nodes slower. A process takes the
// packets that netfilter queues for it (package isolate says which), and lets
// each go on after the same time. Not netem, which does this in the kernel
// wherever it was built in: queueing to programs is built in more often.
package delay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Command is the hidden command of this program that delays.
const Command = "_delay"

// Queue is the number of the queue, one for each network namespace.
const Queue = 1

// longest is how many packets may be held: at 1500 bytes each, 10 ms of 1 Gbit/s.
// What comes beyond goes on at once.
const longest = 1024

// held is a packet that waits.
type held struct {
	id  uint32
	due time.Time
}

// Serve delays the packets of the queue of the network namespace that it runs in,
// until the process is ended. Whatever waits by then is lost, as on a bad
// line; TCP sends it again.
func Serve(after time.Duration) error {
	s, err := open()
	if err != nil {
		return err
	}
	// As exact as the kernel's timers are: its usual tolerance is 50 us.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting the tolerance of timers: %w", err)
	}
	// Few enough for one thread, and one thread keeps their order.
	var waiting []held
	for {
		if err := s.wait(waiting); err != nil {
			return err
		}
		ids, err := s.receive()
		if err != nil {
			return err
		}
		now := time.Now()
		for _, id := range ids {
			waiting = append(waiting, held{id, now.Add(after)})
		}
		for len(waiting) > 0 && !waiting[0].due.After(now) {
			if err := s.release(waiting[0].id); err != nil {
				return err
			}
			waiting = waiting[1:]
		}
	}
}

// socket to the queue.
type socket struct {
	fd  int
	buf []byte
}

func open() (*socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, fmt.Errorf("opening a socket to netfilter: %w", err)
	}
	s := &socket{fd: fd, buf: make([]byte, 1<<16)}
	for _, attributes := range [][]byte{
		attribute(cfgCommand, []byte{commandBind, 0, 0, 0}),
		// Not the packets: that they are there is all there is to know.
		attribute(cfgParams, []byte{0, 0, 0, 0, copyMeta}),
		attribute(cfgLongest, binary.BigEndian.AppendUint32(nil, longest)),
		append(attribute(cfgMask, binary.BigEndian.AppendUint32(nil, failOpen|whole)),
			attribute(cfgFlags, binary.BigEndian.AppendUint32(nil, failOpen|whole))...),
	} {
		if err := s.configure(attributes); err != nil {
			return nil, fmt.Errorf("taking queue %d (the kernel needs nfnetlink_queue; as a module, load it with: modprobe nfnetlink_queue): %w", Queue, err)
		}
	}
	return s, nil
}

// configure sends a message and waits for the kernel's word on it.
func (s *socket) configure(attributes []byte) error {
	if err := s.send(message(messageConfig, unix.NLM_F_ACK, attributes)); err != nil {
		return err
	}
	for {
		if err := s.wait(nil); err != nil {
			return err
		}
		n, err := unix.Read(s.fd, s.buf)
		if err != nil {
			return fmt.Errorf("reading from netfilter: %w", err)
		}
		if found, answer := acknowledged(s.buf[:n]); found {
			return answer
		}
	}
}

func (s *socket) send(m []byte) error {
	if err := unix.Sendto(s.fd, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("writing to netfilter: %w", err)
	}
	return nil
}

// wait returns when there is something to read, or the first packet is due.
func (s *socket) wait(waiting []held) error {
	var limit *unix.Timespec
	if len(waiting) > 0 {
		t := unix.NsecToTimespec(max(0, time.Until(waiting[0].due).Nanoseconds()))
		limit = &t
	}
	_, err := unix.Ppoll([]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}, limit, nil)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("waiting for packets: %w", err)
	}
	return nil
}

// receive returns the packets that are there.
func (s *socket) receive() ([]uint32, error) {
	var out []uint32
	for {
		n, err := unix.Read(s.fd, s.buf)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOBUFS):
			// There are none; or more than the socket holds, and what did not fit has gone on.
			return out, nil
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, fmt.Errorf("reading packets: %w", err)
		default:
			out = append(out, packets(s.buf[:n])...)
		}
	}
}

// release lets a packet go on. The kernel has forgotten it if its interface is gone; it says so only to those who ask.
func (s *socket) release(id uint32) error {
	verdict := binary.BigEndian.AppendUint32(nil, accept)
	return s.send(message(messageVerdict, 0, attribute(verdictHeader, binary.BigEndian.AppendUint32(verdict, id))))
}
