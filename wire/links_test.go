package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	iopv1 "iop/proto/iop/v1"
)

// What holds for every link, over whatever it runs.

// readerLink is what both kinds of link have, for their reader too.
type readerLink interface {
	Link
	ReadBy(time.Time)
	Drain()
}

// rig is a link and what is at its other end.
type rig struct {
	link readerLink
	read func() error // the link's side: one frame
	next func() ([]byte, error)
	peer net.Conn
	log  *linkLog
}

// tagOf names a frame by its number; 0 is no tag.
func tagOf(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// linkLog is LinkEvents that remembers.
type linkLog struct {
	mu     sync.Mutex
	begun  []uint64
	stalls int
	told   chan struct{} // gets a value at each stall
}

func newLinkLog() *linkLog { return &linkLog{told: make(chan struct{}, 16)} }

func (l *linkLog) FrameBegun(tag string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, _ := strconv.ParseUint(tag, 10, 64)
	l.begun = append(l.begun, n)
}

func (l *linkLog) WriteStalled() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stalls++
	l.told <- struct{}{}
}

func (l *linkLog) counts() (begun []uint64, stalls int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]uint64(nil), l.begun...), l.stalls
}

// serveReader does what an owner's reader does, until the link ends.
func (r *rig) serveReader() (ended <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for r.read() == nil {
		}
		r.link.Drain()
	}()
	return done
}

// smallBuffers make a few 100 KiB fill a connection.
func smallBuffers(conns ...*net.TCPConn) {
	for _, c := range conns {
		_ = c.SetReadBuffer(64 << 10)
		_ = c.SetWriteBuffer(64 << 10)
	}
}

// listenLoopback listens until the end of the test.
func listenLoopback(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// loopback gives both ends of a TCP connection.
func loopback(t testing.TB) (near, far *net.TCPConn) {
	t.Helper()
	ln := listenLoopback(t)
	dialled, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	near, far = accepted.(*net.TCPConn), dialled.(*net.TCPConn)
	t.Cleanup(func() { near.Close(); far.Close() })
	smallBuffers(near, far)
	return near, far
}

func connRig(near, far net.Conn, o *LinkOptions) *rig {
	log := newLinkLog()
	link := NewTCPLink(near, o, log)
	frames, own := NewFrameReader(far, 4<<20), NewFrameReader(near, 4<<20)
	read := func() error { _, err := own.Next(); return err }
	return &rig{link: link, read: read, next: frames.Next, peer: far, log: log}
}

func tcpRig(t testing.TB, o *LinkOptions) *rig {
	near, far := loopback(t)
	return connRig(near, far, o)
}

func tlsRig(t testing.TB, o *LinkOptions) *rig {
	near, far := loopback(t)
	server, client := tls.Server(near, testTLS()[0]), tls.Client(far, testTLS()[1])
	shaken := make(chan error, 1)
	go func() { shaken <- server.Handshake() }()
	if err := errors.Join(client.Handshake(), <-shaken); err != nil {
		t.Fatal(err)
	}
	return connRig(server, client, o)
}

func pipeRig(t testing.TB, o *LinkOptions) *rig {
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	return connRig(near, far, o)
}

func webSocketRig(t testing.TB, o *LinkOptions) *rig {
	near, far := webSocketPair(t, o)
	return webSocketRigOf(near, far)
}

// dialledRig has the link at the dialling side.
func dialledRig(t testing.TB, o *LinkOptions) *rig {
	near, far := webSocketPair(t, o)
	return webSocketRigOf(far, near)
}

func webSocketRigOf(near, far *WebSocketConn) *rig {
	log := newLinkLog()
	near.Notify(log, nil)
	near.SetMax(4 << 20)
	far.SetMax(4 << 20)
	read := func() error { _, err := near.Next(); return err }
	return &rig{link: near, read: read, next: far.Next, peer: far.socket.Conn, log: log}
}

// webSocketPair gives both ends of a connection of the Client wire.
func webSocketPair(t testing.TB, o *LinkOptions) (server, client *WebSocketConn) {
	t.Helper()
	accepted := make(chan *WebSocketConn, 1)
	s := serveClients(t, ClientServerOptions{Link: *o, MaxClients: 1, Accept: func(c *WebSocketConn) { accepted <- c }}, nil)
	client, err := DialClient(context.Background(), s.url, DialOptions{Link: *o})
	if err != nil {
		t.Fatal(err)
	}
	server = <-accepted
	smallBuffers(server.socket.Conn.(*net.TCPConn), client.socket.Conn.(*net.TCPConn))
	server.Notify(newLinkLog(), nil)
	client.Notify(newLinkLog(), nil)
	t.Cleanup(func() { server.Abort(); client.Abort() })
	return server, client
}

var rigs = map[string]func(testing.TB, *LinkOptions) *rig{
	"tcp": tcpRig, "tls": tlsRig, "pipe": pipeRig, "websocket": webSocketRig, "websocket dialled": dialledRig,
}

// having leaves out what this system doesn't have.
func having(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return rigs[name] == nil })
}

