package wire

import (
	"bufio"
	"context"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// clientWire is a Client wire that is served.
type clientWire struct {
	*ClientServer
	address string
	url     string
}

func serveClients(t testing.TB, o ClientServerOptions, config *tls.Config) *clientWire {
	t.Helper()
	if o.HandshakeTimeout == 0 {
		o.HandshakeTimeout = 20 * time.Second
	}
	s, err := NewClientServer(o)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &clientWire{s, ln.Addr().String(), "ws://" + ln.Addr().String() + ClientPath}
	if config != nil {
		ln = tls.NewListener(ln, config)
		w.url = "wss://" + w.address + ClientPath
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve ended with %v", err)
		}
	})
	return w
}

// echo accepts each Client and sends back what it says, until it ends.
func echo(c *WebSocketConn) {
	c.Notify(newLinkLog(), nil)
	go func() {
		defer c.Drain()
		for {
			message, err := c.Next()
			if err != nil {
				return
			}
			c.SendFrame(append(make([]byte, HeaderBytes), message...))
		}
	}()
}

// ask sends a request as it is written, and gives the answer's status and head.
func (w *clientWire) ask(t *testing.T, request string) *http.Response {
	t.Helper()
	c, err := net.Dial("tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

const upgradeHead = `Host: console.test:8443
Connection: Upgrade
Upgrade: websocket
Sec-WebSocket-Version: 13
Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==
`

func TestClientServerAnswers(t *testing.T) {
	w := serveClients(t, ClientServerOptions{
		MaxClients: 100, Link: roomy, Accept: echo, AllowedOrigins: []string{"https://ops.test", "http://lab.test:81"},
	}, nil)
	upgradeWith := func(headers string) string { return "GET /client HTTP/1.1\n" + upgradeHead + headers + "\n" }
	path := func(p string) string { return "GET " + p + " HTTP/1.1\n" + upgradeHead + "\n" }
	tests := []struct {
		name, request string
		status        int
	}{
		{"the path", path("/client"), 101},
		{"with a query", path("/client?a=b"), 101},
		{"as a whole URL", path("http://console.test:8443/client"), 101},
		{"the root", path("/"), 404},
		{"a longer path", path("/clients"), 404},
		{"a slash behind", path("/client/"), 404},
		{"two slashes before", path("//client"), 404},
		{"a dot", path("/./client"), 404},
		{"a detour", path("/x/../client"), 404},
		{"encoded", path("/%63lient"), 404},
		{"encoded slash", path("/client%2F"), 404},
		{"another case", path("/Client"), 404},
		{"POST", strings.Replace(path("/client"), "GET", "POST", 1), 405},
		{"HEAD elsewhere", strings.Replace(path("/"), "GET", "HEAD", 1), 404},
		{"no upgrade", "GET /client HTTP/1.1\nHost: x\n\n", 400},
		{"no key", strings.Replace(path("/client"), "Sec-WebSocket-Key", "X", 1), 400},
		{"another version", strings.Replace(path("/client"), "13", "8", 1), 400},
		{"no Host", strings.Replace(path("/client"), "Host: console.test:8443\n", "", 1), 400},
		{"a head too large", upgradeWith("X: " + strings.Repeat("x", 40_000) + "\n"), 431},
		{"its own origin", upgradeWith("Origin: http://console.test:8443\n"), 101},
		{"its own origin, another scheme", upgradeWith("Origin: https://console.test:8443\n"), 101},
		{"its own host, another port", upgradeWith("Origin: http://console.test\n"), 403},
		{"an allowed origin", upgradeWith("Origin: https://ops.test\n"), 101},
		{"an allowed origin, another scheme", upgradeWith("Origin: http://ops.test\n"), 403},
		{"a foreign origin", upgradeWith("Origin: http://evil.test\n"), 403},
		{"null", upgradeWith("Origin: null\n"), 403},
		{"an empty origin", upgradeWith("Origin:\n"), 403},
		{"two origins", upgradeWith("Origin: http://console.test:8443\nOrigin: http://console.test:8443\n"), 403},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := w.ask(t, test.request)
			if got.StatusCode != test.status {
				t.Errorf("status %d, want %d", got.StatusCode, test.status)
			}
			if test.status == 405 && got.Header.Get("Allow") != "GET" {
				t.Errorf("Allow is %q", got.Header.Get("Allow"))
			}
		})
	}
}

