package actors

import (
	"context"
	"net"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"iop/wire"
)

// ClientFront accepts Clients over WebSocket.
type ClientFront struct{ server *wire.ClientServer }

// maxClients bounds the Clients connected; a further one is refused with 503 before it is upgraded.
const maxClients = 10000

// clientQueue bounds what waits for one Client; one that lets it fill up is closed.
const (
	clientQueueFrames = 256
	clientQueueBytes  = 1 << 20
)

// NewClientFront makes the front of the Client wire. It fails for an allowed origin that is none.
func NewClientFront(s *System, allowedOrigins []string) (*ClientFront, error) {
	server, err := wire.NewClientServer(wire.ClientServerOptions{
		AllowedOrigins:   allowedOrigins,
		HandshakeTimeout: clientHelloTime,
		MaxClients:       maxClients,
		Link:             wire.LinkOptions{MaxQueueFrames: clientQueueFrames, MaxQueueBytes: clientQueueBytes, WriteTimeout: s.opts.Link.WriteTimeout, Traffic: &s.counters.clientWire},
		Accept:           func(c *wire.WebSocketConn) { s.root().Send(s.clients, &clientAccepted{conn: c}) },
	})
	return &ClientFront{server: server}, err
}

// Serve accepts Clients until Close.
func (f *ClientFront) Serve(l net.Listener) error { return f.server.Serve(l) }

// Close stops accepting; Clients go on until the system drains or stops.
func (f *ClientFront) Close(context.Context) error { return f.server.Close() }

// clients is the parent of every Client's actor.
type clients struct {
	sys      *System
	draining bool
}

type clientAccepted struct{ conn *wire.WebSocketConn }

func (c *clients) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *clientAccepted:
		c.accept(ctx, m)
	case *connectionsAsk:
		m.to <- len(ctx.Children())
	case *drain:
		c.drain(ctx, m)
	}
}

func (c *clients) accept(ctx actor.Context, m *clientAccepted) {
	pid := ctx.Spawn(c.sys.clientProps)
	ctx.Send(pid, &clientStart{conn: m.conn})
	if c.draining { // it was on its way here when its front closed
		ctx.Send(pid, &goAway{reconnectAfter: lateReconnect})
	}
}

func (c *clients) drain(ctx actor.Context, m *drain) {
	c.draining = true
	for i, pid := range ctx.Children() {
		ctx.Send(pid, &goAway{reconnectAfter: time.Second + time.Duration(i)*time.Millisecond})
	}
	close(m.done)
}