func eachRig(t *testing.T, o LinkOptions, test func(*testing.T, *rig)) {
	for name, rig := range rigs {
		t.Run(name, func(t *testing.T) { test(t, rig(t, &o)) })
	}
}

// roomy is for tests that don't reach the bounds.
var roomy = LinkOptions{MaxQueueFrames: 10_000, MaxQueueBytes: 64 << 20, WriteTimeout: 20 * time.Second}

// numbered is an envelope that can be told from others, as large as asked.
func numbered(n uint64, size int) *iopv1.Envelope {
	return &iopv1.Envelope{Id: n, Body: &iopv1.Envelope_Error{Error: &iopv1.Error{Message: strings.Repeat("m", size)}}}
}

// numbers reads to the end and gives the ids that came.
func (r *rig) numbers(t *testing.T) (ids []uint64, end error) {
	t.Helper()
	for {
		frame, err := r.next()
		if err != nil {
			return ids, err
		}
		e, err := Decode(frame)
		if err != nil {
			t.Fatalf("after %d frames: %v", len(ids), err)
		}
		ids = append(ids, e.Id)
	}
}

func wantPoliteEnd(t *testing.T, err error) {
	t.Helper()
	var closed *PeerClosed
	if !errors.Is(err, io.EOF) && !(errors.As(err, &closed) && closed.Code == websocket.CloseNormalClosure) {
		t.Errorf("the peer saw %v, want an orderly end", err)
	}
}

func TestLinkDeliversInOrderAndFinishes(t *testing.T) {
	eachRig(t, roomy, func(t *testing.T, r *rig) {
		ended := r.serveReader()
		const frames = 400
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for i := range uint64(frames) {
				size := []int{0, 10, 200, 70_000}[i%4]
				if got := r.link.Send(numbered(i+1, size), tagOf(i+1)); got != Sent && got != Queued {
					t.Errorf("frame %d: %v", i+1, got)
				}
			}
			r.link.Finish()
			if got := r.link.Send(numbered(1, 0), ""); got != Closed {
				t.Errorf("after Finish: %v", got)
			}
		}()
		ids, err := r.numbers(t)
		wantPoliteEnd(t, err)
		<-sent
		if len(ids) != frames {
			t.Fatalf("%d frames came, want %d", len(ids), frames)
		}
		for i, id := range ids {
			if id != uint64(i+1) {
				t.Fatalf("frame %d came at place %d", id, i)
			}
		}
		r.peer.Close()
		<-ended
		if _, stalls := r.log.counts(); stalls > 0 {
			t.Error("a peer that reads was taken for one that doesn't")
		}
	})
}

func TestLinkFromManyGoroutines(t *testing.T) {
	eachRig(t, roomy, func(t *testing.T, r *rig) {
		ended := r.serveReader()
		const senders, each = 6, 100
		var all sync.WaitGroup
		for s := range uint64(senders) {
			all.Go(func() {
				for i := range uint64(each) {
					r.link.Send(numbered(s*each+i+1, int(i)*20), "")
				}
			})
		}
		go func() { all.Wait(); r.link.Finish() }()
		ids, err := r.numbers(t)
		wantPoliteEnd(t, err)
		last := map[uint64]uint64{}
		for _, id := range ids {
			s := (id - 1) / each
			if id <= last[s] {
				t.Fatalf("frame %d came after %d", id, last[s])
			}
			last[s] = id
		}
		if len(ids) != senders*each {
			t.Errorf("%d frames came, want %d", len(ids), senders*each)
		}
		r.peer.Close()
		<-ended
	})
}

