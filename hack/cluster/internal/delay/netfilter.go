package delay

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// The language of nfnetlink_queue, from linux/netfilter/nfnetlink_queue.h.
const (
	messagePacket  = unix.NFNL_SUBSYS_QUEUE << 8
	messageVerdict = unix.NFNL_SUBSYS_QUEUE<<8 | 1
	messageConfig  = unix.NFNL_SUBSYS_QUEUE<<8 | 2

	packetHeader  = 1
	verdictHeader = 2

	cfgCommand = 1
	cfgParams  = 2
	cfgLongest = 3
	cfgMask    = 4
	cfgFlags   = 5

	commandBind = 1
	copyMeta    = 1
	// failOpen: what does not fit into the queue goes on.
	failOpen = 1 << 0
	// whole: a packet that the card would cut into several is not cut for us.
	whole = 1 << 2

	accept = 1
)

// Sizes of a netlink message's header, of netfilter's after it, and of an attribute's.
const (
	headerSize    = unix.SizeofNlMsghdr
	subheaderSize = 4
	attributeSize = unix.SizeofNlAttr
)

// attribute in the order of bytes of this machine; the values that netfilter
// reads within it are in that of the network.
func attribute(kind uint16, value []byte) []byte {
	out := binary.NativeEndian.AppendUint16(nil, uint16(attributeSize+len(value)))
	out = binary.NativeEndian.AppendUint16(out, kind)
	out = append(out, value...)
	return append(out, make([]byte, aligned(len(out))-len(out))...)
}

func message(kind, flags uint16, attributes []byte) []byte {
	out := binary.NativeEndian.AppendUint32(nil, uint32(headerSize+subheaderSize+len(attributes)))
	out = binary.NativeEndian.AppendUint16(out, kind)
	out = binary.NativeEndian.AppendUint16(out, unix.NLM_F_REQUEST|flags)
	out = append(out, make([]byte, 8)...) // sequence and sender: one question at a time
	out = append(out, unix.AF_UNSPEC, 0)
	out = binary.BigEndian.AppendUint16(out, Queue)
	return append(out, attributes...)
}

// each calls f for every message in what was read.
func each(data []byte, f func(kind uint16, body []byte)) {
	for len(data) >= headerSize {
		size := int(binary.NativeEndian.Uint32(data))
		if size < headerSize || size > len(data) {
			return
		}
		f(binary.NativeEndian.Uint16(data[4:]), data[headerSize:size])
		data = data[min(aligned(size), len(data)):]
	}
}

// packets are the numbers of those that messages announce.
func packets(data []byte) []uint32 {
	var out []uint32
	each(data, func(kind uint16, body []byte) {
		if kind != messagePacket || len(body) < subheaderSize {
			return
		}
		for rest := body[subheaderSize:]; len(rest) >= attributeSize; {
			size := int(binary.NativeEndian.Uint16(rest))
			if size < attributeSize || size > len(rest) {
				return
			}
			if binary.NativeEndian.Uint16(rest[2:]) == packetHeader && size >= attributeSize+4 {
				out = append(out, binary.BigEndian.Uint32(rest[attributeSize:]))
				return
			}
			rest = rest[min(aligned(size), len(rest)):]
		}
	})
	return out
}

// acknowledged finds the kernel's word on a configuration: an error, or none.
func acknowledged(data []byte) (found bool, answer error) {
	each(data, func(kind uint16, body []byte) {
		if kind != unix.NLMSG_ERROR || len(body) < 4 {
			return
		}
		found = true
		if code := int32(binary.NativeEndian.Uint32(body)); code != 0 {
			answer = unix.Errno(-code)
		}
	})
	return found, answer
}

func aligned(size int) int { return (size + unix.NLMSG_ALIGNTO - 1) &^ (unix.NLMSG_ALIGNTO - 1) }
