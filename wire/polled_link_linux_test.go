package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() { rigs["polled"] = polledRig }

// stepTaker takes one frame at a time: the next one when it is asked for.
type stepTaker struct {
	*linkLog
	frames chan stepped // 1
	closed chan struct{}
}

type stepped struct {
	frame []byte
	err   error
}

func newStepTaker() *stepTaker {
	return &stepTaker{linkLog: newLinkLog(), frames: make(chan stepped, 1), closed: make(chan struct{})}
}

func (s *stepTaker) MaxFrame() int { return 4 << 20 }

func (s *stepTaker) TakeFrame(frame []byte, err error) Next {
	s.frames <- stepped{bytes.Clone(frame), err}
	if err != nil {
		return Halt
	}
	return Hold
}

func (s *stepTaker) LinkClosed() { close(s.closed) }

// polledReader makes of a polled link and its taker what other links are to their readers.
type polledReader struct {
	*PolledLink
	taker *stepTaker
	begun bool
}

func (r *polledReader) ReadBy(time.Time) {}

func (r *polledReader) next() ([]byte, error) {
	if r.begun {
		r.Resume()
	}
	r.begun = true
	select {
	case s := <-r.taker.frames:
		return s.frame, s.err
	case <-r.taker.closed:
		return nil, io.EOF
	case <-r.Done():
		return nil, io.EOF
	}
}

func (r *polledReader) Drain() {
	if !r.Ended() {
		r.Abort()
	}
	<-r.taker.closed
}

func polledRig(t testing.TB, o *LinkOptions) *rig {
	p, err := NewPoller(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	link, far := polledPair(t, p)
	taker := newStepTaker()
	link.Start(taker)
	reader := &polledReader{PolledLink: link, taker: taker}
	frames := NewFrameReader(far, 4<<20)
	read := func() error { _, err := reader.next(); return err }
	return &rig{link: reader, read: read, next: frames.Next, peer: far, log: taker.linkLog}
}

// gatherTaker keeps all frames.
type gatherTaker struct {
	linkLog
	mu     sync.Mutex
	frames [][]byte
	err    error
	closed chan struct{}
}

func (g *gatherTaker) MaxFrame() int { return 1 << 20 }

func (g *gatherTaker) TakeFrame(frame []byte, err error) Next {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.err = err
		return Halt
	}
	g.frames = append(g.frames, bytes.Clone(frame))
	return ReadOn
}

func (g *gatherTaker) LinkClosed() { close(g.closed) }

// TestPolledFramesBeforeTheEnd: what a peer said before it ended counts, whatever came in one read with the end.
func TestPolledFramesBeforeTheEnd(t *testing.T) {
	p, err := NewPoller(&roomy)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, sizes := range [][]int{{1}, {10, 20, 30}, {70_000}, {500_000, 1, 200_000}, {65_532}, {65_531, 3}} {
		link, far := polledPair(t, p)
		g := &gatherTaker{closed: make(chan struct{})}
		link.Start(g)
		var all []byte
		for i, n := range sizes {
			all = append(all, frameOf(string(bytes.Repeat([]byte{byte('a' + i)}, n)))...)
		}
		if _, err := far.Write(all); err != nil {
			t.Fatal(err)
		}
		_ = far.CloseWrite()
		select {
		case <-g.closed:
		case <-time.After(20 * time.Second):
			t.Fatalf("%v: its end wasn't seen", sizes)
		}
		if len(g.frames) != len(sizes) {
			t.Fatalf("%v: %d frames came", sizes, len(g.frames))
		}
		for i, n := range sizes {
			if len(g.frames[i]) != n || g.frames[i][0] != byte('a'+i) {
				t.Errorf("%v: frame %d is of %d bytes", sizes, i, len(g.frames[i]))
			}
		}
		far.Close()
	}
}

// TestPolledHold: what came behind a Hold is taken when it is resumed, though nothing further comes and the peer, who
// doesn't read, leaves no room to write.
func TestPolledHold(t *testing.T) {
	o := LinkOptions{MaxQueueFrames: 3, MaxQueueBytes: 1 << 20, WriteTimeout: time.Minute}
	r := polledRig(t, &o)
	const frames = 500
	var all []byte
	for i := range frames {
		all = append(all, frameOf(string(rune('a'+i%26)))...)
	}
	if _, err := r.peer.Write(all); err != nil {
		t.Fatal(err)
	}
	r.fill(t, 40_000)
	reader := r.link.(*polledReader)
	for i := range frames {
		frame, err := reader.next()
		if err != nil || string(frame) != string(rune('a'+i%26)) {
			t.Fatalf("frame %d: %q, %v", i, frame, err)
		}
	}
	r.link.Abort()
	r.link.Drain()
}

// TestPollerClose ends every connection, also one that is held, and one that comes too late.
func TestPollerClose(t *testing.T) {
	p, err := NewPoller(&roomy)
	if err != nil {
		t.Fatal(err)
	}
	var takers []*stepTaker
	start := func() {
		link, _ := polledPair(t, p)
		takers = append(takers, newStepTaker())
		link.Start(takers[len(takers)-1])
	}
	for range 5 {
		start()
	}
	p.Close()
	start()
	p.Close()
	for _, taker := range takers {
		<-taker.closed
	}
}

