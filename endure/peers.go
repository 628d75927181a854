//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/gorilla/websocket"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// dialTime is for a connection to a daemon on this machine.
const dialTime = 3 * time.Second

// halfFrames has peers send half a frame, half of them before a hello and half of them after it, and hang or close at once. Those
// that hang for long the Control Plane has to close, by its limit for a hello and by that for silence, and say why.
func (c *chaos) halfFrames(ctx context.Context, f *fault) error {
	conns, address := make([]net.Conn, 0, len(f.Edges)), c.daemon.Addresses().EdgeWire
	defer func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}()
	for i := range f.Edges {
		conn, err := net.DialTimeout("tcp", address, dialTime)
		if err != nil {
			return fmt.Errorf("a peer's connection: %w", err)
		}
		conns = append(conns, conn)
		id := f.peer(i)
		hello, snapshot := helloFrame(id), snapshotFrame(id)
		said := hello[:len(hello)/2]
		if i%2 == 1 {
			said = append(hello, snapshot[:len(snapshot)/2]...)
		}
		if _, err := conn.Write(said); err != nil {
			return fmt.Errorf("a peer's connection: %w", err)
		}
	}
	if f.Kind == halfFrames {
		if closes := f.Size%2 == 0; !closes {
			sleep(ctx, f.For)
		}
		return nil
	}
	if !sleep(ctx, f.For) {
		return nil
	}
	if n := stillOpen(conns); n > 0 {
		return fmt.Errorf("%d of %d peers sent half a frame and are not closed after %v", n, len(conns), f.For)
	}
	for i := 1; i < len(conns); i += 2 {
		if wrong := c.notTimedOut(f.peer(i)); wrong != "" {
			return errors.New(wrong)
		}
	}
	return nil
}

// peer names a peer of a fault.
func (f *fault) peer(i int) string { return fmt.Sprintf("half-%d-%d", f.Number, i) }

// stillOpen counts the connections that the other side hasn't closed.
func stillOpen(conns []net.Conn) (open int) {
	for _, conn := range conns {
		_ = conn.SetReadDeadline(time.Now().Add(lookEvery))
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			open++
		}
	}
	return open
}

func helloFrame(id string) []byte {
	return frame(&iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_EdgeHelloRequest{EdgeHelloRequest: &iopv1.EdgeHelloRequest{
		EdgeId: id, ProtocolVersion: wire.ProtocolVersion, InstanceId: "chaos"}}})
}

func snapshotFrame(id string) []byte {
	return frame(&iopv1.Envelope{Body: &iopv1.Envelope_EdgeStatusResponse{EdgeStatusResponse: &iopv1.EdgeStatusResponse{
		EdgeId: id, Nodes: []*iopv1.EdgeNodeSnapshot{{NodeId: "gpu-0", Connected: true}}}}})
}

func frame(m *iopv1.Envelope) []byte {
	b, err := wire.AppendFrame(nil, m)
	if err != nil {
		panic(err) // it is small
	}
	return b
}

// deafDialer makes connections with so small a buffer that a peer which never reads is felt at once.
func deafDialer() *net.Dialer {
	const receive = 4096
	return &net.Dialer{Timeout: dialTime, Control: func(_, _ string, raw syscall.RawConn) (err error) {
		set := raw.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, receive) })
		return errors.Join(set, err)
	}}
}

// deafClient says hello and asks without end, and never reads an answer. The Control Plane has to close it.
func (c *chaos) deafClient(ctx context.Context, f *fault) error {
	ctx, cancel := context.WithTimeout(ctx, f.For)
	defer cancel()
	dialer := websocket.Dialer{NetDialContext: deafDialer().DialContext, HandshakeTimeout: dialTime}
	ws, _, err := dialer.DialContext(ctx, "ws://"+c.daemon.Addresses().Wire+"/client", nil)
	if err != nil {
		return fmt.Errorf("a Client's connection: %w", err)
	}
	defer ws.Close()
	hello := &iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_ClientHelloRequest{ClientHelloRequest: &iopv1.ClientHelloRequest{
		Name: "never reads", ProtocolVersion: wire.ProtocolVersion}}}
	_ = ws.SetWriteDeadline(time.Now().Add(f.For))
	err = ws.WriteMessage(websocket.BinaryMessage, frame(hello)[wire.HeaderBytes:])
	// Behind the library's back, so that a thousand Pings cost one write here: what is to be busy is the Control Plane.
	pings, conn := maskedPings(1000), ws.NetConn()
	_ = conn.SetWriteDeadline(time.Now().Add(f.For))
	for err == nil && ctx.Err() == nil {
		_, err = conn.Write(pings)
	}
	if closed := errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET); !closed && !interrupted(ctx) {
		return fmt.Errorf("a Client that never reads was not closed within %v: %v", f.For, err)
	}
	return nil
}

// maskedPings are n messages of a Client, each an Envelope with a Ping. The mask that RFC 6455 wants is one of zeros.
func maskedPings(n int) []byte {
	ping := frame(&iopv1.Envelope{Id: 2, Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{}}})[wire.HeaderBytes:]
	const final, binary, masked = 0x80, 0x02, 0x80
	one := append([]byte{final | binary, masked | byte(len(ping)), 0, 0, 0, 0}, ping...)
	return bytes.Repeat(one, n)
}

// interrupted tells whether the run was ended, and not only the time of the fault.
func interrupted(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// deafPrefix is of the ids of Edges that never read, and never come back.
const deafPrefix = "deaf-"

// deafEdge is sent large commands, and says its heartbeats, but never reads. The Control Plane has to close it, and say why.
func (c *chaos) deafEdge(ctx context.Context, f *fault) error {
	conn, err := deafDialer().DialContext(ctx, "tcp", c.daemon.Addresses().EdgeWire)
	if err != nil {
		return fmt.Errorf("an Edge's connection: %w", err)
	}
	defer conn.Close()
	id := fmt.Sprintf("%s%d", deafPrefix, f.Number)
	if _, err := conn.Write(append(helloFrame(id), snapshotFrame(id)...)); err != nil {
		return fmt.Errorf("an Edge's connection: %w", err)
	}
	beating, enough := context.WithCancel(ctx)
	defer enough()
	go beat(beating, conn)
	var view edgeView
	if !c.await(ctx, f.For, func() bool { return c.ask.get("/edges/"+id, &view) == nil && view.Connected }) {
		return unlessInterrupted(ctx, fmt.Errorf("%s said hello, and is not shown as connected within %v", id, f.For))
	}
	const text = 500_000 // some of these fill what the system and the Control Plane let wait
	body := []byte(`{"operation":"none","timeout":"1s","parameters":{"text":"` + strings.Repeat("x", text) + `"}}`)
	ended := c.await(ctx, f.For, func() bool {
		// Refused or taken: both are right, and whether others are answered is what the load looks at.
		_, _, _ = c.ask.do(ctx, http.MethodPost, "/edges/"+id+"/commands?wait=false", body)
		return c.ask.get("/edges/"+id, &view) == nil && !view.Connected
	})
	switch {
	case !ended:
		return unlessInterrupted(ctx, fmt.Errorf("%s never reads, and is still connected after %v", id, f.For))
	case view.Reason != "write_timeout":
		return fmt.Errorf("%s never reads, and its disconnect_reason is %q", id, view.Reason)
	}
	return nil
}

// beat sends heartbeats until ctx ends or the peer has closed.
func beat(ctx context.Context, conn net.Conn) {
	ping := frame(&iopv1.Envelope{Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{}}})
	for sleep(ctx, time.Second) {
		if _, err := conn.Write(ping); err != nil {
			return
		}
	}
}

func unlessInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
