package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// gorillaPair has somebody else's WebSocket at the dialling side.
func gorillaPair(t *testing.T, o *LinkOptions) (*WebSocketConn, *websocket.Conn) {
	t.Helper()
	accepted := make(chan *WebSocketConn, 1)
	w := serveClients(t, ClientServerOptions{MaxClients: 1, Link: *o, Accept: func(c *WebSocketConn) { accepted <- c }}, nil)
	client, _, err := websocket.DefaultDialer.Dial(w.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := <-accepted
	server.Notify(newLinkLog(), nil)
	t.Cleanup(func() { client.Close(); server.Abort() })
	return server, client
}

// TestWebSocketFrames sends each kind of length, both ways: gorilla reads what is framed here.
func TestWebSocketFrames(t *testing.T) {
	near, far := webSocketPair(t, &roomy)
	near.SetMax(2 << 20)
	far.SetMax(2 << 20)
	for _, size := range []int{0, 1, 125, 126, 127, 511, 512, 513, 2000, 65535, 65536, 1 << 20} {
		payload := bytes.Repeat([]byte{byte(size), 1, 2, 3, 4, 5, 6}, size/7+1)[:size]
		frame := []byte(frameOf(string(payload)))
		for _, c := range []struct{ from, to *WebSocketConn }{{near, far}, {far, near}} {
			if got := c.from.SendFrame(frame); got != Sent && got != Queued {
				t.Fatalf("%d bytes: %v", size, got)
			}
			if got, err := c.to.Next(); err != nil || !bytes.Equal(got, payload) {
				t.Fatalf("%d bytes came as %d, %v", size, len(got), err)
			}
		}
		if string(frame[HeaderBytes:]) != string(payload) {
			t.Fatal("masking changed the caller's frame")
		}
	}
}

func TestWebSocketFragments(t *testing.T) {
	server, client := gorillaPair(t, &roomy)
	server.SetMax(100_000)
	want := strings.Repeat("0123456789", 5000)
	go func() {
		w, _ := client.NextWriter(websocket.BinaryMessage) // in fragments, as large as its buffer
		_, _ = io.WriteString(w, want[:30_000])
		_ = client.WriteControl(websocket.PingMessage, []byte("between"), time.Now().Add(time.Minute))
		_, _ = io.WriteString(w, want[30_000:])
		_ = w.Close()
	}()
	if got, err := server.Next(); err != nil || string(got) != want {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

func TestWebSocketPings(t *testing.T) {
	server, client := gorillaPair(t, &roomy)
	var alive atomic.Int32
	server.Notify(newLinkLog(), func() { alive.Add(1) })
	pongs := make(chan string, 2)
	client.SetPongHandler(func(data string) error { pongs <- data; return nil })
	deadline := time.Now().Add(time.Minute)
	_ = client.WriteControl(websocket.PingMessage, []byte("x"), deadline)
	_ = client.WriteControl(websocket.PongMessage, []byte("unasked"), deadline)
	_ = client.WriteControl(websocket.PingMessage, bytes.Repeat([]byte("y"), 125), deadline)
	_ = client.WriteMessage(websocket.BinaryMessage, []byte("a message"))
	if got, err := server.Next(); err != nil || string(got) != "a message" {
		t.Fatalf("got %q, %v", got, err)
	}
	if n := alive.Load(); n != 3 {
		t.Errorf("%d signs of life, want 3", n)
	}
	server.Finish()
	if _, _, err := client.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Errorf("the client saw %v", err)
	}
	if a, b := <-pongs, <-pongs; a != "x" || len(b) != 125 {
		t.Errorf("pongs %q and %q", a, b)
	}
}

// raw frames are as a client would send them: masked, with a key of zeros.
func rawFrame(first, second byte, rest string) string {
	return string([]byte{first, second | maskBit}) + rest
}

const noKey = "\x00\x00\x00\x00"

func TestWebSocketRefusals(t *testing.T) {
	huge := string(binary.BigEndian.AppendUint64(nil, 1<<40))
	negative := string(binary.BigEndian.AppendUint64(nil, 1<<63))
	tests := []struct {
		name string
		sent string
		err  *RefusedMessage
	}{
		{"text", rawFrame(0x81, 2, noKey+"hi"), ErrTextMessage},
		{"text of which little comes", rawFrame(0x81, 100, noKey), ErrTextMessage},
		{"over the limit by one", rawFrame(0x82, 126, "\x03\xe9"+noKey), ErrMessageTooLong},
		{"far over the limit", rawFrame(0x82, 127, huge+noKey), ErrMessageTooLong},
		{"a negative length", rawFrame(0x82, 127, negative+noKey), ErrMessageTooLong},
		{"over the limit in fragments", rawFrame(0x02, 126, "\x03\xe8"+noKey+strings.Repeat("a", 1000)) + rawFrame(0x80, 1, noKey+"b"), ErrMessageTooLong},
		{"not masked", "\x82\x02hi", ErrWebSocketRules},
		{"a reserved bit", rawFrame(0xc2, 2, noKey+"hi"), ErrWebSocketRules},
		{"an unknown opcode", rawFrame(0x83, 2, noKey+"hi"), ErrWebSocketRules},
		{"a continuation of nothing", rawFrame(0x80, 2, noKey+"hi"), ErrWebSocketRules},
		{"a long ping", rawFrame(0x89, 126, "\x00\x7e"+noKey+strings.Repeat("a", 126)), ErrWebSocketRules},
		{"a fragmented ping", rawFrame(0x09, 2, noKey+"hi"), ErrWebSocketRules},
		{"a bad close code", rawFrame(0x88, 2, noKey+"\x03\xed"), ErrWebSocketRules},
		{"a close reason that isn't UTF-8", rawFrame(0x88, 3, noKey+"\x03\xe8\xff"), ErrWebSocketRules},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server, client := gorillaPair(t, &roomy)
			server.SetMax(1000)
			if _, err := io.WriteString(client.NetConn(), rawFrame(0x82, 2, noKey+"ok")+test.sent); err != nil {
				t.Fatal(err)
			}
			if got, err := server.Next(); err != nil || string(got) != "ok" {
				t.Fatalf("got %q, %v", got, err)
			}
			_, err := server.Next()
			var refused *RefusedMessage
			if !errors.As(err, &refused) || refused != test.err {
				t.Fatalf("got %v, want %v", err, test.err)
			}
			if server.large != nil && len(test.sent) < len(server.small) {
				t.Error("a buffer was taken for it")
			}
			server.SendFrame([]byte(frameOf("a last word")))
			server.FinishWith(refused.CloseCode)
			if _, got, err := client.ReadMessage(); err != nil || string(got) != "a last word" {
				t.Errorf("the client got %q, %v", got, err)
			}
			_, _, err = client.ReadMessage()
			var closed *websocket.CloseError
			if !errors.As(err, &closed) || closed.Code != refused.CloseCode || closed.Text != "" {
				t.Errorf("the client saw %v, want code %d without a text", err, refused.CloseCode)
			}
			client.Close()
			server.Drain()
		})
	}
}

