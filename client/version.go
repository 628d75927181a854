package client

import "context"

// Version is what a Control Plane says of its build.
type Version struct {
	Version          string  `json:"version"`
	Commit           *string `json:"commit"`
	GoVersion        string  `json:"go_version"`
	ProtocolVersions []int   `json:"protocol_versions"` // of the IOP Wire Protocol
}

// Version asks what runs there.
func (r *Repository) Version(ctx context.Context) (*Version, error) {
	return answer[Version](ctx, r, request{path: "/version"})
}
