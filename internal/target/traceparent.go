package target

// The layout of a traceparent, https://www.w3.org/TR/trace-context/#traceparent-header:
//
//	00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//	0  3                                36               53
const (
	traceAt, parentAt, flagsAt = 3, 36, 53
	traceparentLength          = 55
)

// parseTraceparent tells whether s is a valid trace context, and whether its sampled flag is set. Later versions than 00 may be
// longer; what they share with 00 is read.
func parseTraceparent(s string) (traced, sampled bool) {
	if len(s) < traceparentLength || s[traceAt-1] != '-' || s[parentAt-1] != '-' || s[flagsAt-1] != '-' {
		return false, false
	}
	version, trace, parent, flags := s[:traceAt-1], s[traceAt:parentAt-1], s[parentAt:flagsAt-1], s[flagsAt:traceparentLength]
	longer := len(s) > traceparentLength
	switch {
	case !isHex(version) || version == "ff", !isHex(flags):
		return false, false
	case !isHex(trace) || isZero(trace), !isHex(parent) || isZero(parent):
		return false, false
	case longer && (version == "00" || s[traceparentLength] != '-'):
		return false, false
	}
	// The lowest bit of the flags, which is the lowest bit of their last digit; so it is of the character too for 0 to 9, and the
	// other way round for a (0x61) to f.
	last := flags[1]
	if last >= 'a' {
		last -= 'a' - 10
	}
	return true, last&1 == 1
}

// isHex: the standard allows lower case only.
func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func isZero(s string) bool {
	for i := range len(s) {
		if s[i] != '0' {
			return false
		}
	}
	return true
}

// The layout of a grpc-trace-bin, https://github.com/census-instrumentation/opencensus-specs/blob/master/encodings/BinaryEncoding.md:
// version 0, then three fields, each after its number: 0 the trace, 1 the parent, 2 the flags.
const (
	binTraceAt, binParentAt, binFlagsAt = 2, 19, 28
	binLength                           = 29

	noTrace = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
)

// parseTraceBin is parseTraceparent for the binary format.
func parseTraceBin(s string) (traced, sampled bool) {
	if len(s) != binLength || s[0] != 0 || s[binTraceAt-1] != 0 || s[binParentAt-1] != 1 || s[binFlagsAt-1] != 2 {
		return false, false
	}
	if s[binTraceAt:binParentAt-1] == noTrace || s[binParentAt:binFlagsAt-1] == noTrace[:binFlagsAt-binParentAt-1] {
		return false, false
	}
	return true, s[binFlagsAt]&1 == 1
}
