package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/gorilla/websocket"
)

// DialOptions say how to dial the Client wire.
type DialOptions struct {
	TLS    *tls.Config // of wss URLs; nil trusts the system's authorities
	Header http.Header // of the upgrade request, beside the handshake's own
	Link   LinkOptions
}

// DialRefused is a server's answer that was no upgrade.
type DialRefused struct{ Status int }

func (d *DialRefused) Error() string {
	return "the server refused the upgrade with status " + strconv.Itoa(d.Status)
}

// dialTimeout bounds a dial whose context doesn't end sooner.
const dialTimeout = 10 * time.Second

// DialClient connects to the Client wire at a ws or wss URL, directly: proxies of the environment aren't heeded. The
// link is the same as the server's: Notify comes first, and one goroutine reads. The context counts until it returns.
func DialClient(ctx context.Context, url string, o DialOptions) (*WebSocketConn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	d := clientDialer{plain: &net.Dialer{}, tls: &tls.Dialer{Config: o.TLS}}
	gorilla := websocket.Dialer{
		NetDialContext:    d.dialPlain,
		NetDialTLSContext: d.dialTLS,
		ReadBufferSize:    readBufferBytes,
		WriteBufferPool:   &noWriteBuffers,
	}
	ws, response, err := gorilla.DialContext(ctx, url, o.Header)
	switch {
	case errors.Is(err, websocket.ErrBadHandshake):
		return nil, &DialRefused{response.StatusCode}
	case err != nil:
		return nil, err
	case response.Header.Get("Sec-Websocket-Extensions") != "":
		// None was offered. gorilla would unpack what comes, and the limit of a message is on what is packed.
		_ = d.socket.Close()
		return nil, &DialRefused{response.StatusCode}
	case !d.keep():
		return nil, ctx.Err()
	}
	return newWebSocketConn(ws, d.socket, &o.Link, true), nil
}

// clientDialer dials for gorilla, and keeps what it dialled.
type clientDialer struct {
	plain  *net.Dialer
	tls    *tls.Dialer
	socket *mutedConn
	keep   func() bool // false when the context has ended, and the connection with it
}

func (d *clientDialer) dialPlain(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.plain.DialContext(ctx, network, address)
	return d.dialled(ctx, conn, err)
}

func (d *clientDialer) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.tls.DialContext(ctx, network, address)
	return d.dialled(ctx, conn, err)
}

func (d *clientDialer) dialled(ctx context.Context, conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	d.keep = context.AfterFunc(ctx, func() { _ = conn.Close() }) // gorilla heeds a deadline, but no cancellation
	d.socket = &mutedConn{Conn: conn}
	return d.socket, nil
}
