package agent

import (
	"context"
	"net"
	"time"

	"iop/edge/internal/dial"
	"iop/edge/internal/text"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

const dialTimeout = 10 * time.Second

// linkOptions bound what may wait to be written to the Edge. When it is full the Edge doesn't read, and the connection
// ends: the next one begins with a whole statement.
var linkOptions = wire.LinkOptions{MaxQueueFrames: 64, MaxQueueBytes: 1 << 20, WriteTimeout: 10 * time.Second}

// connect gives a connection whose hello was accepted, or how the try ended.
func (a *Agent) connect(ctx context.Context) (*connection, *dial.Ending) {
	token, err := a.opts.Token()
	if err != nil {
		return nil, &dial.Ending{Why: "The token can't be read: " + err.Error()}
	}
	conn, err := a.dial(ctx, "tcp", a.opts.Address)
	if err != nil {
		return nil, &dial.Ending{Why: "The Edge can't be reached: " + err.Error()}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	c, end := a.sayHello(conn, token)
	if !stop() {
		c, end = nil, &dial.Ending{Why: "The agent is stopping."}
	}
	if c == nil {
		_ = conn.Close()
	}
	return c, end
}

// sayHello is the first exchange on a connection.
func (a *Agent) sayHello(conn net.Conn, token string) (*connection, *dial.Ending) {
	hello := &iopv1.NodeEnvelope{Id: dial.HelloID, Body: &iopv1.NodeEnvelope_NodeHelloRequest{NodeHelloRequest: a.hello(token)}}
	first, end := dial.Exchange(conn, hello, wire.DecodeNode)
	if end != nil {
		return nil, end
	}
	welcome, end := judgeHello(first.Answer, first.Received)
	if end != nil {
		return nil, end
	}
	return newConnection(conn, first.Frames, welcome), nil
}

func (a *Agent) hello(token string) *iopv1.NodeHelloRequest {
	return &iopv1.NodeHelloRequest{
		NodeId: a.opts.NodeID, Name: text.Valid(a.opts.Name), Version: text.Valid(a.opts.Version), ProtocolVersion: wire.ProtocolVersion,
		Token: token, Labels: text.ValidMap(a.opts.Labels), InstanceId: a.instanceID,
	}
}

// theEdge is who answers.
var theEdge = dial.Peer{Name: "The Edge", Self: "this node"}

// judgeHello gives the welcome, or how the try ended.
func judgeHello(answer *iopv1.NodeEnvelope, now time.Time) (*iopv1.NodeHelloResponse, *dial.Ending) {
	r := answer.GetNodeHelloResponse()
	if end := theEdge.Judge(answer, r != nil, r.GetProtocolVersion(), now); end != nil {
		return nil, end
	}
	return r, nil
}
