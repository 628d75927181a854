package agent

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

const (
	dialTimeout  = 10 * time.Second
	helloTimeout = 10 * time.Second
	helloID      = 1
)

// linkOptions bound what may wait to be written to the Edge. When it is full the Edge doesn't read, and the connection
// ends: the next one begins with a whole statement.
var linkOptions = wire.LinkOptions{MaxQueueFrames: 64, MaxQueueBytes: 1 << 20, WriteTimeout: 10 * time.Second}

// connect gives a connection whose hello was accepted, or how the try ended.
func (a *Agent) connect(ctx context.Context) (*connection, ending) {
	token, err := a.opts.Token()
	if err != nil {
		return nil, ending{why: "The token can't be read: " + err.Error()}
	}
	conn, err := a.dial(ctx, "tcp", a.opts.Address)
	if err != nil {
		return nil, ending{why: "The Edge can't be reached: " + err.Error()}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	c, end := a.sayHello(conn, token)
	if !stop() {
		c, end = nil, ending{why: "The agent is stopping."}
	}
	if c == nil {
		_ = conn.Close()
	}
	return c, end
}

// sayHello writes the hello and waits for its answer, under one deadline.
func (a *Agent) sayHello(conn net.Conn, token string) (*connection, ending) {
	_ = conn.SetDeadline(time.Now().Add(helloTimeout))
	frame, err := wire.AppendFrame(nil, &iopv1.NodeEnvelope{Id: helloID, Body: &iopv1.NodeEnvelope_NodeHelloRequest{NodeHelloRequest: a.hello(token)}})
	if err != nil {
		return nil, ending{why: "The hello can't be encoded: " + err.Error(), hopeless: true}
	}
	if _, err := conn.Write(frame); err != nil {
		return nil, ending{why: "The hello could not be sent: " + err.Error()}
	}
	frames := wire.NewFrameReader(conn, wire.MaxHelloBytes)
	payload, err := frames.Next()
	if err != nil {
		return nil, ending{why: "The hello was not answered: " + err.Error()}
	}
	answer, err := wire.DecodeNode(payload)
	if err != nil {
		return nil, ending{why: "The answer to the hello can't be decoded."}
	}
	welcome, end := judgeHello(answer)
	if welcome == nil {
		return nil, end
	}
	_ = conn.SetDeadline(time.Time{})
	return newConnection(conn, frames, welcome), ending{}
}

func (a *Agent) hello(token string) *iopv1.NodeHelloRequest {
	labels := make(map[string]string, len(a.opts.Labels))
	for k, v := range a.opts.Labels {
		labels[text(k)] = text(v)
	}
	return &iopv1.NodeHelloRequest{
		NodeId: a.opts.NodeID, Name: text(a.opts.Name), Version: text(a.opts.Version), ProtocolVersion: wire.ProtocolVersion,
		Token: token, Labels: labels, InstanceId: a.instanceID,
	}
}

func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// judgeHello tells what the first message from the Edge means; nil: no welcome, but an ending.
func judgeHello(answer *iopv1.NodeEnvelope) (*iopv1.NodeHelloResponse, ending) {
	switch body := answer.Body.(type) {
	case *iopv1.NodeEnvelope_NodeHelloResponse:
		r := body.NodeHelloResponse
		switch {
		case answer.ReplyTo != helloID:
			return nil, ending{why: "The answer to the hello is for another one."}
		case r.ProtocolVersion > wire.ProtocolVersion:
			return nil, ending{why: fmt.Sprintf("The Edge speaks version %d of the protocol, not %d.", r.ProtocolVersion, wire.ProtocolVersion), hopeless: true}
		}
		return r, ending{}
	case *iopv1.NodeEnvelope_Error:
		return nil, refused(body.Error)
	case *iopv1.NodeEnvelope_GoAway:
		return nil, goneAway(body.GoAway)
	}
	return nil, ending{why: "The first message of the Edge was no answer to the hello."}
}
