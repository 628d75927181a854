package traffic

import (
	"context"
	"errors"
	"time"

	"iop/load/measure"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// clientHello connects a Client, says hello, hears the answer, and goes.
func (t *Traffic) clientHello(due time.Time) {
	excused := t.excuse(-1)
	kind := t.greet()
	took := time.Since(due)
	t.Clients.End(took, measure.Outcome{Kind: kind, Excused: kind != "" && excused()})
}

var clientLink = wire.LinkOptions{MaxQueueFrames: 8, MaxQueueBytes: 64 << 10, WriteTimeout: 5 * time.Second}

func (t *Traffic) greet() (kind string) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	c, err := wire.DialClient(ctx, t.opts.Wire, wire.DialOptions{Link: clientLink})
	if err != nil {
		if refused := (*wire.DialRefused)(nil); errors.As(err, &refused) {
			return "upgrade refused"
		}
		return failure(err)
	}
	defer c.Drain()
	c.ReadBy(time.Now().Add(grace))
	c.Notify(silent{}, nil)
	c.Send(&iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_ClientHelloRequest{
		ClientHelloRequest: &iopv1.ClientHelloRequest{Name: "load", ProtocolVersion: wire.ProtocolVersion, Token: t.opts.Token}}}, "")
	message, err := c.Next()
	if err != nil {
		return failure(err)
	}
	m, err := wire.Decode(message)
	if err != nil || m.ReplyTo != 1 || m.GetClientHelloResponse() == nil {
		return "not the hello's answer"
	}
	c.Finish()
	return ""
}

type silent struct{}

func (silent) FrameBegun(string) {}
func (silent) WriteStalled()     {}
