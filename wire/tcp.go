package wire

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"

	iopv1 "iop/proto/iop/v1"
)

// batchBytes is how much the writer takes from the queue at once: enough to make one system call of many small
// frames, little enough that a frame behind a large one is still waiting and can be withdrawn.
const batchBytes = 64 << 10

// TCPLink is a Link over TCP, over TLS, or over any net.Conn. On plain TCP an envelope is written by the caller in
// one system call that doesn't block; only what the kernel has no room for waits, and a goroutine writes
// it while there is something to write. TLS and pipes always use that goroutine.
type TCPLink struct {
	conn   net.Conn
	events LinkEvents
	opts   *LinkOptions
	done   chan struct{}
	try    *tryWriter // nil where a write can't be tried without blocking

	mu       sync.Mutex
	outbox   outbox
	writing  bool // the writer goroutine runs
	ended    bool // takes nothing more
	finishBy time.Time
}

// NewTCPLink makes a link of a connection whose reader is the caller's. The reader closes the connection when it ends.
func NewTCPLink(conn net.Conn, opts *LinkOptions, events LinkEvents) *TCPLink {
	l := &TCPLink{conn: conn, events: events, opts: opts, done: make(chan struct{})}
	l.outbox.maxFrames, l.outbox.maxBytes = opts.MaxQueueFrames, opts.MaxQueueBytes
	if tcp, ok := conn.(*net.TCPConn); ok {
		l.try = newTryWriter(tcp)
	}
	return l
}

// Done is closed once the link takes nothing more.
func (l *TCPLink) Done() <-chan struct{} { return l.done }

// Send implements Link. An envelope that can't be encoded (text that isn't UTF-8) is refused as Full.
func (l *TCPLink) Send(e *iopv1.Envelope, tag uint64) SendResult {
	b := buffers.Get().(*[]byte)
	defer putBuffer(b)
	frame, err := AppendFrame((*b)[:0], e)
	*b = frame
	if err != nil {
		return Full
	}
	return l.hand(frame, tag)
}

// SendFrame implements Link.
func (l *TCPLink) SendFrame(frame []byte) SendResult { return l.hand(frame, 0) }

func (l *TCPLink) hand(frame []byte, tag uint64) SendResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return Closed
	}
	written := 0
	if l.try != nil && !l.writing {
		var err error
		if written, err = l.try.write(frame); err != nil {
			l.endLocked()
			_ = l.conn.Close()
			if written == 0 {
				return Closed
			}
			return Sent
		}
		if written == len(frame) {
			return Sent
		}
	}
	rest := outFrame{payload: append([]byte(nil), frame[written:]...)}
	if written == 0 {
		rest.tag = tag
	}
	result := l.outbox.push(rest)
	if result == Queued && !l.writing {
		l.writing = true
		go l.writeOut()
	}
	if written > 0 {
		return Sent
	}
	return result
}

// Withdraw implements Link.
func (l *TCPLink) Withdraw(tag uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outbox.withdraw(tag)
}

// Finish implements Link. What waits has WriteTimeout to leave, all of it together.
func (l *TCPLink) Finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.endLocked()
	l.finishBy = time.Now().Add(l.opts.WriteTimeout)
	if l.writing {
		return // the writer sees it through
	}
	if l.try != nil {
		l.shutWrite()
		return
	}
	l.writing = true
	go l.writeOut() // TLS says its goodbye in a write that may block
}

// Abort implements Link.
func (l *TCPLink) Abort() {
	l.mu.Lock()
	l.endLocked()
	l.outbox.drop()
	l.mu.Unlock()
	_ = l.conn.Close()
}

func (l *TCPLink) endLocked() {
	if !l.ended {
		l.ended = true
		close(l.done)
	}
}

// shutWrite ends the write half and gives the reader LingerTime to discard what still comes.
func (l *TCPLink) shutWrite() {
	half, ok := l.conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		_ = l.conn.Close()
		return
	}
	_ = l.conn.SetReadDeadline(time.Now().Add(LingerTime))
}

// writeOut writes batches until nothing waits.
func (l *TCPLink) writeOut() {
	for {
		l.mu.Lock()
		batch, by := l.outbox.take(batchBytes), l.finishBy
		if len(batch) == 0 {
			l.writing = false
			_ = l.conn.SetWriteDeadline(time.Time{})
			finish := l.ended
			l.mu.Unlock()
			if finish {
				l.shutWrite()
			}
			return
		}
		l.mu.Unlock()
		if err := l.writeBatch(batch, by); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				l.events.WriteStalled()
			}
			l.Abort() // writing stays set: nothing writes here again
			return
		}
	}
}

func (l *TCPLink) writeBatch(batch []outFrame, by time.Time) error {
	var all []byte
	for _, f := range batch {
		if f.tag != 0 {
			l.events.FrameBegun(f.tag)
		}
		if len(batch) == 1 {
			return l.writeAll(f.payload, by)
		}
		all = append(all, f.payload...)
	}
	return l.writeAll(all, by)
}

// writeAll writes under a deadline that each progress renews: a slow reader is not a stalled one.
func (l *TCPLink) writeAll(b []byte, by time.Time) error {
	for len(b) > 0 {
		deadline := time.Now().Add(l.opts.WriteTimeout)
		if !by.IsZero() && by.Before(deadline) {
			deadline = by
		}
		_ = l.conn.SetWriteDeadline(deadline)
		part := b
		if l.try == nil && len(part) > 16<<10 {
			part = part[:16<<10] // after a timeout TLS can't go on, so its progress is made of whole records
		}
		n, err := l.conn.Write(part)
		b = b[n:]
		timedOut := errors.Is(err, os.ErrDeadlineExceeded)
		if err != nil && !(timedOut && n > 0 && l.try != nil && time.Now().Before(orFar(by))) {
			return err
		}
	}
	return nil
}

func orFar(t time.Time) time.Time {
	if t.IsZero() {
		return time.Now().Add(time.Hour)
	}
	return t
}