func TestWebSocketPeerCloses(t *testing.T) {
	tests := []struct {
		name    string
		payload []byte
		code    int
		echo    int
	}{
		{"with a code", websocket.FormatCloseMessage(4321, "bye"), 4321, 4321},
		{"going away", websocket.FormatCloseMessage(CloseGoingAway, ""), CloseGoingAway, CloseGoingAway},
		{"without a code", nil, websocket.CloseNoStatusReceived, websocket.CloseNoStatusReceived},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server, client := gorillaPair(t, &roomy)
			_ = client.WriteControl(websocket.CloseMessage, test.payload, time.Now().Add(time.Minute))
			_, err := server.Next()
			var closed *PeerClosed
			if !errors.As(err, &closed) || closed.Code != test.code {
				t.Errorf("got %v, want code %d", err, test.code)
			}
			<-server.Done()
			if _, _, err := client.ReadMessage(); !websocket.IsCloseError(err, test.echo) {
				t.Errorf("the client saw %v, want code %d", err, test.echo)
			}
			client.Close()
			server.Drain()
		})
	}
	t.Run("without a word", func(t *testing.T) {
		server, client := gorillaPair(t, &roomy)
		client.Close()
		_, err := server.Next()
		var closed *PeerClosed
		if !errors.As(err, &closed) || closed.Code != websocket.CloseAbnormalClosure {
			t.Errorf("got %v", err)
		}
	})
}

// heldConn keeps back what is written to it, once it holds.
type heldConn struct {
	net.Conn
	holds bool
	held  []byte
}

func (h *heldConn) Write(p []byte) (int, error) {
	if !h.holds {
		return h.Conn.Write(p)
	}
	h.held = append(h.held, p...)
	return len(p), nil
}

