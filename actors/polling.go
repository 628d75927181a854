package actors

import (
	"errors"
	"net"
	"sync"

	"iop/wire"
)

// polling is the one poller of all plain TCP connections. It is made for the first of them, so that a System without
// one, of tests over pipes, has none of its goroutines.
type polling struct {
	mu      sync.Mutex
	poller  *wire.Poller
	refused bool // there is none to be had, or the System has stopped
}

// acceptor accepts for the poller; nil: the listener's connections need a goroutine each.
func (s *System) acceptor(l net.Listener) *wire.Acceptor {
	if _, ok := l.(*net.TCPListener); !ok {
		return nil
	}
	if p := s.poller(); p != nil {
		return p.Acceptor(l)
	}
	return nil
}

func (s *System) poller() *wire.Poller {
	s.polling.mu.Lock()
	defer s.polling.mu.Unlock()
	if s.polling.poller == nil && !s.polling.refused {
		p, err := wire.NewPoller(&s.opts.Link)
		if err != nil {
			s.polling.refused = true
			if !errors.Is(err, errors.ErrUnsupported) {
				s.log.Warn().Err(err).Msg("no poller: each Edge has a goroutine of its own")
			}
			return nil
		}
		s.polling.poller = p
	}
	return s.polling.poller
}

// stopPolling cuts what the poller still reads.
func (s *System) stopPolling() {
	s.polling.mu.Lock()
	p := s.polling.poller
	s.polling.poller, s.polling.refused = nil, true
	s.polling.mu.Unlock()
	if p != nil {
		p.Close()
	}
}
