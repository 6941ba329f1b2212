package dapr

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// mtlsFlag is the only thing that a sidecar takes from anyone about mTLS towards other sidecars: there is no annotation for it, and
// spec.mtls in its own Configuration is ignored. The injector adds it where the cluster's Configuration daprsystem does not say otherwise.
const mtlsFlag = "--enable-mtls"

// ArgsPatch replaces the arguments of one container of a pod.
type ArgsPatch struct {
	// Path of the arguments within the pod, as RFC 6901 writes it.
	Path string
	// Args that are to be there.
	Args []string
}

// MTLSPatch makes the sidecar of an injected pod use mTLS towards other sidecars, or not. Nil where there is no sidecar, as before
// Dapr's injector has run, and where its arguments say so already: applied twice it changes nothing, whatever runs in between.
func MTLSPatch(pod *corev1.Pod, on bool) *ArgsPatch {
	for list, containers := range map[string][]corev1.Container{"containers": pod.Spec.Containers, "initContainers": pod.Spec.InitContainers} {
		i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == SidecarContainer })
		if i < 0 {
			continue
		}
		before := containers[i].Args
		if on && slices.Contains(before, mtlsFlag) {
			return nil
		}
		after := slices.DeleteFunc(slices.Clone(before), func(arg string) bool {
			return arg == mtlsFlag || strings.HasPrefix(arg, mtlsFlag+"=")
		})
		if on {
			after = append(after, mtlsFlag)
		}
		if slices.Equal(before, after) {
			return nil
		}
		return &ArgsPatch{Path: fmt.Sprintf("/spec/%s/%d/args", list, i), Args: after}
	}
	return nil
}
