//go:build !linux

package wire

import (
	"errors"
	"net"
)

// Poller exists on Linux. Elsewhere a connection has a goroutine of its own.
type Poller struct{}

// NewPoller fails: there is none on this system.
func NewPoller(*LinkOptions) (*Poller, error) { return nil, errors.ErrUnsupported }

// Adopt takes no connection.
func (*Poller) Adopt(net.Conn) *PolledLink { return nil }

// Close has nothing to close.
func (*Poller) Close() {}

// PolledLink is what Adopt would give.
type PolledLink struct{ *TCPLink }

// Start reads nothing.
func (*PolledLink) Start(FrameTaker) {}

// Resume resumes nothing.
func (*PolledLink) Resume() {}
