package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	iopv1 "iop/proto/iop/v1"
)

// Codes of the close frame, for those who end a connection.
const (
	CloseGoingAway = websocket.CloseGoingAway
	CloseProtocol  = websocket.CloseProtocolError
	ClosePolicy    = websocket.ClosePolicyViolation
)

// RefusedMessage is what Next says of a message that the Client wire doesn't take.
type RefusedMessage struct {
	CloseCode int // what to end the connection with
	reason    string
}

func (r *RefusedMessage) Error() string { return r.reason }

var (
	ErrTextMessage    = &RefusedMessage{websocket.CloseUnsupportedData, "a text message where only binary ones are taken"}
	ErrMessageTooLong = &RefusedMessage{websocket.CloseMessageTooBig, "a message over the limit"}
	ErrWebSocketRules = &RefusedMessage{CloseProtocol, "a frame against the rules of WebSocket"}
)

// PeerClosed is what Next returns when the peer ended the connection. Code is its close frame's; 1006: it sent none.
type PeerClosed struct{ Code int }

func (p *PeerClosed) Error() string { return "closed by the peer with code " + strconv.Itoa(p.Code) }

// WebSocketConn is a connection of the Client wire: one binary message is one Envelope. As a Link it is a TCPLink with
// other frames. One goroutine reads; it sets its deadlines through ReadBy, and ends with Drain.
//
// gorilla/websocket shakes hands and reads. It doesn't write: its writer waits for the socket and can't go on
// after a timeout, and a Link does neither.
type WebSocketConn struct {
	link    *TCPLink
	masks   bool // the dialling side does
	onAlive func()

	// The reader's.
	ws     *websocket.Conn
	socket *mutedConn
	large  *[]byte
	small  [512]byte
}

// readBufferBytes is gorilla's own read buffer; larger reads pass it by.
const readBufferBytes = 256

func newWebSocketConn(ws *websocket.Conn, socket *mutedConn, opts *LinkOptions, masks bool) *WebSocketConn {
	socket.muted = true
	c := &WebSocketConn{link: NewTCPLink(socket.Conn, opts, nil), masks: masks, ws: ws, socket: socket}
	c.SetMax(MaxHelloBytes)
	ws.SetPingHandler(c.answerPing)
	ws.SetPongHandler(func(string) error { c.alive(); return nil })
	ws.SetCloseHandler(func(code int, _ string) error { c.FinishWith(code); return nil })
	return c
}

// Notify says who is told what happens to the connection. It comes before anything else is done with it. onAlive
// hears of each WebSocket ping and pong, from within Next; it may be nil.
func (c *WebSocketConn) Notify(events LinkEvents, onAlive func()) {
	c.link.events, c.onAlive = events, onAlive
}

// SetMax is the limit of a message in bytes, for those to come; MaxHelloBytes at first.
func (c *WebSocketConn) SetMax(max int) { c.ws.SetReadLimit(int64(max)) }

// Next gives the next message, valid until the next call. Errors are final: *RefusedMessage, *PeerClosed,
// os.ErrDeadlineExceeded for ReadBy's deadline, and those of the connection. A message too long is refused by its
// length, and none of it is kept.
func (c *WebSocketConn) Next() ([]byte, error) {
	c.giveBack()
	kind, message, err := c.ws.NextReader()
	if err != nil {
		return nil, c.readError(err)
	}
	if kind != websocket.BinaryMessage {
		return nil, ErrTextMessage
	}
	b := c.small[:0]
	for {
		if len(b) == cap(b) {
			b = c.grow(b)
		}
		n, err := message.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case err == io.EOF && n == 0: // the message's end; with bytes it is the connection's, which the next read says
			return b, nil
		case err != nil && err != io.EOF:
			return nil, c.readError(err)
		}
	}
}

// grow borrows a buffer once its own is full, and then makes that one larger as the bytes come.
func (c *WebSocketConn) grow(b []byte) []byte {
	if c.large == nil {
		c.large = buffers.Get().(*[]byte)
		b = append((*c.large)[:0], b...)
	}
	*c.large = slices.Grow(b, 1)
	return *c.large
}

func (c *WebSocketConn) giveBack() {
	if c.large != nil {
		putBuffer(c.large)
		c.large = nil
	}
}

// readError makes gorilla's errors ours. A rule that was broken shows in the close frame that it tried to send.
func (c *WebSocketConn) readError(err error) error {
	var closed *websocket.CloseError
	var network net.Error
	switch {
	case errors.Is(err, websocket.ErrReadLimit):
		return ErrMessageTooLong
	case errors.As(err, &closed):
		return &PeerClosed{closed.Code}
	case c.socket.spoke:
		return ErrWebSocketRules
	case errors.As(err, &network) && network.Timeout(): // gorilla hides what it wraps
		return os.ErrDeadlineExceeded
	default:
		return err
	}
}

