package actors

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"iop/wire"
)

// EdgeFront accepts Edges and gives their connections to the registry.
type EdgeFront struct {
	sys *System

	mu       sync.Mutex
	listener net.Listener   // nil before Serve
	acceptor *wire.Acceptor // nil where each connection has a goroutine
	closed   bool
}

// newcomer is a connection that has said nothing yet: of the poller, or with a goroutine to come.
type newcomer struct {
	polled *wire.PolledLink
	conn   net.Conn
}

// NewEdgeFront makes the front of the Edge wire.
func NewEdgeFront(s *System) *EdgeFront {
	return &EdgeFront{sys: s}
}

// Close stops accepting, also where Serve is only to come; connections go on until the registry ends them.
func (f *EdgeFront) Close(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.listener == nil {
		f.closed = true
		return nil
	}
	f.closed = true
	if f.acceptor != nil {
		_ = f.acceptor.Close()
	}
	return f.listener.Close()
}

// begin tells whether to serve.
func (f *EdgeFront) begin(l net.Listener) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listener = l
	if !f.closed {
		f.acceptor = f.sys.acceptor(l)
	}
	return !f.closed
}

func (f *EdgeFront) accept(l net.Listener) (n newcomer, err error) {
	if f.acceptor != nil {
		n.polled, err = f.acceptor.Accept()
	} else {
		n.conn, err = l.Accept()
	}
	return n, err
}

// Serve accepts Edges until Close.
func (f *EdgeFront) Serve(l net.Listener) error {
	if !f.begin(l) {
		return l.Close()
	}
	for wait := time.Duration(0); ; {
		f.sys.hellos <- struct{}{}
		n, err := f.accept(l)
		if err == nil {
			wait = 0
			f.sys.root().Send(f.sys.registry, &accepted{n})
			continue
		}
		f.sys.arrived()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		// No descriptors left, or a peer that is gone already: what passes passes sooner when it isn't hurried.
		wait = min(max(2*wait, 5*time.Millisecond), time.Second)
		f.sys.log.Warn().Dur("retry_in", wait).Str("error", err.Error()).Msg("accepting an Edge failed")
		time.Sleep(wait)
	}
}
