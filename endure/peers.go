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

// halfFrames has peers send half a hello or, every second one, a hello and half a snapshot, and hang or close at once. Those that hang for
// long the Control Plane has to close, by its limit for a hello and by that for silence, and say why.
func (c *chaos) halfFrames(ctx context.Context, f *fault) error {
	limits := []hangLimit{{what: "half a hello", limit: helloTime}, {what: "half a snapshot", limit: c.opts.silence()}}
	defer func() {
		for _, l := range limits {
			for _, conn := range l.conns {
				_ = conn.Close()
			}
		}
	}()
	for i := range f.Edges {
		conn, err := net.DialTimeout("tcp", c.daemon.Addresses().EdgeWire, dialTime)
		if err != nil {
			return fmt.Errorf("a peer's connection: %w", err)
		}
		l := &limits[i%2]
		l.conns = append(l.conns, conn)
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
	if err := closedInTime(ctx, limits); err != nil || ctx.Err() != nil {
		return err
	}
	for i := 1; i < len(f.Edges); i += 2 {
		if wrong := c.notTimedOut(f.peer(i)); wrong != "" {
			return errors.New(wrong)
		}
	}
	return nil
}

// peer names a peer of a fault.
func (f *fault) peer(i int) string { return fmt.Sprintf("half-%d-%d", f.Number, i) }

// hangLimit is for how long the daemon bears peers that have just said something and hang.
type hangLimit struct {
	what  string
	limit time.Duration
	conns []net.Conn
}

// closedInTime looks, by each limit in turn, whether the daemon has closed those that it is for. The shortest one comes first.
func closedInTime(ctx context.Context, limits []hangLimit) error {
	began := time.Now()
	for _, l := range limits {
		if !sleep(ctx, time.Until(began.Add(l.limit+endTime))) {
			return nil
		}
		if n := stillOpen(l.conns); n > 0 {
			return fmt.Errorf("%d of %d peers that sent %s are not closed %v later", n, len(l.conns), l.what, l.limit+endTime)
		}
	}
	return nil
}

// stillOpen counts the connections that the other side hasn't closed.
func stillOpen(conns []net.Conn) (open int) {
	for _, conn := range conns {
		seen := isOpen(conn)
		if seen { // once more, in case this process wasn't run while it looked
			seen = isOpen(conn)
		}
		if seen {
			open++
		}
	}
	return open
}

func isOpen(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(lookEvery))
	_, err := io.Copy(io.Discard, conn)
	return errors.Is(err, os.ErrDeadlineExceeded)
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

// deafClient says hello and a Ping, and once they are answered sends Pings without end and never reads again. The Control Plane has
// to close it, because more waits for it than it may let wait.
func (c *chaos) deafClient(ctx context.Context, f *fault) error {
	ctx, cancel := context.WithTimeout(ctx, f.For)
	defer cancel()
	dialer := websocket.Dialer{NetDialContext: deafDialer().DialContext, HandshakeTimeout: dialTime}
	ws, _, err := dialer.DialContext(ctx, "ws://"+c.daemon.Addresses().Wire+"/client", nil)
	if err != nil {
		return fmt.Errorf("a Client's connection: %w", err)
	}
	defer ws.Close()
	if err := greet(ws); err != nil {
		return fmt.Errorf("a Client's first words: %w", err)
	}
	before, err := c.clientCounts()
	if err != nil {
		return err
	}
	// Behind the library's back, so that a thousand Pings cost one write here: what is to be busy is the Control Plane.
	pings, conn := maskedPings(1000), ws.NetConn()
	_ = conn.SetWriteDeadline(time.Now().Add(f.For))
	for err == nil && ctx.Err() == nil {
		_, err = conn.Write(pings)
	}
	if closed := errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET); !closed && !interrupted(ctx) {
		return fmt.Errorf("a Client that never reads was not closed within %v: %v", f.For, err)
	}
	after, err := c.clientCounts()
	if err != nil {
		return err
	}
	return after.queueFilled(before)
}

// greet returns when the hello was accepted and a Ping answered.
func greet(ws *websocket.Conn) error {
	hello := &iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_ClientHelloRequest{ClientHelloRequest: &iopv1.ClientHelloRequest{
		Name: "never reads", ProtocolVersion: wire.ProtocolVersion}}}
	by := time.Now().Add(dialTime)
	if err := errors.Join(ws.SetWriteDeadline(by), ws.SetReadDeadline(by)); err != nil {
		return err
	}
	answer, err := ask(ws, hello)
	if err == nil && answer.GetClientHelloResponse() == nil {
		err = fmt.Errorf("answered with %v", answer)
	}
	if err != nil {
		return err
	}
	answer, err = ask(ws, clientPing)
	if err == nil && answer.GetPong() == nil {
		err = fmt.Errorf("a Ping was answered with %v", answer)
	}
	return err
}

// ask gives the next message.
func ask(ws *websocket.Conn, m *iopv1.Envelope) (*iopv1.Envelope, error) {
	if err := ws.WriteMessage(websocket.BinaryMessage, frame(m)[wire.HeaderBytes:]); err != nil {
		return nil, err
	}
	_, answer, err := ws.ReadMessage()
	if err != nil {
		return nil, err
	}
	return wire.Decode(answer)
}

var clientPing = &iopv1.Envelope{Id: 2, Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{}}}

// clientCounts are what the daemon has counted of its Clients: Pings that it took, and frames that had no room in their queues.
type clientCounts struct{ pings, refused float64 }

func (c *chaos) clientCounts() (clientCounts, error) {
	v, err := c.ask.metrics(`iop_wire_frames_total{direction="in",type="ping",wire="client"}`, `iop_wire_frames_refused_total{wire="client"}`)
	if err != nil {
		return clientCounts{}, err
	}
	return clientCounts{v[0], v[1]}, nil
}

// clientQueue is how many frames the daemon lets wait for one Client.
const clientQueue = 256

// queueFilled wants what has to come before the end of a Client that never reads: its Pings were answered until a whole queue of answers
// waited, and a further one had no room.
func (after clientCounts) queueFilled(before clientCounts) error {
	if n := after.pings - before.pings; n <= clientQueue {
		return fmt.Errorf("a Client that never reads was closed after %v Pings, and %d answers may wait", n, clientQueue)
	}
	if after.refused <= before.refused {
		return errors.New("a Client that never reads was closed, and its queue was not full")
	}
	return nil
}

// maskedPings are n messages of a Client, each an Envelope with a Ping. The mask that RFC 6455 wants is one of zeros.
func maskedPings(n int) []byte {
	ping := frame(clientPing)[wire.HeaderBytes:]
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
