package nodes

import (
	"context"
	"net"
	"sync"
	"time"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

const (
	helloTimeout = 10 * time.Second
	acceptPause  = 100 * time.Millisecond // after an error such as "no descriptor left"
	// spareConnections are those beyond two a node: strangers, and connections that are closing. When all are
	// there, none is accepted until one has ended; one that says no hello ends after helloTimeout.
	spareConnections = 64
	// stopTime is how long connections may take to close when the Edge stops; a little more than their linger time.
	stopTime = time.Second
)

// linkOptions bound what may wait to be written to one agent: answers to its heartbeats and questions. When it is
// full the agent doesn't read, and its connection ends.
var linkOptions = wire.LinkOptions{MaxQueueFrames: 64, MaxQueueBytes: 256 << 10, WriteTimeout: 10 * time.Second}

// serve accepts connections until ctx ends, and returns when all are closed.
func (s *Site) serve(ctx context.Context) {
	defer context.AfterFunc(ctx, func() { _ = s.opts.Listener.Close() })()
	places := make(chan struct{}, 2*len(s.declared)+spareConnections)
	var all sync.WaitGroup
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
		}
		conn, err := s.opts.Listener.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			break
		}
		if err != nil {
			<-places
			s.log.Warn("Accepting a Node agent failed.", "error", err)
			time.Sleep(acceptPause)
			continue
		}
		all.Go(func() {
			defer func() { <-places }()
			s.live(conn)
		})
	}
	s.stop(&all)
}

// live is a connection's life.
func (s *Site) live(conn net.Conn) {
	c := s.newConnection(conn)
	s.mu.Lock()
	s.all[c] = true
	stopping := s.stopping
	s.mu.Unlock()
	if stopping {
		c.goAway(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN)
	}
	c.run()
	s.mu.Lock()
	delete(s.all, c)
	s.mu.Unlock()
}

// stop says goodbye to all and waits for their ends.
func (s *Site) stop(all *sync.WaitGroup) {
	_ = s.opts.Listener.Close()
	s.each(func(c *connection) { c.goAway(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN) })
	late := time.AfterFunc(stopTime, func() { s.each(func(c *connection) { c.link.Abort() }) })
	defer late.Stop()
	all.Wait()
}

// each does something to all connections there are, and there will be no more that serve.
func (s *Site) each(do func(*connection)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	for c := range s.all {
		do(c)
	}
}
