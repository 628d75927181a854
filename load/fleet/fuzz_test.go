package fleet

import (
	"net"
	"sync/atomic"
	"testing"

	"iop/load/ledger"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// Whatever a Control Plane sends, and in whatever pieces, an Edge keeps no more than one frame of it and goes on or
// ends its link.
func FuzzRead(f *testing.F) {
	frame := func(m *iopv1.Envelope) []byte {
		b, err := wire.AppendFrame(nil, m)
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	f.Add(frame(&iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_EdgeStatusRequest{EdgeStatusRequest: &iopv1.EdgeStatusRequest{}}}), 3)
	f.Add(frame(&iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_EdgeCommandRequest{EdgeCommandRequest: &iopv1.EdgeCommandRequest{CommandId: "a"}}}), 7)
	f.Add(frame(&iopv1.Envelope{ReplyTo: 1, Body: &iopv1.Envelope_EdgeHelloResponse{EdgeHelloResponse: &iopv1.EdgeHelloResponse{}}}), 40)
	f.Add(frame(&iopv1.Envelope{Body: &iopv1.Envelope_GoAway{GoAway: &iopv1.GoAway{}}}), 1)
	f.Add([]byte{0, 0, 0, 0}, 1)
	f.Add([]byte{255, 255, 255, 255, 1}, 2)
	f.Fuzz(func(t *testing.T, data []byte, piece int) {
		here, there := net.Pipe()
		defer there.Close()
		go func() { // what the Edge says
			buf := make([]byte, 4096)
			for {
				if _, err := there.Read(buf); err != nil {
					return
				}
			}
		}()
		e := dialledEdge(here)
		defer e.resetLink()
		piece = max(1, piece%64)
		for len(data) > 0 && e.link != nil {
			n := min(piece, len(data))
			e.read(data[:n])
			data = data[n:]
		}
		if len(e.partial) > wire.HeaderBytes+wire.DefaultMaxFrameBytes {
			t.Errorf("%d bytes are kept", len(e.partial))
		}
	})
}

// dialledEdge is the only one of a fleet whose shard a test is.
func dialledEdge(conn net.Conn) *edge {
	f := &Fleet{opts: Options{IDPrefix: "t-", Count: 1, Ledger: ledger.New("t-", 1)}, calm: make([]calm, 1), links: make([]atomic.Int32, 1),
		dials: make(chan *edge, 4)}
	f.stats.kinds = map[string]uint64{}
	s := newShard(f)
	e := newEdge(s, 0, false)
	s.edges = []*edge{e}
	e.dialled(wire.NewTCPLink(conn, &linkOptions, linkEvents{}))
	return e
}