// A message is whole when its last frame is, and not because the connection ends: inside a record TLS ends with
// io.ErrUnexpectedEOF, and before a close_notify TLS 1.2 ends with io.EOF beside the last bytes.
func TestMessagesThatTLSCutsOffAreNone(t *testing.T) {
	const half = 300
	frame := func(first byte, length uint16) string {
		return rawFrame(first, 126, string(binary.BigEndian.AppendUint16(nil, length))+noKey)
	}
	bytesOf := func(n int) string { return strings.Repeat("a", n) }
	const final, begun = 0x82, 0x02
	for _, test := range []struct {
		name    string
		records []string
		cut     int // bytes of the last record that don't come; 0: all come, and a close_notify behind them
	}{
		{"in the record behind the header", []string{frame(final, 2*half), bytesOf(2 * half)}, 1},
		{"in a record behind some bytes", []string{frame(final, 2*half) + bytesOf(half), bytesOf(half)}, 1},
		{"in a record behind many bytes", []string{frame(final, 4*half) + bytesOf(3*half), bytesOf(half)}, 1},
		{"between two frames", []string{frame(begun, half), bytesOf(half)}, 0},
		{"between two large frames", []string{frame(begun, 512+half), bytesOf(512), bytesOf(half)}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			accepted := make(chan *WebSocketConn, 1)
			w := serveClients(t, ClientServerOptions{MaxClients: 1, Link: roomy, Accept: func(c *WebSocketConn) { accepted <- c }}, testTLS()[0])
			socket, err := net.Dial("tcp", w.address)
			if err != nil {
				t.Fatal(err)
			}
			held := &heldConn{Conn: socket}
			config := testTLS()[1].Clone()
			config.MaxVersion = tls.VersionTLS12
			conn := tls.Client(held, config)
			dialer := websocket.Dialer{NetDialTLSContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
			if _, _, err := dialer.Dial(w.url, nil); err != nil {
				t.Fatal(err)
			}
			server := <-accepted
			server.Notify(newLinkLog(), nil)
			held.holds = true
			for _, r := range test.records {
				_, _ = io.WriteString(conn, r)
			}
			if test.cut == 0 {
				_ = conn.CloseWrite()
				_ = socket.SetWriteDeadline(time.Time{}) // which CloseWrite lets pass
			}
			if _, err := socket.Write(held.held[:len(held.held)-test.cut]); err != nil {
				t.Fatal(err)
			}
			_ = socket.(*net.TCPConn).CloseWrite()
			if got, err := server.Next(); err == nil {
				t.Errorf("%d bytes were taken for a message", len(got))
			}
			socket.Close()
			server.Drain()
		})
	}
}

// TestFinishWithHasItsPlace: the close frame comes behind what waits, though the queue is full.
func TestFinishWithHasItsPlace(t *testing.T) {
	near, far := webSocketPair(t, &LinkOptions{MaxQueueFrames: 3, MaxQueueBytes: 1 << 20, WriteTimeout: 20 * time.Second})
	r := webSocketRigOf(near, far)
	ended := r.serveReader()
	n := r.fill(t, 40_000)
	near.FinishWith(CloseGoingAway)
	near.FinishWith(ClosePolicy)
	ids, err := r.numbers(t)
	var closed *PeerClosed
	if !errors.As(err, &closed) || closed.Code != CloseGoingAway {
		t.Errorf("the peer saw %v", err)
	}
	if len(ids) != int(n) {
		t.Errorf("%d frames came, want %d", len(ids), n)
	}
	far.Drain()
	<-ended
}

func TestClientThatPingsAndDoesntReadIsCut(t *testing.T) {
	server, client := gorillaPair(t, &LinkOptions{MaxQueueFrames: 10, MaxQueueBytes: 1 << 20, WriteTimeout: time.Minute})
	smallBuffers(server.socket.Conn.(*net.TCPConn), client.NetConn().(*net.TCPConn))
	pinging := make(chan struct{})
	go func() {
		defer close(pinging)
		ping := []byte(strings.Repeat(rawFrame(0x89, 125, noKey+strings.Repeat("p", 125)), 1000))
		for {
			if _, err := client.NetConn().Write(ping); err != nil {
				return
			}
		}
	}()
	if _, err := server.Next(); err == nil {
		t.Error("a message came")
	}
	<-server.Done()
	server.Drain()
	<-pinging
}

// BenchmarkIdleClient says what a Client costs that is there and silent, both ends in this process.
func BenchmarkIdleClient(b *testing.B) {
	const clients = 500
	ended := make(chan struct{}, clients)
	accept := func(c *WebSocketConn) {
		c.Notify(newLinkLog(), nil)
		go func() {
			_, _ = c.Next()
			c.Drain()
			ended <- struct{}{}
		}()
	}
	w := serveClients(b, ClientServerOptions{MaxClients: clients, Link: roomy, Accept: accept}, nil)
	for b.Loop() {
		before := inUse()
		conns := make([]*WebSocketConn, clients)
		for i := range conns {
			c, err := DialClient(context.Background(), w.url, DialOptions{Link: roomy})
			if err != nil {
				b.Fatal(err)
			}
			conns[i] = c
		}
		b.ReportMetric(float64(inUse()-before)/clients, "B/client")
		for _, c := range conns {
			c.Abort()
			<-ended
		}
	}
}

// inUse is what heap and stacks hold.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
