package edge

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/edge/internal/dial"
	"iop/edge/internal/text"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

const dialTimeout = 10 * time.Second

// connector dials the Control Plane and says hello.
type connector struct {
	opts       *Options
	instanceID string
	startedAt  time.Time
	operations []string
	clock      *serverClock
	dial       func(ctx context.Context, network, address string) (net.Conn, error)
}

// connect gives a connection whose hello was accepted, or how the try ended.
func (c *connector) connect(ctx context.Context) (*connection, *dial.Ending) {
	token, err := c.opts.Token()
	if err != nil {
		return nil, &dial.Ending{Why: "The token can't be read: " + err.Error()}
	}
	conn, why := c.open(ctx)
	if why != "" {
		return nil, &dial.Ending{Why: why}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	connected, end := c.sayHello(conn, token)
	if !stop() && connected != nil {
		connected.link.Abort()
		connected, end = nil, &dial.Ending{Why: "The Edge is stopping."}
	}
	if connected == nil {
		_ = conn.Close()
	}
	return connected, end
}

// open dials, and makes TLS of it where that is asked for.
func (c *connector) open(ctx context.Context) (conn net.Conn, why string) {
	var config *tls.Config
	if c.opts.TLS != nil {
		var err error
		if config, err = c.opts.TLS(); err != nil {
			return nil, "The TLS files can't be used: " + err.Error()
		}
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := c.dial(ctx, "tcp", c.opts.Address)
	if err != nil {
		return nil, "The Control Plane can't be reached: " + err.Error()
	}
	if config == nil {
		return conn, ""
	}
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(c.opts.Address) // checked by New
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, "TLS with the Control Plane failed: " + err.Error()
	}
	return secured, ""
}

// sayHello is the first exchange on a connection.
func (c *connector) sayHello(conn net.Conn, token string) (*connection, *dial.Ending) {
	hello := &iopv1.Envelope{Id: dial.HelloID, Body: &iopv1.Envelope_EdgeHelloRequest{EdgeHelloRequest: c.hello(token)}}
	first, end := dial.Exchange(conn, hello, wire.Decode)
	if end != nil {
		return nil, end
	}
	accepted, end := judgeHello(first.Answer, first.Received)
	if end != nil {
		return nil, end
	}
	if accepted.ServerTime.IsValid() {
		c.clock.read(first.Sent, first.Received, accepted.ServerTime.AsTime())
	}
	return newConnection(conn, first.Frames, accepted, first.Received, c.opts.Logger), nil
}

func (c *connector) hello(token string) *iopv1.EdgeHelloRequest {
	return &iopv1.EdgeHelloRequest{
		EdgeId: c.opts.ID, Name: text.Valid(c.opts.Name), Version: text.Valid(c.opts.Version), ProtocolVersion: wire.ProtocolVersion,
		Token: token, Labels: text.ValidMap(c.opts.Labels), Operations: c.operations,
		StartedAt: timestamppb.New(c.startedAt), InstanceId: c.instanceID,
	}
}

// controlPlane is who answers.
var controlPlane = dial.Peer{Name: "The Control Plane", Self: "this Edge"}

// judgeHello gives the welcome, or how the try ended.
func judgeHello(answer *iopv1.Envelope, now time.Time) (*iopv1.EdgeHelloResponse, *dial.Ending) {
	r := answer.GetEdgeHelloResponse()
	if end := controlPlane.Judge(answer, r != nil, r.GetProtocolVersion(), now); end != nil {
		return nil, end
	}
	return r, nil
}
