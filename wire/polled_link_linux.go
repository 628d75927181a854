package wire

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
)

// PolledLink is a Link over plain TCP that a Poller reads. A frame is written by whoever sends it, in one system call that
// doesn't block; what the kernel has no room for waits, and the poller writes it when there is room.
type PolledLink struct {
	poller     *Poller
	taker      FrameTaker
	generation int32 // the poller's

	// The poller goroutine's alone.
	happened uint32 // of events: to be flushed, and whether the peer has ended
	leftover leftover
	taken    uint16 // frames, in this turn
	halted   bool
	due      bool // has a turn in this round

	holds atomic.Int32 // Holds that were not resumed; above 0 nothing is read

	linkEnd
	fd      int       // -1 once it is closed
	aborted bool      // writes nothing more, and is to be closed
	shut    bool      // the write half: everything was written
	eof     bool      // the peer's write half is shut, after ended
	out     *outgoing // nil while nothing waits and the link isn't finished
}

// outgoing is what a link has only while frames wait, or while it is being finished.
type outgoing struct {
	outbox   outbox
	moved    time.Time // when the kernel took something, or the first frame came to wait
	finishBy time.Time // zero: not finished
	timer    *time.Timer
}

type linkState int

const (
	linkOpen      linkState = iota
	linkFinishing           // what the peer says is discarded
	linkOver                // to be closed
	linkClosed
)

// Start has the link read: its frames go to taker from now on.
func (l *PolledLink) Start(taker FrameTaker) {
	l.taker = taker
	if l.poller.add(l) != nil {
		l.close()
		taker.LinkClosed()
	}
}

// Resume takes one Hold back.
func (l *PolledLink) Resume() {
	if l.holds.Add(-1) == 0 { // below 0 it comes before its Hold, and nothing was stopped
		l.poller.ring(l)
	}
}

// PeerDNSNames is nil: plain TCP has no certificates.
func (l *PolledLink) PeerDNSNames() []string { return nil }

// OverTLS is false: the poller reads only plain TCP.
func (l *PolledLink) OverTLS() bool { return false }

// PeerEnded tells whether the peer has closed its side already, though it isn't read now.
func (l *PolledLink) PeerEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fd < 0 || peerEnded(l.fd)
}

// SendPong answers a Ping with what AppendPong makes of it, and allocates nothing.
func (l *PolledLink) SendPong(replyTo uint64, sentAt *timestamppb.Timestamp, now time.Time, interval time.Duration) SendResult {
	return sendPong(l, replyTo, sentAt, now, interval)
}

// Send implements Link.
func (l *PolledLink) Send(e *iopv1.Envelope, tag string) SendResult { return send(l, e, tag, ifRoom) }

// SendControl implements Link.
func (l *PolledLink) SendControl(e *iopv1.Envelope) SendResult { return send(l, e, "", always) }

// SendFrame implements Link.
func (l *PolledLink) SendFrame(frame []byte) SendResult { return sendFrame(l, frame) }

func (l *PolledLink) traffic() *Traffic { return l.poller.opts.Traffic }

// Finish implements Link. What waits has WriteTimeout to leave, all of it together.
func (l *PolledLink) Finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.endLocked()
	if l.out == nil {
		l.waitLocked()
	}
	l.out.finishBy = time.Now().Add(l.poller.opts.WriteTimeout)
	if len(l.out.outbox.waiting) == 0 {
		l.shutLocked()
	}
	l.poller.ring(l) // what it holds unread is to be discarded
}

// shutLocked ends the write half and gives the peer lingerTime to end its own.
func (l *PolledLink) shutLocked() {
	l.shut = true
	if unix.Shutdown(l.fd, unix.SHUT_WR) != nil {
		l.abortLocked()
		return
	}
	l.out.timer.Reset(lingerTime)
	if l.eof {
		l.poller.ring(l)
	}
}

// Abort implements Link.
func (l *PolledLink) Abort() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.abortLocked()
}

// abortLocked leaves what waits, so that Withdraw can still tell what was never begun. The poller closes.
func (l *PolledLink) abortLocked() {
	l.endLocked()
	if !l.aborted {
		l.aborted = true
		if l.out != nil {
			l.out.outbox.abandon()
		}
		l.poller.ring(l)
	}
}

// timeUp looks whether something that has a time has overrun it: a write that stands still, a finish, a linger.
func (l *PolledLink) timeUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out == nil || l.aborted {
		return
	}
	if l.shut {
		l.abortLocked()
		return
	}
	by := l.out.moved.Add(l.poller.opts.WriteTimeout)
	if l.ended && l.out.finishBy.Before(by) {
		by = l.out.finishBy
	}
	if left := time.Until(by); left > 0 {
		l.out.timer.Reset(left)
		return
	}
	if !l.ended { // else its owner has ended it already
		l.taker.WriteStalled()
	}
	// The kernel would keep what the peer doesn't take, for minutes.
	_ = unix.SetsockoptLinger(l.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	l.abortLocked()
}

func (l *PolledLink) state() linkState {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.fd < 0:
		return linkClosed
	case l.aborted || l.shut && l.eof:
		return linkOver
	case l.ended:
		return linkFinishing
	default:
		return linkOpen
	}
}

// readSome is for the poller's goroutine, which alone closes the descriptor.
func (l *PolledLink) readSome(b []byte) (int, error) {
	for {
		n, err := unix.Read(l.fd, b)
		if err != unix.EINTR {
			return n, err
		}
	}
}

// take gives the taker the frames in what is kept and in chunk, which is empty when the link is held; false when no
// more is to be read, for now or at all.
func (l *PolledLink) take(chunk []byte) bool {
	if l.halted || l.holds.Load() > 0 {
		return false
	}
	data := l.leftover.with(chunk)
	for l.state() == linkOpen {
		frame, rest, err := CutFrame(data, l.taker.MaxFrame())
		if frame == nil && err == nil {
			l.leftover.keep(data)
			return true
		}
		if l.taken == framesATurn {
			l.leftover.keep(data)
			l.poller.unread = append(l.poller.unread, l)
			return false
		}
		l.taken++
		data = rest
		switch l.taker.TakeFrame(frame, err) {
		case ReadOn:
		case Hold:
			if l.holds.Add(1) > 0 {
				l.leftover.keep(data)
				return false
			}
		case Halt:
			l.halted = true
			l.leftover.drop()
			return false
		}
	}
	return false
}

// peerEnded: the peer says no more. A link that wasn't finished has nobody to go on for.
func (l *PolledLink) peerEnded() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		l.eof = true
	} else {
		l.abortLocked()
	}
}

// close is the poller's, or Start's when there is no poller for it.
func (l *PolledLink) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked()
	l.aborted = true
	if l.out != nil {
		l.out.outbox.abandon()
		l.out.timer.Stop()
	}
	_ = unix.Close(l.fd)
	l.fd = -1
}