// TestLinkFull: what a full queue refuses is not sent, and what it took is.
func TestLinkFull(t *testing.T) {
	eachRig(t, LinkOptions{MaxQueueFrames: 5, MaxQueueBytes: 1 << 20, WriteTimeout: 20 * time.Second}, func(t *testing.T, r *rig) {
		ended := r.serveReader()
		n := r.fill(t, 40_000)
		r.link.Finish()
		ids, err := r.numbers(t)
		wantPoliteEnd(t, err)
		if len(ids) != int(n) || ids[n-1] != n {
			t.Errorf("%d frames came, the last %d; taken were %d", len(ids), ids[len(ids)-1], n)
		}
		r.peer.Close()
		<-ended
	})
}

// TestLinkControlHasAPlace: what is said to a peer that is slow to read, about the connection itself, comes behind all that waits.
func TestLinkControlHasAPlace(t *testing.T) {
	eachRig(t, LinkOptions{MaxQueueFrames: 5, MaxQueueBytes: 1 << 20, WriteTimeout: 20 * time.Second}, func(t *testing.T, r *rig) {
		ended := r.serveReader()
		n := r.fill(t, 40_000)
		for i := n + 1; i <= n+3; i++ {
			if got := r.link.SendControl(numbered(i, 20)); got != Sent && got != Queued {
				t.Errorf("frame %d: %v", i, got)
			}
		}
		r.link.Finish()
		ids, err := r.numbers(t)
		wantPoliteEnd(t, err)
		if len(ids) != int(n+3) || ids[n+2] != n+3 {
			t.Errorf("%d frames came, the last %d; taken were %d and 3", len(ids), ids[len(ids)-1], n)
		}
		r.peer.Close()
		<-ended
	})
}

// fill sends tagged frames until one is refused, and says how many were taken.
func (r *rig) fill(t *testing.T, size int) (taken uint64) {
	t.Helper()
	for {
		switch got := r.link.Send(numbered(taken+1, size), tagOf(taken+1)); got {
		case Sent, Queued:
			taken++
		case Full:
			return taken
		default:
			t.Fatalf("frame %d: %v", taken+1, got)
		}
	}
}

func TestLinkWithdraw(t *testing.T) {
	eachRig(t, LinkOptions{MaxQueueFrames: 20, MaxQueueBytes: 8 << 20, WriteTimeout: 20 * time.Second}, func(t *testing.T, r *rig) {
		ended := r.serveReader()
		n := r.fill(t, batchBytes+1) // one frame a batch, so that those behind the first wait
		if !r.link.Withdraw(tagOf(n-1)) || r.link.Withdraw(tagOf(n-1)) || r.link.Withdraw(tagOf(0)) {
			t.Error("Withdraw takes back what waits, once, and nothing else")
		}
		r.link.Finish()
		if !r.link.Withdraw(tagOf(n - 3)) {
			t.Error("a frame that waits can't be withdrawn after Finish")
		}
		ids, err := r.numbers(t)
		wantPoliteEnd(t, err)
		for _, id := range ids {
			if id == n-1 || id == n-3 {
				t.Errorf("frame %d was withdrawn, and came", id)
			}
		}
		if len(ids) != int(n-2) {
			t.Errorf("%d frames came of %d, with 2 withdrawn", len(ids), n)
		}
		if r.link.Withdraw(tagOf(1)) || r.link.Withdraw(tagOf(n)) {
			t.Error("what has arrived is withdrawn")
		}
		r.peer.Close()
		<-ended
		begun, _ := r.log.counts()
		for i, tag := range begun {
			if i > 0 && tag <= begun[i-1] || tag == n-1 || tag == n-3 {
				t.Errorf("begun were %v", begun)
				break
			}
		}
	})
}

