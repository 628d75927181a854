package wire

import (
	"time"

	"golang.org/x/sys/unix"
)

// How a PolledLink writes, and what waits to be written.

func (l *PolledLink) hand(frame []byte, tag string, place place) SendResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended:
		return Closed
	case place == ifRoom && l.out != nil && !l.out.outbox.fits(len(frame)):
		return Full
	case l.out != nil || tag != "" && !hasRoom(l.fd): // there will be an event when it has room
		l.queueLocked(frame, tag)
		return Queued
	}
	if tag != "" {
		l.taker.FrameBegun(tag)
	}
	written, err := l.writeLocked(frame)
	switch {
	case err != nil:
		l.abortLocked()
		if tag == "" {
			return Closed
		}
	case written == len(frame):
	case written > 0 || tag != "": // it can't be withdrawn
		l.queueLocked(frame[written:], "")
	default:
		l.queueLocked(frame, "")
		return Queued
	}
	return Sent
}

// queueLocked copies a frame into the queue. What is the first to wait begins the time in which it has to move.
func (l *PolledLink) queueLocked(frame []byte, tag string) {
	if l.out == nil {
		l.waitLocked()
	}
	l.out.outbox.push(outFrame{payload: append([]byte(nil), frame...), tag: tag})
}

// writeLocked writes until the kernel has no room: only then will there be an event when it has.
func (l *PolledLink) writeLocked(b []byte) (written int, err error) {
	for written < len(b) {
		n, err := unix.Write(l.fd, b[written:])
		switch err {
		case nil:
			written += n
		case unix.EINTR:
		case unix.EAGAIN:
			return written, nil
		default:
			return written, err
		}
	}
	return written, nil
}

func (l *PolledLink) waitLocked() {
	o := &outgoing{moved: time.Now(), outbox: outbox{opts: l.poller.opts}}
	o.timer = time.AfterFunc(l.poller.opts.WriteTimeout, l.timeUp)
	l.out = o
}

// flush writes what waits, as far as the kernel has room.
func (l *PolledLink) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out == nil || l.aborted || l.shut {
		return
	}
	box := &l.out.outbox
	for len(box.waiting) > 0 {
		first := &box.waiting[0]
		if first.tag != "" {
			if !hasRoom(l.fd) {
				return
			}
			l.taker.FrameBegun(first.tag)
			first.tag = ""
		}
		all := len(first.payload)
		n, err := l.writeLocked(first.payload)
		if n > 0 {
			l.out.moved = time.Now()
			box.advance(n)
		}
		if err != nil {
			l.abortLocked()
		}
		if n < all {
			return
		}
	}
	l.flushedLocked()
}

// flushedLocked: nothing waits any more.
func (l *PolledLink) flushedLocked() {
	if !l.out.finishBy.IsZero() {
		l.shutLocked()
		return
	}
	l.out.timer.Stop()
	l.out = nil
}

// Withdraw implements Link.
func (l *PolledLink) Withdraw(tag string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out == nil || !l.out.outbox.withdraw(tag) {
		return false
	}
	if len(l.out.outbox.waiting) == 0 && !l.ended {
		l.flushedLocked()
	}
	return true
}
