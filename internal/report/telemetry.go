package report

import (
	"fmt"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// exported is what arrived at the trace sink; nothing where there was none.
func exported(t *v1alpha1.Telemetry) [][]string {
	switch {
	case t == nil:
		return nil
	case t.Spans == nil || t.Traces == nil || t.Bytes == nil:
		return [][]string{row("exported", "unknown: "+t.Note)}
	}
	return [][]string{row("exported", fmt.Sprintf("%d spans in %d traces of %d requests (%s), %s bytes",
		*t.Spans, *t.Traces, t.Requests, known(t.Sampling), t.Bytes))}
}