func TestClientServerRefusesAnOriginThatIsNone(t *testing.T) {
	for _, bad := range []string{"*", "null", "", "ops.test", "https://", "https://ops.test/", "https://ops.test/path", "https://u@ops.test", "https://:443", "http://a.test, http://b.test"} {
		if _, err := NewClientServer(ClientServerOptions{AllowedOrigins: []string{bad}}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", bad)) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestOrigins(t *testing.T) {
	o, err := newOrigins([]string{"HTTPS://Ops.test:443", "http://[::1]:3000"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		origin, host string
		want         bool
	}{
		{"https://ops.test", "x", true},
		{"https://ops.test:443", "x", true},
		{"https://ops.test:444", "x", false},
		{"http://[::1]:3000", "x", true},
		{"http://[::1]", "[::1]", true},
		{"http://[::1]", "[::1]:80", true},
		{"http://[::1]", "[::1]:81", false},
		{"https://a.test", "a.test:443", true},
		{"https://a.test", "A.TEST", true},
		{"http://a.test", "a.test:443", false},
		{"http://a.test:80", "a.test", true},
		{"http://a.test.evil.test", "a.test", false},
		{"http://a.test@evil.test", "a.test", false},
		{"http://evil.test#a.test", "a.test", false},
		{"chrome-extension://abc", "a.test", false},
		{"file://", "", false},
		{"http://", "", false},
		{"null", "null", false},
		{"%zz", "%zz", false},
	} {
		if got := o.allow([]string{test.origin}, test.host); got != test.want {
			t.Errorf("Origin %s at Host %s: %v", test.origin, test.host, got)
		}
	}
	if !o.allow(nil, "x") {
		t.Error("what is no browser is refused")
	}
}

func dialEcho(t *testing.T, w *clientWire, o DialOptions) *WebSocketConn {
	t.Helper()
	o.Link = roomy
	c, err := DialClient(context.Background(), w.url, o)
	if err != nil {
		t.Fatal(err)
	}
	c.Notify(newLinkLog(), nil)
	t.Cleanup(c.Abort)
	return c
}

// dialAgain dials until it is let in.
func dialAgain(t *testing.T, w *clientWire) *WebSocketConn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		c, err := DialClient(ctx, w.url, DialOptions{Link: roomy})
		if err == nil {
			c.Notify(newLinkLog(), nil)
			t.Cleanup(c.Abort)
			return c
		}
		if ctx.Err() != nil {
			t.Fatalf("it isn't let in: %v", err)
		}
	}
}

// says sends a message and wants it back.
func says(t *testing.T, c *WebSocketConn, message string) {
	t.Helper()
	c.SendFrame([]byte(frameOf(message)))
	if got, err := c.Next(); err != nil || string(got) != message {
		t.Errorf("%d bytes came back as %d, %v", len(message), len(got), err)
	}
}

func TestClientServerWhenFull(t *testing.T) {
	w := serveClients(t, ClientServerOptions{MaxClients: 2, Link: roomy, Accept: echo}, nil)
	one, two := dialEcho(t, w, DialOptions{}), dialEcho(t, w, DialOptions{})
	var refused *DialRefused
	if _, err := DialClient(context.Background(), w.url, DialOptions{}); !errors.As(err, &refused) || refused.Status != 503 {
		t.Fatalf("the third: %v", err)
	}
	if got := w.ask(t, "GET /client HTTP/1.1\n"+upgradeHead+"\n"); got.StatusCode != 503 || got.Header.Get("Retry-After") == "" {
		t.Errorf("the fourth: %d, Retry-After %q", got.StatusCode, got.Header.Get("Retry-After"))
	}
	says(t, one, "still here")
	two.Finish()
	two.Drain()
	says(t, dialAgain(t, w), "there is room again") // once the server has seen the end
}

func TestClientServerClose(t *testing.T) {
	w := serveClients(t, ClientServerOptions{MaxClients: 2, Link: roomy, Accept: echo}, nil)
	c := dialEcho(t, w, DialOptions{})
	waiting, err := net.Dial("tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if late, err := net.Dial("tcp", w.address); err == nil {
		late.Close()
		t.Error("it still listens")
	}
	if _, err := waiting.Read(make([]byte, 1)); err == nil {
		t.Error("a handshake goes on")
	}
	says(t, c, "upgraded ones go on")
}

func TestClientServerBoundsTheHandshake(t *testing.T) {
	w := serveClients(t, ClientServerOptions{MaxClients: 2, Link: roomy, Accept: echo, HandshakeTimeout: 50 * time.Millisecond}, nil)
	for _, sent := range []string{"", "GET /cl", "GET /client HTTP/1.1\r\nHost: x\r\nX: "} {
		c, err := net.Dial("tcp", w.address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, sent)
		_, _ = io.Copy(io.Discard, c) // it ends
		c.Close()
	}
	c := dialAgain(t, w) // a busy machine may need longer than the bound
	c.ReadBy(time.Now().Add(100 * time.Millisecond))
	if _, err := c.Next(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the bound holds beyond the handshake: %v", err)
	}
}

func TestClientServerOverTLS(t *testing.T) {
	w := serveClients(t, ClientServerOptions{MaxClients: 2, Link: roomy, Accept: echo}, testTLS()[0])
	c := dialEcho(t, w, DialOptions{TLS: testTLS()[1]})
	says(t, c, "hello")
	says(t, c, strings.Repeat("m", 60_000))
	c.Finish()
	c.Drain()
	if _, err := DialClient(context.Background(), w.url, DialOptions{TLS: &tls.Config{ServerName: "server.test"}}); err == nil {
		t.Error("a server that nobody vouches for is trusted")
	}
}

func TestDialClientHeedsItsContext(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") // accepts nothing, answers nothing
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		if c, err := ln.Accept(); err == nil {
			_, _ = c.Read(make([]byte, 1))
			cancel()
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	if _, err := DialClient(ctx, "ws://"+ln.Addr().String()+"/client", DialOptions{}); err == nil {
		t.Error("connected to a server that says nothing")
	}
	for _, bad := range []string{"http://localhost/client", "ws://u:p@localhost/client", ":"} {
		if _, err := DialClient(context.Background(), bad, DialOptions{}); err == nil {
			t.Errorf("%s is dialled", bad)
		}
	}
}

// TestDialClientTakesNoExtension: a server that packs unasked could have little unpack to much.
func TestDialClientTakesNoExtension(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Sec-WebSocket-Accept", base64.StdEncoding.EncodeToString(sum[:]))
		if r.URL.Path == "/packs" {
			w.Header().Set("Sec-WebSocket-Extensions", "permessage-deflate; server_no_context_takeover; client_no_context_takeover")
		}
		w.WriteHeader(http.StatusSwitchingProtocols)
	}))
	defer s.Close()
	url := strings.Replace(s.URL, "http", "ws", 1)
	c, err := DialClient(context.Background(), url+"/plain", DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Abort()
	var refused *DialRefused
	if _, err := DialClient(context.Background(), url+"/packs", DialOptions{}); !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}

// oneConn is a listener that has connections for ever.
type oneConn struct{ net.Listener }

func (oneConn) Accept() (net.Conn, error) { return nil, nil }
func (oneConn) Close() error              { return nil }

func TestHandshakeGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &ClientServer{slots: make(chan struct{}, 2)}
		g := &handshakeGate{Listener: oneConn{}, slots: s.slots, closed: make(chan struct{})}
		var accepted atomic.Int32
		ended := make(chan error)
		go func() {
			for {
				if _, err := g.Accept(); err != nil {
					ended <- err
					return
				}
				accepted.Add(1)
			}
		}()
		synctest.Wait()
		if n := accepted.Load(); n != 2 {
			t.Errorf("%d accepted, there is room for 2", n)
		}
		s.connState(nil, http.StateActive)
		s.connState(nil, http.StateHijacked)
		s.connState(nil, http.StateClosed)
		synctest.Wait()
		if n := accepted.Load(); n != 4 {
			t.Errorf("%d accepted after 2 were through", n)
		}
		_ = g.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("then %v", err)
		}
	})
}
