package main

import "runtime/debug"

// moduleVersion is that of a module which this program is built with.
func moduleVersion(path string) string {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "unknown"
}
