package results

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// telemetry is what arrived at the sink; nil if nothing was to be exported.
func telemetry(in Input) *v1alpha1.Telemetry {
	if !in.Settings.Export {
		return nil
	}
	seen := in.Report.Observed
	out := &v1alpha1.Telemetry{Requests: seen.Sent, Note: seen.ExportError}
	if e := seen.Exported; e != nil {
		out.Spans, out.Traces, out.Bytes = ptr.To(e.Spans), ptr.To(e.Traces), resource.NewQuantity(e.Bytes, resource.BinarySI)
		if seen.Sent > 0 {
			out.Sampling = fmt.Sprintf("%.3f", float64(e.Traces)/float64(seen.Sent))
		}
	}
	return out
}

// tracesLost warns where it is not known what arrived at the sink, and where it is not what was to be exported. What the load did is the
// same, and so are its figures; what exporting costs is that of the traces that arrived.
func tracesLost(in Input) []v1alpha1.Reason {
	if !in.Settings.Export {
		return nil
	}
	seen := in.Report.Observed
	warning := func(message string) []v1alpha1.Reason {
		return []v1alpha1.Reason{{Reason: v1alpha1.ReasonTracesLost, Message: message}}
	}
	if seen.Exported == nil {
		return warning("what the sidecars exported is not known: " + seen.ExportError)
	}
	if offSampling(seen.Exported.Traces, seen.Sent, in.Settings.Sampling, tracesSlack) {
		return warning(fmt.Sprintf("%d traces of %d requests arrived at the trace sink, although sampling is %s: a sidecar drops spans that it cannot export in time",
			seen.Exported.Traces, seen.Sent, in.Settings.Sampling))
	}
	return nil
}

// tracesSlack allows for a few requests that are none of the load's, such as a look at the sidecar's metadata, and for those that never
// came as far as the sidecar.
const tracesSlack = 5
