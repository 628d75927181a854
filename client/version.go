package client

import "context"

// Version describes a Control Plane's build.
type Version struct {
	Version          string  `json:"version"`
	Commit           *string `json:"commit"`
	GoVersion        string  `json:"go_version"`
	ProtocolVersions []int   `json:"protocol_versions"` // of the IOP Wire Protocol
}

// Version returns the Control Plane's version.
func (r *Repository) Version(ctx context.Context) (*Version, error) {
	return answer[Version](ctx, r, request{path: "/version"})
}
