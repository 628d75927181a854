package wire

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	readBytes    = 64 << 10 // the poller's one read buffer
	readsATurn   = 4        // then it is the next connection's turn
	framesATurn  = 256      // likewise: what many small ones cost is a system call each, for a Pong, and not their bytes
	eventsAtOnce = 256      // at first; as many as there are links where that many happen at once
	// interest is registered once and never changed. It is edge-triggered (EPOLLET), each change told once: a connection that isn't
	// read to its end, or written to until it is full, is told of nothing more.
	interest = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET
	peerGone = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
)

// Poller reads many TCP connections with one goroutine: an idle one costs no stack and no buffer. The goroutine waits in
// Go's own poller for the epoll descriptor to have events: a thread blocked in epoll_wait, or a timer, costs more.
//
// A descriptor's number is reused as soon as it is closed. So only the poller's goroutine closes one, under the lock that
// guards writes to it, and an event finds its connection by number and generation.
type Poller struct {
	opts  *LinkOptions
	epoll *os.File
	raw   syscall.RawConn
	look  func(uintptr) bool // made once: a closure a round would be an allocation a round
	fd    int                // epoll's
	bell  int                // an eventfd: wakes the goroutine
	ended chan struct{}

	mu         sync.Mutex
	links      []*PolledLink // by descriptor
	generation int32
	rung       []*PolledLink // those to be looked at though nothing has happened at their sockets
	closing    bool

	// The goroutine's alone.
	events []unix.EpollEvent
	got    int           // of events; negative when epoll has failed
	due    []*PolledLink // of this round
	unread []*PolledLink // those whose turn ended before all was read
	buf    []byte
}

// NewPoller starts a poller. What its links write is bounded by opts.
func NewPoller(opts *LinkOptions) (*Poller, error) {
	p := &Poller{opts: opts, ended: make(chan struct{}), events: make([]unix.EpollEvent, eventsAtOnce), buf: make([]byte, readBytes)}
	p.look = p.lookOnce
	if err := p.open(); err != nil {
		return nil, err
	}
	go p.run()
	return p, nil
}

func (p *Poller) open() (err error) {
	if p.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("epoll_create1: %w", err)
	}
	if err = unix.SetNonblock(p.fd, true); err == nil { // else os.File wouldn't have Go's poller wait for it
		p.bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	}
	if err != nil {
		_ = unix.Close(p.fd)
		return fmt.Errorf("eventfd: %w", err)
	}
	p.epoll = os.NewFile(uintptr(p.fd), "epoll")
	err = p.register(p.bell, 0, unix.EPOLLIN|unix.EPOLLET)
	if err == nil {
		p.raw, err = p.epoll.SyscallConn()
	}
	if err == nil {
		err = p.epoll.SetReadDeadline(time.Time{}) // fails where Go's poller can't wait for it
	}
	if err != nil {
		_ = unix.Close(p.bell)
		_ = p.epoll.Close()
	}
	return err
}

func (p *Poller) register(fd int, generation int32, events uint32) error {
	return unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd), Pad: generation})
}

// add makes a link known and has its socket watched.
func (p *Poller) add(l *PolledLink) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return net.ErrClosed
	}
	p.generation++
	l.generation = p.generation
	for len(p.links) <= l.fd {
		p.links = append(p.links, nil)
	}
	p.links[l.fd] = l
	err := p.register(l.fd, l.generation, interest)
	if err != nil {
		p.links[l.fd] = nil
	}
	return err
}

// remove is the end of a descriptor's place in the table, before it is closed.
func (p *Poller) remove(l *PolledLink) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.links[l.fd] = nil
	_ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, l.fd, nil) // a child between fork and exec has it, too, and would keep it watched
}

// ring has the goroutine look at a link.
func (p *Poller) ring(l *PolledLink) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return
	}
	p.rung = append(p.rung, l)
	if len(p.rung) == 1 { // else it was rung already, and takes them all
		p.ringLocked()
	}
}

func (p *Poller) ringLocked() {
	_, _ = unix.Write(p.bell, one) // never read: that it changes is what counts
}

// Close ends all connections at once, and the poller.
func (p *Poller) Close() {
	p.mu.Lock()
	if !p.closing {
		p.closing = true
		p.ringLocked()
	}
	p.mu.Unlock()
	<-p.ended
}

