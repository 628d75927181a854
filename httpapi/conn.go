package httpapi

import (
	"bytes"
	"fmt"
	"net"
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
	return boundedConn{c}, nil
}

// boundedConn writes in pieces under a deadline each. It is also where net/http's own refusals, which reach no
// handler and are plain text, become problems.
type boundedConn struct{ net.Conn }

func (c boundedConn) Write(p []byte) (int, error) {
	if isOwnRefusal(p) {
		if _, err := c.Conn.Write(headProblem()); err != nil {
			return 0, err
		}
		return len(p), nil
	}
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
func (c boundedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

var (
	statusLine    = []byte("HTTP/1.1 ")
	expectFailed  = []byte("HTTP/1.1 417 ") // an Expect that net/http doesn't know; no handler here answers so
	plainRefusal  = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
	longestReason = 128
)

// isOwnRefusal knows net/http's answer to a head that it can't read: one write of a status line, exactly these two
// headers and a text. No handler here answers so, and none writes a line break inside a JSON string.
func isOwnRefusal(p []byte) bool {
	if !bytes.HasPrefix(p, statusLine) {
		return false
	}
	if bytes.HasPrefix(p, expectFailed) {
		return true
	}
	end := bytes.IndexByte(p[:min(len(p), longestReason)], '\r')
	return end > 0 && bytes.HasPrefix(p[end:], plainRefusal)
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
