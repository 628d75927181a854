package httpapi

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"iop/wire"
)

const (
	// writeTime is how long writePiece bytes may take to leave. It cuts a peer that doesn't read, whatever is being
	// written, and leaves a live stream alone as long as its reader takes something.
	writeTime  = 10 * time.Second
	writePiece = 64 << 10
)

// boundedListener gives connections on which no write stands still for ever.
type boundedListener struct{ net.Listener }

func (l boundedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &boundedConn{Conn: c}, nil
}

// boundedConn writes in pieces under a deadline each. It is also where net/http's own refusals, which reach no
// handler and are plain text or nothing, become problems. They are known by their moment: what is written while no
// request is being answered is one. Their bytes say nothing, for a part of an answer may begin with the same ones.
type boundedConn struct {
	net.Conn
	answering bool // from a handler's beginning until its answer is out; one goroutine serves a connection, and this is its own
}

type connKey struct{}

// rememberConn lets the handlers of a connection find it.
func rememberConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// beginAnswer tells a request's connection that a handler answers from now on.
func beginAnswer(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*boundedConn); ok {
		c.answering = true
	}
}

// endAnswer hears of a connection's states: it is idle once an answer is out and before the next request is read.
func endAnswer(c net.Conn, state http.ConnState) {
	if state == http.StateIdle {
		c.(*boundedConn).answering = false
	}
}

func (c *boundedConn) Write(p []byte) (int, error) {
	if c.answering {
		return c.write(p)
	}
	if _, err := c.write(headProblem()); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c *boundedConn) write(p []byte) (int, error) {
	written := 0
	for {
		piece := p[written:min(len(p), written+writePiece)]
		if err := c.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(piece)
		written += n
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// CloseWrite lets net/http end its half and wait a moment, so that a reset doesn't eat the last answer.
func (c *boundedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// headProblem is the whole answer to a head that can't be read; the connection ends with it.
func headProblem() []byte {
	id := newRequestID()
	body := appendProblem(nil, &problem{Fault: &wire.Fault{Code: wire.InvalidRequest,
		Message: fmt.Sprintf("the request's head can't be read, did not arrive in time, or is over %d KiB", maxHeadBytes>>10)}}, id)
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 400 Bad Request\r\nContent-Type: %s\r\nX-Request-Id: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n",
		problemType, id, len(body))
	return append([]byte(b.String()), body...)
}
