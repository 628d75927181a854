package dial

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

func TestExchange(t *testing.T) {
	hello := func(name string) *iopv1.NodeEnvelope {
		return &iopv1.NodeEnvelope{Id: HelloID, Body: &iopv1.NodeEnvelope_NodeHelloRequest{NodeHelloRequest: &iopv1.NodeHelloRequest{Name: name}}}
	}
	answered := func(frame []byte) func(net.Conn) {
		return func(c net.Conn) {
			_, _ = wire.NewFrameReader(c, wire.MaxHelloBytes).Next()
			time.Sleep(time.Second)
			_, _ = c.Write(frame)
		}
	}
	welcome, err := wire.AppendFrame(nil, &iopv1.NodeEnvelope{ReplyTo: HelloID, Body: &iopv1.NodeEnvelope_NodeHelloResponse{NodeHelloResponse: &iopv1.NodeHelloResponse{EdgeId: "e"}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		name     string
		peer     func(net.Conn)
		why      string // empty: it has an answer
		hopeless bool
		took     time.Duration
	}{
		"answered":     {"n", answered(welcome), "", false, time.Second},
		"not read":     {"n", func(net.Conn) {}, "could not be sent", false, HelloTimeout},
		"not answered": {"n", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, "was not answered", false, HelloTimeout},
		"hung up":      {"n", func(c net.Conn) { _ = c.Close() }, "could not be sent", false, 0},
		"nonsense":     {"n", answered([]byte{0, 0, 0, 1, 0xff}), "can't be decoded", false, time.Second},
		"too long":     {"n", answered([]byte{0xff, 0, 0, 0}), "was not answered", false, time.Second},
		"not UTF-8":    {"\xff", func(net.Conn) {}, "can't be encoded", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer theirs.Close()
				defer ours.Close()
				go c.peer(theirs)
				began := time.Now()
				first, end := Exchange(ours, hello(c.name), wire.DecodeNode)
				if took := time.Since(began); took != c.took {
					t.Errorf("it took %v", took)
				}
				if c.why != "" {
					if end == nil || !strings.Contains(end.Why, c.why) || end.Hopeless != c.hopeless {
						t.Errorf("it ended with %+v", end)
					}
					return
				}
				if end != nil || first.Answer.GetNodeHelloResponse().GetEdgeId() != "e" || !first.Sent.Equal(began) || !first.Received.Equal(began.Add(c.took)) {
					t.Fatalf("it is %+v, %+v", first, end)
				}
				go func() { time.Sleep(time.Hour); _, _ = theirs.Write(welcome) }() // no deadline is left behind
				if _, err := first.Frames.Next(); err != nil {
					t.Errorf("after it: %v", err)
				}
			})
		})
	}
}
