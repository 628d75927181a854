package actors

import (
	"context"
	"net"

	"github.com/asynkron/protoactor-go/actor"
)

// Front turns what comes over a listener into messages to actors.
type Front interface {
	// Serve serves until Close; nil then.
	Serve(net.Listener) error
	// Close stops listening and ends the front's requests and connections, at the latest when the context ends.
	Close(context.Context) error
}

// StartFront gives a listener to its own actor, which serves it until its handle stops it. failed is called when the front can't go on serving.
func (s *System) StartFront(f Front, l net.Listener, failed func(error)) *FrontHandle {
	pid := s.root().Spawn(rootProps(func() actor.Actor { return &front{sys: s, front: f, listener: l, failed: failed} }, stop))
	return &FrontHandle{sys: s, pid: pid}
}

// FrontHandle stops a front.
type FrontHandle struct {
	sys *System
	pid *actor.PID
}

// Stop closes the front and waits until it is closed, at the latest until the context ends.
func (h *FrontHandle) Stop(ctx context.Context) {
	done := make(chan struct{})
	h.sys.root().Send(h.pid, &closeFront{ctx: ctx, done: done})
	select {
	case <-done:
	case <-ctx.Done():
	}
	h.sys.root().Stop(h.pid)
}

// front owns a listener. Serving and closing block, so each has a goroutine of its own.
type front struct {
	sys      *System
	front    Front
	listener net.Listener
	failed   func(error)
}

type closeFront struct {
	ctx  context.Context
	done chan<- struct{}
}

func (f *front) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		go f.serve()
	case *closeFront:
		go f.close(m)
	}
}

func (f *front) serve() {
	if err := f.front.Serve(f.listener); err != nil {
		f.failed(err)
	}
}

func (f *front) close(m *closeFront) {
	if err := f.front.Close(m.ctx); err != nil {
		f.sys.log.Warn().Err(err).Msg("a front did not close in peace")
	}
	close(m.done)
}
