package plan

import (
	"maps"
	"slices"
)

// What is built, each version pinned by the go.mod of its wrapper module; the
// numbers here are what the programs and images call themselves.
const (
	Kubernetes    = "v1.36.3"
	Etcd          = "v3.7.2"
	CoreDNS       = "v1.15.0"
	MetricsServer = "v0.9.0"
	Helm          = "v3.22.0"
	Containerd    = "v2.4.2"

	// DefaultDapr is without the "v", as Dapr's own images and chart have it.
	DefaultDapr = "1.18.0"
)

// DaprRelease is how a version of Dapr is built and installed.
type DaprRelease struct {
	// Module is its wrapper module.
	Module string
	// SchedulerVolumes are what the chart wants for the scheduler's replicas;
	// newer charts let it keep its data in memory.
	SchedulerVolumes int
}

// DaprReleases are the versions that can be installed.
var DaprReleases = map[string]DaprRelease{
	DefaultDapr: {Module: "dapr"},
	// The one of 1.16's releases whose modules are all served.
	"1.16.0": {Module: "dapr-1.16", SchedulerVolumes: 3},
}

// DaprVersions lists them for a person.
func DaprVersions() []string { return slices.Sorted(maps.Keys(DaprReleases)) }
