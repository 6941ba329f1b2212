package loadtester

import (
	"context"
	"time"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/usage"
)

const (
	// exportQuiet: sidecars export what they have every 5 s (OpenTelemetry's batch span processor, whose default Dapr leaves).
	exportQuiet = 6 * time.Second
	// exportPatience bounds the wait for a sink at which something arrives all the time.
	exportPatience = 30 * time.Second
)

// sink is the run's trace sink as the load tester sees it. It is none of what is measured: whatever is wrong with it is told, and harms
// nothing else.
type sink struct {
	url    string
	fetch  usage.Fetcher
	before measure.Exported
	err    error
}

// lookAtSink reads the sink before the load, to know it again afterwards; nil without one.
func lookAtSink(ctx context.Context, url string) *sink {
	if url == "" {
		return nil
	}
	s := &sink{url: url}
	s.before, s.err = s.fetch.Exported(ctx, url)
	return s
}

// conclude waits until nothing more arrives, and notes what has. The error is ctx's.
func (s *sink) conclude(ctx context.Context, seen *measure.Observed, quiet time.Duration) error {
	if s == nil {
		return nil
	}
	if s.err != nil {
		seen.ExportError = "before the load: " + s.err.Error()
		return nil
	}
	last, err := s.settled(ctx, quiet)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		seen.ExportError = "after the load: " + err.Error()
	case last.Instance != s.before.Instance:
		seen.ExportError = "the trace sink restarted during the measurement; what it had counted is lost"
	default:
		last.Spans -= s.before.Spans
		last.Traces -= s.before.Traces
		last.Bytes -= s.before.Bytes
		seen.Exported = &last
	}
	return nil
}

// settled reads the sink until nothing has arrived for so long.
func (s *sink) settled(ctx context.Context, quiet time.Duration) (measure.Exported, error) {
	last, err := s.fetch.Exported(ctx, s.url)
	begin := time.Now()
	for since := begin; err == nil && time.Since(since) < quiet && time.Since(begin) < exportPatience; {
		select {
		case <-ctx.Done():
			return last, ctx.Err()
		case <-time.After(min(quiet, 500*time.Millisecond)):
		}
		var now measure.Exported
		if now, err = s.fetch.Exported(ctx, s.url); err == nil && now != last {
			last, since = now, time.Now()
		}
	}
	return last, err
}
