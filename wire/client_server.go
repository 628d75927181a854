package wire

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// ClientPath is the one path of the Client wire.
const ClientPath = "/client"

const (
	// maxHandshakes bounds the connections that have not been upgraded yet. Further ones wait to be accepted, in the
	// kernel's queue, until one of these is through or its time is up. One costs about 10 KB, so all of them 40 MB.
	maxHandshakes = 4096
	// maxRequestBytes bounds an upgrade request's head.
	maxRequestBytes = 16 << 10
	// retryAfter is the hint, in seconds, for a Client that found the server full.
	retryAfter = "5"
)

// ClientServerOptions say how the Client wire is served.
type ClientServerOptions struct {
	// AllowedOrigins are the browsers' origins (scheme://host[:port]) that may connect beside the server's own.
	AllowedOrigins []string
	// HandshakeTimeout bounds everything before the upgrade, TLS included.
	HandshakeTimeout time.Duration
	// MaxClients bounds the upgraded connections. When there are so many, an upgrade is refused with 503.
	MaxClients int
	Link       LinkOptions
	// Accept owns each upgraded connection from then on. It must return soon, because until then the request's memory is
	// held; the reader needs a goroutine of its own.
	Accept func(*WebSocketConn)
}

// ClientServer serves the Client wire's listener: ClientPath upgrades, and nothing else is there.
type ClientServer struct {
	opts    ClientServerOptions
	origins origins
	http    http.Server
	slots   chan struct{}
	clients atomic.Int64
}

// NewClientServer fails for an allowed origin that is none.
func NewClientServer(o ClientServerOptions) (*ClientServer, error) {
	origins, err := newOrigins(o.AllowedOrigins)
	if err != nil {
		return nil, err
	}
	s := &ClientServer{opts: o, origins: origins, slots: make(chan struct{}, maxHandshakes)}
	s.http = http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: o.HandshakeTimeout,
		ReadTimeout:       o.HandshakeTimeout,
		WriteTimeout:      o.HandshakeTimeout,
		MaxHeaderBytes:    maxRequestBytes,
		ConnState:         s.connState,
		ErrorLog:          log.New(io.Discard, "", 0), // of handshakes that failed, with the peers' addresses
		Protocols:         new(http.Protocols),
	}
	s.http.Protocols.SetHTTP1(true)
	s.http.SetKeepAlivesEnabled(false)
	return s, nil
}

// Serve accepts until Close, and returns nil then. A listener of crypto/tls makes it wss.
func (s *ClientServer) Serve(ln net.Listener) error {
	err := s.http.Serve(&handshakeGate{Listener: ln, slots: s.slots, closed: make(chan struct{})})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close ends the listener and the handshakes. The upgraded connections go on until their owners end them.
func (s *ClientServer) Close() error { return s.http.Close() }

func (s *ClientServer) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.EscapedPath() != ClientPath:
		refuse(w, http.StatusNotFound)
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		refuse(w, http.StatusMethodNotAllowed)
	case !s.origins.allow(r.Header["Origin"], r.Host):
		refuse(w, http.StatusForbidden)
	case s.clients.Add(1) > int64(s.opts.MaxClients):
		s.clients.Add(-1)
		w.Header().Set("Retry-After", retryAfter)
		refuse(w, http.StatusServiceUnavailable)
	default:
		s.upgrade(w, r)
	}
}

// upgrade has a place among the clients, and gives it back when the connection is cut.
func (s *ClientServer) upgrade(w http.ResponseWriter, r *http.Request) {
	leave := sync.OnceFunc(func() { s.clients.Add(-1) })
	c, err := upgrade(w, r, s.opts.HandshakeTimeout, &s.opts.Link)
	if err != nil {
		leave()
		return
	}
	c.link.onCut = leave
	s.opts.Accept(c)
}

func refuse(w http.ResponseWriter, status int) { http.Error(w, http.StatusText(status), status) }

// connState frees the place of a connection whose handshake is over, well or not.
func (s *ClientServer) connState(_ net.Conn, state http.ConnState) {
	if state == http.StateHijacked || state == http.StateClosed {
		<-s.slots
	}
}

// handshakeGate accepts a connection when there is a place for its handshake.
type handshakeGate struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
}

func (g *handshakeGate) Accept() (net.Conn, error) {
	select {
	case g.slots <- struct{}{}:
	case <-g.closed:
		return nil, net.ErrClosed
	}
	c, err := g.Listener.Accept()
	if err != nil {
		<-g.slots
	}
	return c, err
}

// Close is called once, by net/http.
func (g *handshakeGate) Close() error {
	close(g.closed)
	return g.Listener.Close()
}
