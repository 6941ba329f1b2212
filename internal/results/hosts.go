package results

import (
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// actorHosts tells how the calls were spread over several actor hosts; nil with one.
func actorHosts(in Input) []v1alpha1.HostCalls {
	if in.Settings.Hosts() < 2 {
		return nil
	}
	var out []v1alpha1.HostCalls
	for _, c := range in.Components {
		if c.Component != v1alpha1.ComponentApp {
			continue
		}
		host := v1alpha1.HostCalls{Pod: c.Pod, Node: c.Node}
		if calls, ok := in.Report.Observed.TracedBy[c.Pod]; ok {
			host.Calls = ptr.To(calls)
		}
		out = append(out, host)
	}
	return out
}
