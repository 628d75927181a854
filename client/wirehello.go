package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// Codes that the Client wire has beside those of HTTP; a Problem that came over it has no Status.
const (
	FailedPrecondition = Code(wire.FailedPrecondition)
	ResourceExhausted  = Code(wire.ResourceExhausted)
	Unimplemented      = Code(wire.Unimplemented)
)

// GoAway is a Control Plane's message that it ends the connection.
type GoAway struct {
	Reason         string // such as SHUTDOWN
	Message        string
	ReconnectAfter time.Duration // the earliest next try, an hour at most; 0: not said
}

func (g *GoAway) Error() string {
	return fmt.Sprintf("the Control Plane ended the connection (%s): %s", g.Reason, g.Message)
}

// UpgradeRefused is an HTTP status instead of a WebSocket: 403 an Origin that isn't allowed, 404 a path other than
// the Client wire's, 503 no room.
type UpgradeRefused struct{ Status int }

func (u *UpgradeRefused) Error() string {
	return "the Client wire was refused with HTTP status " + strconv.Itoa(u.Status)
}

const (
	helloTimeout = 10 * time.Second
	helloID      = 1
)

// What may wait to be written: pings and little else. A Control Plane that lets this much pile up doesn't read, and the
// connection is ended.
var wireLinkOptions = wire.LinkOptions{MaxQueueFrames: 256, MaxQueueBytes: 1 << 20, WriteTimeout: 10 * time.Second}

// connect dials and says hello.
func (w *Wire) connect(ctx context.Context) (*wireLink, error) {
	ws, err := wire.DialClient(ctx, w.url, wire.DialOptions{TLS: w.opts.TLS, Header: w.opts.Header, Link: wireLinkOptions})
	if err != nil {
		return nil, dialFailure(ctx, err)
	}
	link := newWireLink(ws)
	stop := context.AfterFunc(ctx, ws.Abort)
	link.server, err = link.hello(&w.opts)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		ws.Finish()
		ws.Drain()
		return nil, err
	}
	return link, nil
}

func dialFailure(ctx context.Context, err error) error {
	var refused *wire.DialRefused
	if errors.As(err, &refused) {
		return &UpgradeRefused{refused.Status}
	}
	return noAnswer(ctx, err)
}

// hello says it and reads the answer.
func (l *wireLink) hello(o *WireOptions) (*ServerInfo, error) {
	l.ws.ReadBy(time.Now().Add(helloTimeout))
	l.send(&iopv1.Envelope{Id: helloID, Body: &iopv1.Envelope_ClientHelloRequest{ClientHelloRequest: &iopv1.ClientHelloRequest{
		ClientId: o.ClientID, Name: o.Name, Version: o.Version, ProtocolVersion: wire.ProtocolVersion, Token: o.Token,
	}}})
	payload, err := l.ws.Next()
	if err != nil {
		return nil, lostConnection(err)
	}
	answer, err := wire.Decode(payload)
	if err != nil {
		return nil, lostConnection(err)
	}
	info, err := judgeHello(answer)
	if err != nil {
		return nil, err
	}
	l.accepted(info)
	return info, nil
}

// judgeHello tells what the first message means.
func judgeHello(answer *iopv1.Envelope) (*ServerInfo, error) {
	switch body := answer.Body.(type) {
	case *iopv1.Envelope_Error:
		return nil, wireProblem(body.Error)
	case *iopv1.Envelope_GoAway:
		return nil, goAway(body.GoAway)
	case *iopv1.Envelope_ClientHelloResponse:
		if answer.ReplyTo == helloID {
			return serverInfo(body.ClientHelloResponse), nil
		}
	}
	return nil, lostConnection(errors.New("its first message was no answer to the hello"))
}

func serverInfo(r *iopv1.ClientHelloResponse) *ServerInfo {
	info := &ServerInfo{ServerID: r.ServerId, Version: r.ServerVersion, ProtocolVersion: r.ProtocolVersion,
		HeartbeatInterval: r.HeartbeatInterval.AsDuration(), MaxFrameBytes: r.MaxFrameBytes}
	if r.ServerTime.IsValid() {
		info.Time = r.ServerTime.AsTime()
	}
	return info
}

func goAway(g *iopv1.GoAway) *GoAway {
	return &GoAway{Reason: strings.TrimPrefix(g.Reason.String(), "GO_AWAY_REASON_"), Message: g.Message,
		ReconnectAfter: wire.ReconnectAfter(g)}
}

func wireProblem(e *iopv1.Error) *Problem {
	f := wire.FaultOf(e)
	return &Problem{Code: Code(f.Code), Detail: f.Message}
}

// lostConnection makes our error of whatever ended a connection.
func lostConnection(err error) error {
	var timeout net.Error // the WebSocket library hides what it wraps
	if errors.As(err, &timeout) && timeout.Timeout() {
		err = errors.New("nothing was heard for too long")
	}
	return &Unreachable{Err: err}
}
