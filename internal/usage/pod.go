package usage

import (
	"encoding/json"
	"fmt"
	"io"

	"perfrun.dev/perfrun/internal/measure"
)

// maxPodBytes: a PodUsage has some hundred bytes, the others fewer.
const maxPodBytes = 64 << 10

// decode reads what a meter, or a target's application, tells of itself.
func decode[T measure.PodUsage | measure.Traces | measure.Exported](r io.Reader) (out T, err error) {
	body, err := io.ReadAll(io.LimitReader(r, maxPodBytes+1))
	if err != nil {
		return out, fmt.Errorf("reading the answer: %w", err)
	}
	if len(body) > maxPodBytes {
		return out, fmt.Errorf("reading the answer: %w", ErrTooLong)
	}
	if err := json.Unmarshal(body, &out); err != nil {
		return out, fmt.Errorf("decoding the answer: %w", err)
	}
	return out, nil
}
