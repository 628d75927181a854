package nodes

import (
	"io"
	"net"
	"testing"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// FuzzAgent: whatever an agent sends, before or after its hello, its connection ends when it does, and then it has no node.
func FuzzAgent(f *testing.F) {
	for _, e := range []*iopv1.NodeEnvelope{hello("n", ""), readyWith(up), updateWith(up, up),
		{Id: 1, Body: &iopv1.NodeEnvelope_Ping{Ping: &iopv1.Ping{}}}, {Body: &iopv1.NodeEnvelope_GoAway{GoAway: &iopv1.GoAway{}}}, {Id: 5}} {
		frame, err := wire.AppendFrame(nil, e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(true, frame)
		f.Add(false, frame)
		f.Add(true, append(frame, frame...))
	}
	f.Add(true, []byte{0, 0, 0, 0})
	f.Add(false, []byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, greeted bool, data []byte) {
		site, err := New(Options{Nodes: []Node{{ID: "n"}}, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		if greeted {
			frame, _ := wire.AppendFrame(nil, hello("n", ""))
			data = append(frame, data...)
		}
		ours, theirs := net.Pipe()
		ended := make(chan struct{})
		go func() {
			site.live(theirs)
			close(ended)
		}()
		go func() { _, _ = io.Copy(io.Discard, ours) }()
		_, _ = ours.Write(data) // it may be cut short
		_ = ours.Close()
		<-ended
		for _, n := range site.Nodes() {
			if n.Connected {
				t.Error("a node without a connection is connected")
			}
		}
	})
}
