// Package build tells what a program was built from.
package build

import "runtime/debug"

// Set by the build: -ldflags "-X iop/cmd/internal/build.version=v1.2.3 -X iop/cmd/internal/build.commit=0123abc".
var (
	version = "dev"
	commit  = ""
)

// Unknown is the commit of a build that doesn't tell it.
const Unknown = "unknown"

// Version is the one that the build set, else dev.
func Version() string { return version }

// Commit is the one this was built from: as the build set it, else as the Go tool saw it, else Unknown.
func Commit() string {
	if commit != "" {
		return commit
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
