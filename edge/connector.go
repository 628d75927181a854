package edge

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

const (
	dialTimeout  = 10 * time.Second
	helloTimeout = 10 * time.Second
	helloID      = 1
)

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
func (c *connector) connect(ctx context.Context) (*connection, *ending) {
	token, err := c.opts.Token()
	if err != nil {
		return nil, &ending{why: "The token can't be read: " + err.Error()}
	}
	conn, why := c.open(ctx)
	if why != "" {
		return nil, &ending{why: why}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	connected, end := c.sayHello(conn, token)
	if !stop() && connected != nil {
		connected.link.Abort()
		connected, end = nil, &ending{why: "The Edge is stopping."}
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

// sayHello writes the hello and waits for its answer, under one deadline.
func (c *connector) sayHello(conn net.Conn, token string) (*connection, *ending) {
	sent := time.Now()
	_ = conn.SetDeadline(sent.Add(helloTimeout))
	frame, err := wire.AppendFrame(nil, &iopv1.Envelope{Id: helloID, Body: &iopv1.Envelope_EdgeHelloRequest{EdgeHelloRequest: c.hello(token)}})
	if err != nil {
		return nil, &ending{why: "The hello can't be encoded: " + err.Error(), hopeless: true}
	}
	if _, err := conn.Write(frame); err != nil {
		return nil, &ending{why: "The hello could not be sent: " + err.Error()}
	}
	frames := wire.NewFrameReader(conn, wire.MaxHelloBytes)
	payload, err := frames.Next()
	if err != nil {
		return nil, &ending{why: "The hello was not answered: " + err.Error()}
	}
	received := time.Now()
	answer, err := wire.Decode(payload)
	if err != nil {
		return nil, &ending{why: "The answer to the hello can't be decoded."}
	}
	accepted, end := judgeHello(answer, received)
	if end != nil {
		return nil, end
	}
	if accepted.ServerTime.IsValid() {
		c.clock.read(sent, received, accepted.ServerTime.AsTime())
	}
	_ = conn.SetDeadline(time.Time{})
	return newConnection(conn, frames, accepted, received, c.opts.Logger), nil
}

func (c *connector) hello(token string) *iopv1.EdgeHelloRequest {
	return &iopv1.EdgeHelloRequest{
		EdgeId: c.opts.ID, Name: text(c.opts.Name), Version: text(c.opts.Version), ProtocolVersion: wire.ProtocolVersion,
		Token: token, Labels: textMap(c.opts.Labels), Operations: c.operations,
		StartedAt: timestamppb.New(c.startedAt), InstanceId: c.instanceID,
	}
}

// judgeHello tells what the first message from the Control Plane means.
func judgeHello(answer *iopv1.Envelope, now time.Time) (*iopv1.EdgeHelloResponse, *ending) {
	switch body := answer.Body.(type) {
	case *iopv1.Envelope_EdgeHelloResponse:
		r := body.EdgeHelloResponse
		switch {
		case answer.ReplyTo != helloID:
			return nil, &ending{why: "The answer to the hello is for another one."}
		case r.ProtocolVersion > wire.ProtocolVersion:
			return nil, &ending{why: fmt.Sprintf("The Control Plane speaks version %d of the protocol, not %d.", r.ProtocolVersion, wire.ProtocolVersion), hopeless: true}
		}
		return r, nil
	case *iopv1.Envelope_Error:
		return nil, refusedHello(body.Error)
	case *iopv1.Envelope_GoAway:
		return nil, goAwayEnding(body.GoAway, now)
	}
	return nil, &ending{why: "The first message of the Control Plane was no answer to the hello."}
}

func refusedHello(e *iopv1.Error) *ending {
	end := &ending{why: fmt.Sprintf("The hello was refused (%s): %s", errorName(e.Code), clip(e.Message))}
	switch e.Code {
	case iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED, iopv1.ErrorCode_ERROR_CODE_PERMISSION_DENIED, iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT:
		end.hopeless = true
	}
	return end
}

// goAwayEnding tells what a GoAway means for the next try. Two clones that both come back at once would throw each
// other out at full speed, so an Edge whose place was taken waits as long as it may; and so does one that was removed.
func goAwayEnding(g *iopv1.GoAway, now time.Time) *ending {
	end := &ending{why: fmt.Sprintf("The Control Plane said goodbye (%s): %s", goAwayName(g.Reason), clip(g.Message))}
	switch g.Reason {
	case iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED:
		end.why = "Another process with this Edge's id took its place; is the id used twice?"
		end.hopeless = true
	case iopv1.GoAwayReason_GO_AWAY_REASON_REMOVED:
		end.hopeless = true
	}
	if after := wire.ReconnectAfter(g); after > 0 {
		end.notBefore = now.Add(after)
	}
	return end
}