func (c *WebSocketConn) answerPing(data string) error {
	c.alive()
	if r := c.write(opPong, []byte(data), "", ifRoom); r == Full {
		c.Abort() // it pings and doesn't read
	}
	return nil
}

func (c *WebSocketConn) alive() {
	if c.onAlive != nil {
		c.onAlive()
	}
}

// Send implements Link.
func (c *WebSocketConn) Send(e *iopv1.Envelope, tag string) SendResult {
	return send(c, e, tag, ifRoom)
}

// SendControl implements Link.
func (c *WebSocketConn) SendControl(e *iopv1.Envelope) SendResult { return send(c, e, "", always) }

// SendFrame implements Link. The frame comes with the header of the Edge wire, which is left out here.
func (c *WebSocketConn) SendFrame(frame []byte) SendResult { return sendFrame(c, frame) }

func (c *WebSocketConn) traffic() *Traffic { return c.link.opts.Traffic }

func (c *WebSocketConn) hand(frame []byte, tag string, place place) SendResult {
	return c.write(opBinary, frame[HeaderBytes:], tag, place)
}

func (c *WebSocketConn) write(opcode byte, payload []byte, tag string, place place) SendResult {
	b := buffers.Get().(*[]byte)
	defer putBuffer(b)
	*b = append((*b)[:webSocketHeaderBytes], payload...)
	return c.link.hand(webSocketFrame(*b, opcode, c.masks), tag, place)
}

// Withdraw implements Link.
func (c *WebSocketConn) Withdraw(tag string) bool { return c.link.Withdraw(tag) }

// Finish implements Link.
func (c *WebSocketConn) Finish() { c.FinishWith(websocket.CloseNormalClosure) }

// FinishWith is Finish with this code in the close frame, which has a place even in a full queue.
func (c *WebSocketConn) FinishWith(code int) {
	b := make([]byte, webSocketHeaderBytes, webSocketHeaderBytes+2)
	if code != websocket.CloseNoStatusReceived { // never sent: it says that a close frame had no code
		b = binary.BigEndian.AppendUint16(b, uint16(code))
	}
	c.link.finishWith(webSocketFrame(b, opClose, c.masks))
}

// Abort implements Link.
func (c *WebSocketConn) Abort() { c.link.Abort() }

// Done implements Link.
func (c *WebSocketConn) Done() <-chan struct{} { return c.link.Done() }

// Ended is TCPLink's.
func (c *WebSocketConn) Ended() bool { return c.link.Ended() }

// ReadBy is TCPLink's.
func (c *WebSocketConn) ReadBy(t time.Time) { c.link.ReadBy(t) }

// Drain is TCPLink's.
func (c *WebSocketConn) Drain() { c.link.Drain() }

// mutedConn is the connection as gorilla sees it. After the handshake it only reads there: what it would say by itself
// are close frames, which are for the connection's owner to say, behind what waits.
type mutedConn struct {
	net.Conn
	muted bool
	spoke bool // it tried to
}

func (m *mutedConn) Write(b []byte) (int, error) {
	if !m.muted {
		return m.Conn.Write(b)
	}
	m.spoke = true
	return len(b), nil
}

func (m *mutedConn) SetWriteDeadline(t time.Time) error {
	if m.muted {
		return nil
	}
	return m.Conn.SetWriteDeadline(t)
}

// noWriteBuffers keeps gorilla from making a write buffer for each connection; it takes none from here.
var noWriteBuffers sync.Pool

// upgrade answers an upgrade request. When it fails the request was answered.
func upgrade(w http.ResponseWriter, r *http.Request, timeout time.Duration, opts *LinkOptions) (*WebSocketConn, error) {
	u := websocket.Upgrader{
		HandshakeTimeout: timeout,
		ReadBufferSize:   readBufferBytes,
		WriteBufferPool:  &noWriteBuffers,
		CheckOrigin:      func(*http.Request) bool { return true }, // checked already
	}
	h := &hijacker{ResponseWriter: w}
	ws, err := u.Upgrade(h, r, nil)
	if err != nil {
		return nil, err
	}
	return newWebSocketConn(ws, h.socket, opts, false), nil
}

// hijacker gives gorilla the connection behind a mutedConn.
type hijacker struct {
	http.ResponseWriter
	socket *mutedConn
}

func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.socket = &mutedConn{Conn: conn}
	return h.socket, buffered, nil
}