// TestLinkSaysWhatItBegins before the peer can know of it.
func TestLinkSaysWhatItBegins(t *testing.T) {
	eachRig(t, roomy, func(t *testing.T, r *rig) {
		ended := r.serveReader()
		const frames = 200
		go func() {
			for i := range uint64(frames) {
				r.link.Send(numbered(i+1, []int{0, 30_000}[i%2]), tagOf(i+1))
			}
		}()
		for i := range frames {
			if _, err := r.next(); err != nil {
				t.Fatal(err)
			}
			if begun, _ := r.log.counts(); len(begun) <= i || begun[i] != uint64(i+1) {
				t.Fatalf("frame %d came, and begun were %v", i+1, begun)
			}
		}
		r.link.Abort()
		<-ended
	})
}

// TestLinkFinishesThoughThePeerDoesntRead: TestFinishIsBounded has the times.
func TestLinkFinishesThoughThePeerDoesntRead(t *testing.T) {
	eachRig(t, LinkOptions{MaxQueueFrames: 4, MaxQueueBytes: 4 << 20, WriteTimeout: 300 * time.Millisecond}, func(t *testing.T, r *rig) {
		r.link.Send(numbered(1, 3<<20), "")
		r.link.Send(numbered(2, 1<<20), tagOf(2))
		ended := r.serveReader()
		r.link.Finish()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Error("it hasn't ended")
		}
	})
}

func TestLinkStalls(t *testing.T) {
	eachRig(t, LinkOptions{MaxQueueFrames: 4, MaxQueueBytes: 4 << 20, WriteTimeout: 100 * time.Millisecond}, func(t *testing.T, r *rig) {
		ended := r.serveReader()
		r.link.Send(numbered(1, 3<<20), "")
		r.link.Send(numbered(2, 1000), tagOf(2))
		<-r.log.told
		<-r.link.Done()
		<-ended
		if got := r.link.Send(numbered(3, 0), ""); got != Closed {
			t.Errorf("then %v", got)
		}
		if begun, stalls := r.log.counts(); stalls != 1 {
			t.Errorf("told of %d stalls, and of the beginning of %v", stalls, begun)
		}
		if _, onTCP := r.peer.(*net.TCPConn); onTCP {
			if _, err := io.Copy(io.Discard, r.peer); err == nil {
				t.Error("the kernel goes on to send what the peer didn't take")
			}
		}
	})
}

// TestLinkAbortWhileWriting: TestGoodbyeIsBounded and TestAbortWhileWritingIsAtOnce have the times.
func TestLinkAbortWhileWriting(t *testing.T) {
	eachRig(t, roomy, func(t *testing.T, r *rig) {
		ended := r.serveReader()
		r.link.Send(numbered(1, 8<<20), "")
		r.link.Send(numbered(2, 1000), tagOf(2))
		r.link.Abort()
		r.link.Abort()
		r.link.Finish()
		<-r.link.Done()
		<-ended
		if _, stalls := r.log.counts(); stalls > 0 {
			t.Error("an abort counts as a stall")
		}
		if got := r.link.Send(numbered(3, 0), ""); got != Closed {
			t.Errorf("then %v", got)
		}
	})
}

func TestLinkWhosePeerIsGone(t *testing.T) {
	eachRig(t, roomy, func(t *testing.T, r *rig) {
		ended := r.serveReader()
		r.peer.Close()
		<-ended
		if got := r.link.Send(numbered(1, 10_000), ""); got != Closed {
			t.Errorf("got %v", got)
		}
		if _, stalls := r.log.counts(); stalls > 0 {
			t.Error("an end counts as a stall")
		}
	})
}

// TestLinkSeesTheResetItself: with no reader to tell it.
func TestLinkSeesTheResetItself(t *testing.T) {
	for _, name := range having("tcp", "tls", "polled", "websocket") {
		t.Run(name, func(t *testing.T) {
			r := rigs[name](t, &roomy)
			_ = rawConn(r.peer).(*net.TCPConn).SetLinger(0)
			_ = rawConn(r.peer).Close()
			for r.link.Send(numbered(1, 10_000), "") != Closed {
				runtime.Gosched()
			}
			<-r.link.Done()
			if _, stalls := r.log.counts(); stalls > 0 {
				t.Error("an end counts as a stall")
			}
			r.link.Drain()
		})
	}
}

