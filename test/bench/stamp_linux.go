package main

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

// Flags of SO_TIMESTAMPING: the kernel's own clock, when a packet comes in, and for the server also when one goes out, without the packet.
const (
	stampComing = unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_RX_SOFTWARE
	stampGoing  = unix.SOF_TIMESTAMPING_TX_SOFTWARE | unix.SOF_TIMESTAMPING_OPT_TSONLY
)

// kernelStamp is the software time stamp among a message's control data, in nanoseconds of the system clock; 0 if there is none.
// It is the first of three struct timespec (Documentation/networking/timestamping.rst).
func kernelStamp(control []byte) int64 {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPING && len(m.Data) >= 16 {
			return int64(binary.NativeEndian.Uint64(m.Data))*int64(time.Second) + int64(binary.NativeEndian.Uint64(m.Data[8:])) //nolint:gosec // times of this century
		}
	}
	return 0
}
