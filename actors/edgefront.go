package actors

import (
	"context"
	"errors"
	"net"
	"time"
)

// EdgeFront accepts Edges and gives their connections to the registry.
type EdgeFront struct {
	sys      *System
	listener chan net.Listener
}

// NewEdgeFront makes the front of the Edge wire.
func NewEdgeFront(s *System) *EdgeFront {
	return &EdgeFront{sys: s, listener: make(chan net.Listener, 1)}
}

// Close stops accepting; connections go on until the registry ends them.
func (f *EdgeFront) Close(context.Context) error {
	select {
	case l := <-f.listener:
		return l.Close()
	default:
		return nil // closed already
	}
}

// Serve accepts Edges until Close.
func (f *EdgeFront) Serve(l net.Listener) error {
	f.listener <- l
	for wait := time.Duration(0); ; {
		f.sys.hellos <- struct{}{}
		conn, err := l.Accept()
		if err == nil {
			wait = 0
			f.sys.root().Send(f.sys.registry, &accepted{conn: conn})
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
