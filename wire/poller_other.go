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

// Acceptor accepts nothing.
func (*Poller) Acceptor(net.Listener) *Acceptor { return nil }

// Close has nothing to close.
func (*Poller) Close() {}

// Acceptor is what a Poller would have.
type Acceptor struct{}

// Accept fails.
func (*Acceptor) Accept() (*PolledLink, error) { return nil, errors.ErrUnsupported }

// Close has nothing to close.
func (*Acceptor) Close() error { return nil }

// PolledLink is what an Acceptor would give.
type PolledLink struct{ *TCPLink }

// Start reads nothing.
func (*PolledLink) Start(FrameTaker) {}

// Resume resumes nothing.
func (*PolledLink) Resume() {}
