package wire

// FrameTaker takes the frames that a Poller reads of one connection. It is called from the poller's one goroutine, so that
// whatever it does holds up all other connections: it must not block.
type FrameTaker interface {
	LinkEvents
	// MaxFrame is the limit in force for the next frame.
	MaxFrame() int
	// TakeFrame takes one frame, valid until it returns, or the fault that ends the reading: ErrFrameLength. It isn't called
	// once the link takes nothing more.
	TakeFrame(frame []byte, err error) Next
	// LinkClosed is the last call: the socket is closed.
	LinkClosed()
}

// Next is what is to be done after a frame.
type Next int

const (
	// ReadOn reads the next frame.
	ReadOn Next = iota
	// Hold reads nothing, not even an end, until Resume is called, once for each Hold. It may be called before Hold is returned.
	Hold
	// Halt reads no more frames. The link's Finish or Abort, which is to come, ends the connection.
	Halt
)
