package wire

import (
	"errors"
	"os"
	"time"
)

const (
	// batchBytes is how much the writer takes from the queue at once: enough to make one system call of many small
	// frames, little enough that a frame behind a large one is still waiting and can be withdrawn.
	batchBytes = 64 << 10
	// partBytes is how much is written at once where progress inside a write can't be seen: a peer that takes less
	// than this in WriteTimeout counts as one that stands still. (After a timeout TLS can't go on.)
	partBytes = 4 << 10
)

// writeLocked starts the writer unless it runs.
func (l *TCPLink) writeLocked() {
	if !l.writing {
		l.writing = true
		go l.writeOut()
	}
}

// writeOut writes batches until nothing waits.
func (l *TCPLink) writeOut() {
	for {
		batch := l.nextBatch()
		if len(batch) == 0 {
			return
		}
		if err := l.writeBatch(batch); err != nil {
			l.writeFailed(err)
			return
		}
	}
}

// nextBatch takes from the queue. When that is empty the writer's work is done: the next sender starts another one, or
// the link was finished and this is its end.
func (l *TCPLink) nextBatch() []outFrame {
	l.mu.Lock()
	var batch []outFrame
	if !l.aborted {
		batch = l.outbox.take(batchBytes)
		l.begun(batch)
	}
	rest := len(batch) == 0 && !l.ended
	if rest {
		l.writing = false
		_ = l.conn.SetWriteDeadline(time.Time{})
	}
	written := l.written
	l.mu.Unlock()
	if len(batch) == 0 && written != nil {
		defer close(written)
		defer time.AfterFunc(time.Until(l.finishBy), l.cut).Stop()
		l.shutWrite()
	}
	return batch
}

// begun tells events of each tagged frame, under the lock: whoever then fails to withdraw one finds that they were told.
func (l *TCPLink) begun(batch []outFrame) {
	for _, f := range batch {
		if f.tag != "" {
			l.events.FrameBegun(f.tag)
		}
	}
}

func (l *TCPLink) writeBatch(batch []outFrame) error {
	defer clear(batch) // the queue's array lives on
	if len(batch) == 1 {
		return l.writeAll(batch[0].payload)
	}
	b := buffers.Get().(*[]byte)
	defer putBuffer(b)
	for _, f := range batch {
		*b = append(*b, f.payload...)
	}
	return l.writeAll(*b)
}

// writeAll writes under a deadline that each progress renews: a slow reader is not a stalled one.
func (l *TCPLink) writeAll(b []byte) error {
	for len(b) > 0 {
		l.renewDeadline()
		n, err := l.writeSome(b)
		b = b[n:]
		if err != nil && !l.movedOn(n, err) {
			return err
		}
	}
	return nil
}

func (l *TCPLink) writeSome(b []byte) (int, error) {
	if l.try != nil {
		return l.try.wait(b)
	}
	return l.conn.Write(b[:min(len(b), partBytes)])
}

// movedOn tells whether a write that failed did so only for want of time, having got somewhere.
func (l *TCPLink) movedOn(n int, err error) bool {
	return n > 0 && !l.OverTLS() && errors.Is(err, os.ErrDeadlineExceeded)
}

func (l *TCPLink) renewDeadline() {
	l.mu.Lock()
	defer l.mu.Unlock()
	by := time.Now().Add(l.opts.WriteTimeout)
	if !l.finishBy.IsZero() && l.finishBy.Before(by) {
		by = l.finishBy
	}
	_ = l.conn.SetWriteDeadline(by)
}

// writeFailed is the writer's end; writing stays set, so that nothing writes here again.
func (l *TCPLink) writeFailed(err error) {
	timedOut := errors.Is(err, os.ErrDeadlineExceeded)
	if timedOut && !l.Ended() { // else its owner has ended it already
		l.events.WriteStalled() // before the reader sees the end, which is only its consequence
	}
	if timedOut {
		l.Reset() // else the kernel would keep what the peer doesn't take, for minutes
	} else {
		l.Abort()
	}
	if l.written != nil {
		close(l.written)
	}
}

// shutWrite ends the write half and gives the reader lingerTime to discard what still comes.
func (l *TCPLink) shutWrite() {
	half, ok := l.conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		l.cut()
		return
	}
	_ = l.conn.SetReadDeadline(time.Now().Add(lingerTime))
}
