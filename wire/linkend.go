package wire

import "sync"

// linkEnd is the lock of a link, and whether it takes nothing more.
type linkEnd struct {
	mu    sync.Mutex
	ended bool
	done  chan struct{} // made when somebody waits for the end: an idle link has none
}

// Done is closed once the link takes nothing more.
func (l *linkEnd) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.ended {
			close(l.done)
		}
	}
	return l.done
}

// Ended tells whether the link takes nothing more. It is Done for those who only look.
func (l *linkEnd) Ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

func (l *linkEnd) endLocked() {
	if l.ended {
		return
	}
	l.ended = true
	if l.done != nil {
		close(l.done)
	}
}
