package usage

import (
	"encoding/json"
	"fmt"
	"io"

	"perfrun.dev/perfrun/internal/measure"
)

// maxPodBytes: a PodUsage has some hundred bytes.
const maxPodBytes = 64 << 10

// decodePod reads what a target's usage port answers.
func decodePod(r io.Reader) (measure.PodUsage, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxPodBytes+1))
	if err != nil {
		return measure.PodUsage{}, fmt.Errorf("reading pod usage: %w", err)
	}
	if len(body) > maxPodBytes {
		return measure.PodUsage{}, fmt.Errorf("reading pod usage: %w", ErrTooLong)
	}
	var pod measure.PodUsage
	if err := json.Unmarshal(body, &pod); err != nil {
		return measure.PodUsage{}, fmt.Errorf("decoding pod usage: %w", err)
	}
	return pod, nil
}
