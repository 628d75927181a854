package wire

import (
	"crypto/tls"
	"net"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
)

// TCPLink is a Link over TCP, over TLS, or over any net.Conn. On plain TCP an envelope is written by the caller in
// one system call that doesn't block; only what the kernel has no room for waits, and a goroutine writes
// it while there is something to write. TLS and pipes always use that goroutine.
//
// The connection's reader is the caller's. It sets its deadlines through ReadBy and ends with Drain, which is
// what closes the connection.
type TCPLink struct {
	conn   net.Conn
	events LinkEvents
	opts   *LinkOptions
	try    *tryWriter // nil where a write can't be tried without blocking
	onCut  func()     // nil, or told whenever the connection is closed

	linkEnd
	outbox   outbox
	writing  bool // the writer goroutine runs; while it does, it alone writes
	aborted  bool // begins no further frame
	finishBy time.Time
	written  chan struct{} // made by Finish; closed when nothing more will be written
}

// NewTCPLink makes a link of a connection. events may be called until the link is done and its writer has ended.
func NewTCPLink(conn net.Conn, opts *LinkOptions, events LinkEvents) *TCPLink {
	l := &TCPLink{conn: conn, events: events, opts: opts}
	l.outbox.opts = opts
	if tcp, ok := conn.(*net.TCPConn); ok {
		l.try = newTryWriter(tcp)
	}
	return l
}

// PeerDNSNames is PeerDNSNames of the link's connection.
func (l *TCPLink) PeerDNSNames() []string { return PeerDNSNames(l.conn) }

// OverTLS tells whether nothing can be written before a handshake ends.
func (l *TCPLink) OverTLS() bool {
	_, ok := l.conn.(*tls.Conn)
	return ok
}

// PeerEnded tells whether the peer has closed its side already, though it isn't read now. False also where that can't be known.
func (l *TCPLink) PeerEnded() (ended bool) {
	if c, ok := rawConn(l.conn).(*net.TCPConn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			if raw.Control(func(fd uintptr) { ended = peerEnded(int(fd)) }) != nil {
				return true // this side has closed it
			}
		}
	}
	return ended
}

// SendPong answers a Ping with what AppendPong makes of it, and allocates nothing.
func (l *TCPLink) SendPong(replyTo uint64, sentAt *timestamppb.Timestamp, now time.Time, interval time.Duration) SendResult {
	return sendPong(l, replyTo, sentAt, now, interval)
}

// Send implements Link.
func (l *TCPLink) Send(e *iopv1.Envelope, tag string) SendResult { return send(l, e, tag, ifRoom) }

// SendControl implements Link.
func (l *TCPLink) SendControl(e *iopv1.Envelope) SendResult { return send(l, e, "", always) }

// SendFrame implements Link.
func (l *TCPLink) SendFrame(frame []byte) SendResult { return sendFrame(l, frame) }

func (l *TCPLink) traffic() *Traffic { return l.opts.Traffic }

func (l *TCPLink) hand(frame []byte, tag string, place place) SendResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended:
		return Closed
	case l.try == nil || l.writing || tag != "" && !l.try.hasRoom():
		return l.queueLocked(frame, tag, place)
	}
	if tag != "" {
		l.events.FrameBegun(tag)
	}
	written, err := l.try.write(frame)
	switch {
	case err != nil:
		l.endLocked()
		l.cut()
		if tag == "" {
			return Closed
		}
	case written == len(frame):
	case written > 0 || tag != "": // nothing waits, so that the rest has a place; and it can't be withdrawn
		l.queueLocked(frame[written:], "", place)
	default:
		return l.queueLocked(frame, "", place)
	}
	return Sent
}

// queueLocked copies a frame into the queue, if it has a place there, and sees to it that somebody writes it.
func (l *TCPLink) queueLocked(frame []byte, tag string, place place) SendResult {
	if place == ifRoom && !l.outbox.fits(len(frame)) {
		return Full
	}
	l.outbox.push(outFrame{payload: append([]byte(nil), frame...), tag: tag})
	l.writeLocked()
	return Queued
}

// Withdraw implements Link.
func (l *TCPLink) Withdraw(tag string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outbox.withdraw(tag)
}

// Finish implements Link. What waits has WriteTimeout to leave, all of it together.
func (l *TCPLink) Finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.finishLocked()
	}
}

// finishWith finishes after one last frame, which is taken even where the queue is full.
func (l *TCPLink) finishWith(last []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.outbox.push(outFrame{payload: last})
	l.finishLocked()
}

func (l *TCPLink) finishLocked() {
	l.endLocked()
	l.finishBy = time.Now().Add(l.opts.WriteTimeout)
	l.written = make(chan struct{})
	// The owner's read deadline ends here. shutWrite sets the one that counts; this is for a shutWrite that never comes.
	_ = l.conn.SetReadDeadline(l.finishBy.Add(lingerTime))
	switch {
	case l.writing: // the writer sees it through; the write it is in ends sooner than finishBy
	case l.try != nil && len(l.outbox.waiting) == 0:
		l.shutWrite()
		close(l.written)
	default: // TLS says its goodbye in a write that may block
		l.writeLocked()
	}
}

// Abort implements Link.
func (l *TCPLink) Abort() {
	l.mu.Lock()
	l.endLocked()
	l.aborted = true // what waits stays, so that Withdraw can still tell what was never begun
	l.outbox.abandon()
	l.mu.Unlock()
	l.cut()
}

// Reset is Abort, and tells a peer over TCP by RST: what neither kernel has passed on yet is gone.
func (l *TCPLink) Reset() {
	if tcp, ok := rawConn(l.conn).(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	l.Abort()
}

// cut closes the connection at once: tls.Conn.Close would wait for its goodbye to be written.
func (l *TCPLink) cut() {
	_ = rawConn(l.conn).Close()
	if l.onCut != nil {
		l.onCut()
	}
}

// ReadBy sets the deadline of the reader's next reads; the zero time is none. A link that is done keeps its own.
func (l *TCPLink) ReadBy(t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		_ = l.conn.SetReadDeadline(t)
	}
}

// Drain is the reader's last act, whatever made it stop. After a Finish it discards what still comes until the peer
// ends, or until lingerTime after the last byte was written; else it aborts. Then the connection is closed.
func (l *TCPLink) Drain() {
	l.mu.Lock()
	written := l.written
	l.mu.Unlock()
	if written != nil {
		l.discard()
		<-written // the peer may have ended before it was told all; the writer is bounded by finishBy
	}
	l.Abort()
}

func (l *TCPLink) discard() {
	b := buffers.Get().(*[]byte)
	defer putBuffer(b)
	for {
		if _, err := l.conn.Read((*b)[:cap(*b)]); err != nil {
			return
		}
	}
}

// rawConn is the connection below TLS.
func rawConn(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}
