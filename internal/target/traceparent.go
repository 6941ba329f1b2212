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
