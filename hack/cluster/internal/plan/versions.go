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

// DaprModules names the wrapper module of each version of Dapr that can be
// installed.
var DaprModules = map[string]string{
	DefaultDapr: "dapr",
}

// DaprVersions lists them for a person.
func DaprVersions() []string { return slices.Sorted(maps.Keys(DaprModules)) }
