package fleet

import (
	"time"

	"iop/wire"
)

// shard owns some of the Edges: their state is touched by its loop alone.
type shard struct {
	f       *Fleet
	edges   []*edge
	links   map[*wire.TCPLink]struct{} // all that are open, also those that their Edge has given up
	inbox   chan message
	timers  timers
	stop    chan struct{}
	closing bool
}

// message is what a shard is told. A reader or dialer whose shard is behind waits for it.
type message struct {
	do func() // by the runner

	e       *edge
	link    *wire.TCPLink // the one it is about
	dialled bool          // link is new, or err says why there is none
	data    []byte        // what was read
	ended   bool          // the link's reader has ended
	err     error
}

const inboxMessages = 1024

func newShard(f *Fleet) *shard {
	return &shard{f: f, links: map[*wire.TCPLink]struct{}{}, inbox: make(chan message, inboxMessages), stop: make(chan struct{})}
}

func (s *shard) loop() {
	wake := time.NewTimer(time.Hour)
	defer wake.Stop()
	for {
		for t, ok := s.timers.due(s.f.now()); ok; t, ok = s.timers.due(s.f.now()) {
			if !t.stale() {
				t.e.timeIsUp(t)
			}
		}
		wake.Reset(s.timers.next(s.f.now()))
		select {
		case m := <-s.inbox:
			s.take(m)
		case <-wake.C:
		case <-s.stop:
			return
		}
	}
}

func (s *shard) take(m message) {
	switch {
	case m.do != nil:
		m.do()
	case m.dialled && m.err == nil:
		s.links[m.link] = struct{}{}
		m.e.dialled(m.link)
	case m.dialled:
		m.e.dialFailed(m.err)
	case m.ended:
		delete(s.links, m.link)
		if m.link == m.e.link {
			m.e.linkEnded()
		}
	case m.link == m.e.link:
		m.e.read(m.data)
	}
}

// goodbye ends every link politely; the peer closes it.
func (s *shard) goodbye() {
	s.closing = true
	for _, e := range s.edges {
		e.leave()
		if e.twin != nil {
			e.twin.leave()
		}
	}
	for link := range s.links { // those that their Edge gave up
		link.Finish()
	}
}

// cut ends every link at once.
func (s *shard) cut() {
	for link := range s.links {
		link.Abort()
	}
}
