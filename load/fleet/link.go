package fleet

import (
	"bytes"
	"net"
	"time"

	"iop/wire"
)

// What may wait to be written by one Edge: its answers to the 64 requests that may be open, and some more.
var linkOptions = wire.LinkOptions{MaxQueueFrames: 256, MaxQueueBytes: 1 << 20, WriteTimeout: 10 * time.Second}

// reader is a connection's one goroutine. It has a small buffer of its own and calls nothing that is deep, so that its
// stack stays at the 2 KiB that it begins with.
type reader struct {
	e    *edge
	conn net.Conn
	link *wire.TCPLink
	buf  [256]byte
}

// connected makes a link of a new connection, tells the shard and starts the reader.
func (f *Fleet) connected(e *edge, conn net.Conn) {
	r := &reader{e: e, conn: conn, link: wire.NewTCPLink(conn, &linkOptions, linkEvents{})}
	f.stats.links.Add(1)
	e.shard.inbox <- message{e: e, link: r.link, dialled: true}
	f.readers.Go(r.run)
}

func (r *reader) run() {
	for {
		if pause := time.Duration(r.e.pause.Load()); pause > 0 {
			r.wait(pause)
		}
		n, err := r.conn.Read(r.buf[:])
		if n > 0 {
			r.e.shard.inbox <- message{e: r.e, link: r.link, data: bytes.Clone(r.buf[:n])}
		}
		if err != nil {
			break
		}
	}
	r.link.Drain()
	r.e.shard.f.stats.links.Add(-1)
	r.e.shard.inbox <- message{e: r.e, link: r.link, ended: true}
}

// wait is for an Edge that reads slowly; the end of its link ends it.
func (r *reader) wait(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.link.Done():
	}
}

// linkEvents: no frame here is tagged, and a peer that takes nothing shows as the end of the link.
type linkEvents struct{}

func (linkEvents) FrameBegun(string) {}
func (linkEvents) WriteStalled()     {}
