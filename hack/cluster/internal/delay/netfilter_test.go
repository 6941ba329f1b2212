package delay

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// announced is a packet's message as the kernel writes it: its mark, or whatever comes first, and then its header.
func announced(id uint32) []byte {
	header := binary.BigEndian.AppendUint32(nil, id)
	header = append(header, 0x08, 0x00, 4) // IPv4, in POSTROUTING
	return message(messagePacket, 0, append(attribute(3, []byte{0, 0, 0, 7}), attribute(packetHeader, header)...))
}

func TestPacketsAreFound(t *testing.T) {
	data := slices.Concat(announced(1), message(messageConfig, 0, nil), announced(1<<31))
	if got := packets(data); !slices.Equal(got, []uint32{1, 1 << 31}) {
		t.Errorf("%v", got)
	}
}

func TestWhatIsCutShortIsLeftAlone(t *testing.T) {
	whole := slices.Concat(announced(1), announced(2))
	for n := range whole {
		if got := packets(whole[:n]); len(got) > 1 || len(got) == 1 && got[0] != 1 {
			t.Fatalf("%d bytes of %d: %v", n, len(whole), got)
		}
	}
}

func TestVerdict(t *testing.T) {
	verdict := binary.BigEndian.AppendUint32(nil, accept)
	m := message(messageVerdict, 0, attribute(verdictHeader, binary.BigEndian.AppendUint32(verdict, 258)))
	// 16 bytes of netlink's header, then: any family, version 0, queue 1; 12 bytes of kind 2, accept, 258.
	want := slices.Concat([]byte{0, 0, 0, 1}, binary.NativeEndian.AppendUint16(binary.NativeEndian.AppendUint16(nil, 12), 2), []byte{0, 0, 0, 1, 0, 0, 1, 2})
	if len(m) != 32 || binary.NativeEndian.Uint32(m) != 32 || !slices.Equal(m[16:], want) {
		t.Errorf("% x", m)
	}
}

func TestAcknowledged(t *testing.T) {
	word := func(code int32) []byte {
		m := message(unix.NLMSG_ERROR, 0, nil)
		return append(m[:headerSize:headerSize], binary.NativeEndian.AppendUint32(nil, uint32(code))...)
	}
	fit := func(m []byte) []byte { binary.NativeEndian.PutUint32(m, uint32(len(m))); return m }
	if found, err := acknowledged(fit(word(0))); err != nil || !found {
		t.Errorf("%v, %v", err, found)
	}
	if found, err := acknowledged(fit(word(-int32(unix.EBUSY)))); !errors.Is(err, unix.EBUSY) || !found {
		t.Errorf("%v, %v", err, found)
	}
	if found, _ := acknowledged(announced(1)); found {
		t.Error("a packet is no word")
	}
}
