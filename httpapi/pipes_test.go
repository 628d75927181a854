package httpapi

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener of connections in memory, so that time can be a test's own. A write to a pipe waits for its reader.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
	case <-p.closed:
		far.Close()
	}
	return near
}

// served runs a test against a Server on pipes, in a bubble whose time is the test's own.
func served(t *testing.T, plane Plane, test func(t *testing.T, s *Server, p *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		s, p := newServer(plane), newPipes()
		done := make(chan error)
		go func() { done <- s.Serve(p) }()
		test(t, s, p)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// send writes a request as it is, in the background: what isn't read on the other side must not hold the test up.
func send(c net.Conn, raw string) {
	go func() { _, _ = io.WriteString(c, raw) }()
}

// answers reads what comes until the connection ends.
func answers(t *testing.T, c net.Conn) []*http.Response {
	t.Helper()
	var all []*http.Response
	r := bufio.NewReader(c)
	for {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			return all
		}
		b, _ := io.ReadAll(res.Body)
		res.Body = io.NopCloser(strings.NewReader(string(b)))
		all = append(all, res)
	}
}