func (p *Poller) run() {
	defer close(p.ended)
	for p.wait() && p.gather() {
		p.turns()
	}
	p.endAll()
}

// wait waits for events, unless a link is still to be read; false when epoll has failed.
func (p *Poller) wait() bool {
	return p.raw.Read(p.look) == nil && p.got >= 0
}

// lookOnce asks for events; false makes RawConn wait until there are some.
func (p *Poller) lookOnce(uintptr) bool {
	for {
		var err error
		if p.got, err = unix.EpollWait(p.fd, p.events, 0); err != unix.EINTR {
			return p.got != 0 || len(p.unread) > 0
		}
	}
}

// gather finds the links that have a turn now; false when the poller is to end.
func (p *Poller) gather() bool {
	for i, l := range p.unread {
		p.unread[i] = nil
		p.give(l)
	}
	p.unread = p.unread[:0]
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.events[:p.got] {
		e := &p.events[i]
		if int(e.Fd) == p.bell {
			continue
		}
		l := p.links[e.Fd]
		if l == nil || l.generation != e.Pad {
			continue // of a descriptor's former life
		}
		l.happened |= e.Events & (unix.EPOLLOUT | peerGone)
		p.give(l)
	}
	for i, l := range p.rung {
		p.rung[i] = nil
		p.give(l)
	}
	p.rung = p.rung[:0]
	if p.got == len(p.events) && p.got < len(p.links) { // else those that always have more would have most of the turns
		p.events = make([]unix.EpollEvent, 2*len(p.events))
	}
	return !p.closing
}

// one is what an eventfd is written, a number of 8 bytes.
var one = binary.NativeEndian.AppendUint64(nil, 1)

// give a link its turn in this round: one, however many reasons there are, else one that is never read to its end would
// have more with each round.
func (p *Poller) give(l *PolledLink) {
	if !l.due {
		l.due = true
		p.due = append(p.due, l)
	}
}

func (p *Poller) turns() {
	for i, l := range p.due {
		p.due[i], l.due = nil, false
		p.turn(l)
	}
	p.due = p.due[:0]
}

// turn does what there is to do for one link.
func (p *Poller) turn(l *PolledLink) {
	l.taken = 0
	if l.happened&unix.EPOLLOUT != 0 {
		l.happened &^= unix.EPOLLOUT
		l.flush()
	}
	switch l.state() {
	case linkOpen:
		p.read(l)
	case linkFinishing:
		p.discard(l)
	case linkOver:
		p.end(l)
	case linkClosed:
	}
}

// read reads frames until there are none, the taker wants none, or the turn is over.
func (p *Poller) read(l *PolledLink) {
	if !l.take(nil) { // what was kept behind a Hold comes first
		p.goOn(l)
		return
	}
	for range readsATurn {
		n, err := l.readSome(p.buf)
		switch {
		case err == unix.EAGAIN:
			return
		case err != nil || n == 0:
			l.peerEnded()
			p.goOn(l)
			return
		case !l.take(p.buf[:n]):
			p.goOn(l)
			return
		case n < len(p.buf) && l.happened == 0: // what comes next will be told; an end that is there already won't be again
			return
		}
	}
	p.unread = append(p.unread, l)
}

// goOn gives a link that ended while it was read another turn.
func (p *Poller) goOn(l *PolledLink) {
	if l.state() != linkOpen {
		p.unread = append(p.unread, l)
	}
}

// discard reads what a finished link's peer still sends, to its end.
func (p *Poller) discard(l *PolledLink) {
	l.leftover.drop()
	for range readsATurn {
		n, err := l.readSome(p.buf)
		switch {
		case err == unix.EAGAIN:
			return
		case err != nil || n == 0:
			l.peerEnded()
			if l.state() == linkOver {
				p.end(l)
			}
			return
		}
	}
	p.unread = append(p.unread, l)
}

// end closes a link's socket, in the one place where that is done.
func (p *Poller) end(l *PolledLink) {
	p.remove(l)
	l.close()
	l.taker.LinkClosed()
}

func (p *Poller) endAll() {
	p.mu.Lock()
	p.closing = true // so that nothing is added any more
	p.mu.Unlock()
	for _, l := range p.links {
		if l != nil {
			p.end(l)
		}
	}
	_ = p.epoll.Close()
	_ = unix.Close(p.bell)
}
