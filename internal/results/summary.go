package results

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// total adds up the Dapr arm's entries that belong.
func total(usage []v1alpha1.Usage, belongs func(v1alpha1.Component) bool) (t v1alpha1.Total, found bool) {
	t.CPU, t.Memory = *milli(0), *resource.NewQuantity(0, resource.BinarySI)
	for _, u := range usage {
		if u.Arm != v1alpha1.ArmDapr || !belongs(u.Component) {
			continue
		}
		found = true
		if u.CPU == nil || u.Memory == nil {
			t.Unread++
			continue
		}
		t.Pods++
		t.CPU.Add(*u.CPU)
		t.Memory.Add(u.Memory.Mean)
	}
	return t, found
}

func controlPlane(components []Component, usage []v1alpha1.Usage) *v1alpha1.Total {
	t, found := total(usage, func(c v1alpha1.Component) bool {
		return slices.ContainsFunc(components, func(x Component) bool { return x.ControlPlane && x.Component == c })
	})
	if !found {
		return nil
	}
	return &t
}

func summary(usage []v1alpha1.Usage) *v1alpha1.Summary {
	t, _ := total(usage, func(c v1alpha1.Component) bool { return slices.Contains(sidecars, c) })
	if t.Pods == 0 {
		return nil
	}
	return &v1alpha1.Summary{SidecarCPU: t.CPU.String(), SidecarMemory: t.Memory.String()}
}
