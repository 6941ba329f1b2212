// Package v1alpha1 holds the types that people write and read: PerfRun, PerfSchedule and PerfSeries, their defaults and the reasons of their conditions.
//
// +kubebuilder:object:generate=true
// +groupName=perfrun.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "perfrun.dev", Version: "v1alpha1"}

// SchemeBuilder collects the kinds of this package; AddToScheme adds them to a scheme.
var (
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	AddToScheme   = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &PerfRun{}, &PerfRunList{}, &PerfSchedule{}, &PerfScheduleList{}, &PerfSeries{}, &PerfSeriesList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
