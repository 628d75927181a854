package actors

import "sync/atomic"

// credit bounds what a peer has under way inside the Control Plane: its reader takes one for each frame, and whoever is
// the last to handle what came of it gives it back. When all are taken the reader reads no more, and so the peer waits.
type credit struct {
	taken  atomic.Int32
	reader resumer
}

// resumer is a reader that reads no more until it is told to: once for each time that it stopped. It may be told before it
// has stopped, and never blocks who tells it.
type resumer interface{ Resume() }

// creditFrames is how many frames of one peer are under way at most.
const creditFrames = 32

// take is the reader's, for a frame that it hands on; true when it was the last, and the reader is to stop.
func (c *credit) take() (stop bool) { return c.taken.Add(1) == creditFrames }

// giveBack is for whoever has handled the frame. What came of no frame has no credit.
func (c *credit) giveBack() {
	if c != nil && c.taken.Add(-1) == creditFrames-1 {
		c.reader.Resume()
	}
}

// pause is where a goroutine that reads waits to be resumed. One stops at a time, so that one place is enough.
type pause chan struct{}

func newPause() pause { return make(pause, 1) }

func (p pause) Resume() { p <- struct{}{} }

// wait is false when done was closed first.
func (p pause) wait(done <-chan struct{}) bool {
	select {
	case <-p:
		return true
	case <-done:
		return false
	}
}
