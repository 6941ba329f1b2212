package stats

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
)

// header is the beginning of an inflated HdrHistogram V2 encoding, big endian.
type header struct {
	Cookie, PayloadLength, NormalizingOffset, Digits int32
	Lowest, Highest                                  int64
	Ratio                                            float64
}

// envelopeBytes are the cookie and the length that come before the compressed part.
const envelopeBytes = 8

// checkGeometry looks at the header before the library does, since the library allocates whatever counts the header asks for:
// with 5 digits over the whole of int64 that is more than 50 MB for a few bytes of input.
func checkGeometry(encoded []byte) error {
	compressed, err := base64.StdEncoding.DecodeString(string(encoded))
	if err != nil {
		return err
	}
	if len(compressed) < envelopeBytes {
		return io.ErrUnexpectedEOF
	}
	inflated, err := zlib.NewReader(bytes.NewReader(compressed[envelopeBytes:]))
	if err != nil {
		return fmt.Errorf("inflating: %w", err)
	}
	defer func() { _ = inflated.Close() }()
	var h header
	if err := binary.Read(inflated, binary.BigEndian, &h); err != nil {
		return fmt.Errorf("reading header: %w", err)
	}
	if h.Digits != significantDigits || h.Lowest != lowestMicros || h.Highest != highestMicros {
		return errGeometry
	}
	return nil
}