// TestALinkThatCannotBeWatchedEnds: epoll takes no regular file.
func TestALinkThatCannotBeWatchedEnds(t *testing.T) {
	p, err := NewPoller(&roomy)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	fd, err := unix.Open(filepath.Join(t.TempDir(), "regular"), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	l, taker := &PolledLink{poller: p, fd: fd}, newStepTaker()
	l.Start(taker)
	<-taker.closed
	if l.state() != linkClosed {
		t.Errorf("its state is %d", l.state())
	}
}

// TestOneTurnARound: an event of a descriptor's former life is nobody's.
func TestOneTurnARound(t *testing.T) {
	l, other := &PolledLink{generation: 7}, &PolledLink{generation: 8}
	p := &Poller{bell: 3, links: []*PolledLink{l, other, nil}, rung: []*PolledLink{l, l}, unread: []*PolledLink{l},
		events: []unix.EpollEvent{
			{Fd: 0, Pad: 7, Events: unix.EPOLLIN | unix.EPOLLRDHUP}, {Fd: 1, Pad: 7, Events: unix.EPOLLHUP}, {Fd: 2, Pad: 7}, {Fd: 3}}}
	p.got = len(p.events)
	if !p.gather() || len(p.due) != 1 || p.due[0] != l || l.happened != unix.EPOLLRDHUP || other.happened != 0 {
		t.Errorf("%d turns, %x and %x have happened", len(p.due), l.happened, other.happened)
	}
	if len(p.rung)+len(p.unread) != 0 {
		t.Error("they are given again")
	}
}

// TestEveryReadyLinkHasATurn: where more happens than is asked for at once, more is asked for, so that the peers that always have
// more don't have a turn for every few of the others.
func TestEveryReadyLinkHasATurn(t *testing.T) {
	p := &Poller{opts: &roomy, ended: make(chan struct{}), events: make([]unix.EpollEvent, 4), buf: make([]byte, readBytes)}
	p.look = p.lookOnce
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	defer p.endAll()
	var peers []net.Conn
	for range 30 {
		link, far := polledPair(t, p)
		link.Start(&gatherTaker{closed: make(chan struct{})})
		peers = append(peers, far)
	}
	most := 0
	for round := range 10 {
		for _, far := range peers {
			if _, err := far.Write([]byte(frameOf("m"))); err != nil {
				t.Fatal(err)
			}
		}
		p.lookOnce(0)
		p.gather()
		most = len(p.due)
		p.turns()
		if round < 5 && most == len(peers) {
			break
		}
	}
	if most != len(peers) {
		t.Errorf("%d of %d links had a turn in a round", most, len(peers))
	}
}

// TestPolledTurnIsBounded: however small a peer's frames are, the others have their turn after a few; none is lost.
func TestPolledTurnIsBounded(t *testing.T) {
	p := &Poller{opts: &roomy, ended: make(chan struct{}), events: make([]unix.EpollEvent, eventsAtOnce), buf: make([]byte, readBytes)}
	p.look = p.lookOnce
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	defer p.endAll()
	_ = p.epoll.SetReadDeadline(time.Now().Add(time.Minute)) // wait fails then
	link, far := polledPair(t, p)
	g := &gatherTaker{closed: make(chan struct{})}
	link.Start(g)
	const all = 5*framesATurn + 7
	var flood []byte
	for i := range all {
		flood = append(flood, frameOf(string(rune('a'+i%26)))...)
	}
	if _, err := far.Write(flood); err != nil {
		t.Fatal(err)
	}
	for had := 0; had < all; had = len(g.frames) {
		if !p.wait() || !p.gather() {
			t.Fatalf("%d frames came", had)
		}
		p.turns()
		if taken := len(g.frames) - had; taken > framesATurn {
			t.Fatalf("%d frames in one turn", taken)
		}
	}
	for i, frame := range g.frames {
		if string(frame) != string(rune('a'+i%26)) {
			t.Fatalf("frame %d is %q", i, frame)
		}
	}
}

// TestAcceptorOnlyOfTCP: of what it doesn't take nothing is done.
func TestAcceptorOnlyOfTCP(t *testing.T) {
	p := newPoller(t)
	l := listenLoopback(t)
	if p.Acceptor(struct{ net.Listener }{l}) != nil {
		t.Error("it took a listener that may do more")
	}
	l.Close()
	if p.Acceptor(l) != nil {
		t.Error("it took what is closed")
	}
}

// TestAcceptorCloses: an Accept that waits ends, and the port is free once the listener is closed, too.
func TestAcceptorCloses(t *testing.T) {
	p := newPoller(t)
	l := listenLoopback(t)
	a := p.Acceptor(l)
	ended := make(chan error)
	go func() { _, err := a.Accept(); ended <- err }()
	a.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
	l.Close()
	again, err := net.Listen("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// TestAcceptedLink: it doesn't wait to fill packets, as Go's connections don't.
func TestAcceptedLink(t *testing.T) {
	p := newPoller(t)
	link, _ := polledPair(t, p)
	defer link.close()
	if on, err := unix.GetsockoptInt(link.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY); on != 1 || err != nil {
		t.Errorf("TCP_NODELAY is %d, %v", on, err)
	}
}

func newPoller(t testing.TB) *Poller {
	t.Helper()
	p, err := NewPoller(&roomy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// polledPair is a link that wasn't started, and its peer, which was there before the acceptor.
func polledPair(t testing.TB, p *Poller) (*PolledLink, *net.TCPConn) {
	t.Helper()
	l := listenLoopback(t)
	far, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	a := p.Acceptor(l)
	defer a.Close()
	link, err := a.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return link, far.(*net.TCPConn)
}