// TestLastAnswerSurvivesUnreadInput: closing with unread input would reset the connection, and the answer with it.
func TestLastAnswerSurvivesUnreadInput(t *testing.T) {
	for _, name := range having("tcp", "tls", "polled") {
		t.Run(name, func(t *testing.T) {
			r := rigs[name](t, &roomy)
			flooded := make(chan struct{})
			go func() {
				defer close(flooded)
				for {
					if _, err := r.peer.Write(make([]byte, 100_000)); err != nil {
						return
					}
				}
			}()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = r.read() // a frame of length 0
				r.link.Send(numbered(7, 10), "")
				r.link.Finish()
				r.link.Drain()
			}()
			if ids, err := r.numbers(t); len(ids) != 1 || !errors.Is(err, io.EOF) {
				t.Errorf("the peer got %v, %v", ids, err)
			}
			<-ended
			r.peer.Close()
			<-flooded
		})
	}
}

// TestPeerEndsBeforeItIsAnswered: a peer that has nothing more to say is still told everything.
func TestPeerEndsBeforeItIsAnswered(t *testing.T) {
	for _, name := range []string{"tcp", "tls"} {
		t.Run(name, func(t *testing.T) {
			r := rigs[name](t, &roomy)
			if err := r.peer.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if err := r.read(); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			for i := range uint64(50) {
				r.link.Send(numbered(i, 50_000), "")
			}
			r.link.Finish()
			drained := make(chan struct{})
			go func() {
				defer close(drained)
				r.link.Drain()
			}()
			if ids, err := r.numbers(t); len(ids) != 50 || !errors.Is(err, io.EOF) {
				t.Errorf("the peer got %d of 50 frames, and %v", len(ids), err)
			}
			<-drained
		})
	}
}

// TestTryWriter: what the kernel takes of a long write is seen when it takes it; the link's deadlines follow from that.
func TestTryWriter(t *testing.T) {
	near, far := loopback(t)
	w := newTryWriter(near)
	if w == nil {
		t.Skip("not on this system")
	}
	b := make([]byte, 8<<20)
	taken := 0
	for range 2 { // at the second time it is full
		for {
			n, err := w.write(b)
			if err != nil {
				t.Fatal(err)
			}
			if taken += n; n == 0 {
				break
			}
		}
	}
	_ = near.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
	for { // the kernel can still shift something between its buffers
		n, err := w.wait(b)
		taken += n
		if n == 0 {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("with no room: %v", err)
			}
			break
		}
	}
	_ = near.SetWriteDeadline(time.Time{})
	if _, err := io.CopyN(io.Discard, far, int64(taken)); err != nil {
		t.Fatal(err)
	}
	if n, err := w.wait(b); n == 0 || n == len(b) || err != nil {
		t.Errorf("with some room: %d of %d bytes, %v", n, len(b), err)
	}
	near.Close()
	if n, err := w.wait(b); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end: %d, %v", n, err)
	}
	if n, err := w.write(b); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end: %d, %v", n, err)
	}
}

func TestSendRefusesWhatCantBeEncoded(t *testing.T) {
	eachRig(t, roomy, func(t *testing.T, r *rig) {
		ended := r.serveReader()
		bad := &iopv1.Envelope{Body: &iopv1.Envelope_Error{Error: &iopv1.Error{Message: "\xff"}}}
		if got := r.link.Send(bad, ""); got != Unsendable {
			t.Errorf("got %v", got)
		}
		r.link.SendFrame(mustFrame(t, numbered(1, 5)))
		r.link.Finish()
		if ids, err := r.numbers(t); len(ids) != 1 || ids[0] != 1 {
			t.Errorf("the peer got %v, %v", ids, err)
		}
		r.peer.Close()
		<-ended
	})
}

func TestSendFrameAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("counted without the race detector")
	}
	for _, name := range having("tcp", "polled", "websocket") {
		t.Run(name, func(t *testing.T) {
			r := rigs[name](t, &roomy)
			sunk := make(chan struct{})
			go func() {
				defer close(sunk)
				b := make([]byte, 64<<10)
				for {
					if _, err := r.peer.Read(b); err != nil {
						return
					}
				}
			}()
			frame := mustFrame(t, numbered(1, 20))
			if n := testing.AllocsPerRun(200, func() { r.link.SendFrame(frame) }); n > 0 {
				t.Errorf("%v allocations a frame", n)
			}
			r.link.Abort()
			<-sunk
		})
	}
}
