// Package build tells what a command was built from.
package build

import "runtime/debug"

// Unknown is the commit of a build that doesn't tell it.
const Unknown = "unknown"

// Commit is the one this was built from: as the build set it (linked, empty where it didn't), else as the Go tool saw it, else Unknown.
func Commit(linked string) string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return Unknown
}
