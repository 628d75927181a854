package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"google.golang.org/protobuf/proto"

	"iop/internal/testkit"
	iopv1 "iop/proto/iop/v1"
)

func (d *testDaemon) dialClient() *websocket.Conn {
	d.t.Helper()
	ws, _, err := websocket.DefaultDialer.Dial("ws://"+d.wire+"/client", nil)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { ws.Close() })
	_ = ws.SetReadDeadline(time.Now().Add(2 * patience))
	return ws
}

func sayTo(t *testing.T, ws *websocket.Conn, m *iopv1.Envelope) {
	t.Helper()
	if err := ws.WriteMessage(websocket.BinaryMessage, frameOf(m)[4:]); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, ws *websocket.Conn) *iopv1.Envelope {
	t.Helper()
	_, b, err := ws.ReadMessage()
	m := &iopv1.Envelope{}
	if err == nil {
		err = proto.Unmarshal(b, m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func clientHello(t *testing.T, ws *websocket.Conn, h *iopv1.ClientHelloRequest) *iopv1.Envelope {
	t.Helper()
	sayTo(t, ws, &iopv1.Envelope{Id: 7, Body: &iopv1.Envelope_ClientHelloRequest{ClientHelloRequest: h}})
	return hear(t, ws)
}

func (d *testDaemon) client1() *websocket.Conn {
	d.t.Helper()
	ws := d.dialClient()
	if m := clientHello(d.t, ws, &iopv1.ClientHelloRequest{ClientId: "c"}); m.GetClientHelloResponse() == nil || m.ReplyTo != 7 {
		d.t.Fatalf("the hello was answered %v", m)
	}
	return ws
}

// ends wants the connection to end with this close code, behind an Error with this code where there is one.
func ends(t *testing.T, what string, ws *websocket.Conn, code int, said iopv1.ErrorCode) {
	t.Helper()
	var last *iopv1.Envelope
	for {
		_, b, err := ws.ReadMessage()
		if err != nil {
			var closed *websocket.CloseError
			if !errors.As(err, &closed) || closed.Code != code {
				t.Errorf("%s: ended with %v, want %d", what, err, code)
			}
			break
		}
		last = &iopv1.Envelope{}
		_ = proto.Unmarshal(b, last)
	}
	if got := last.GetError().GetCode(); got != said {
		t.Errorf("%s: the last word was %v, want %v", what, last, said)
	}
}

func TestClientHello(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, fmt.Sprintf("auth:\n  operators: [{name: v, role: viewer, token_sha256: %s}]\n", hashOf("token")))
	for name, c := range map[string]struct {
		first []byte
		kind  int
		code  int
		said  iopv1.ErrorCode
	}{
		"a Ping":        {frameOf(&iopv1.Envelope{Id: 1, Body: ping().Body})[4:], websocket.BinaryMessage, 1002, badPrecondition},
		"an Edge's":     {frameOf(helloEnvelope(helloOf("e")))[4:], websocket.BinaryMessage, 1002, badPrecondition},
		"empty":         {nil, websocket.BinaryMessage, 1002, badPrecondition},
		"undecodable":   {[]byte{0xff, 0xff}, websocket.BinaryMessage, 1002, badArgument},
		"text":          {[]byte("hello"), websocket.TextMessage, 1003, 0},
		"over 64 KiB":   {make([]byte, 64<<10+1), websocket.BinaryMessage, 1009, 0},
		"another token": {clientHelloFrame("nobody's", 1), websocket.BinaryMessage, 1008, iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED},
		"no token":      {clientHelloFrame("", 1), websocket.BinaryMessage, 1008, iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED},
		"version 2":     {clientHelloFrame("token", 2), websocket.BinaryMessage, 1002, badPrecondition},
	} {
		ws := d.dialClient()
		if err := ws.WriteMessage(c.kind, c.first); err != nil {
			t.Fatal(err)
		}
		ends(t, name, ws, c.code, c.said)
	}
	ws := d.dialClient()
	sayTo(t, ws, &iopv1.Envelope{Body: &iopv1.Envelope_ClientHelloRequest{ClientHelloRequest: &iopv1.ClientHelloRequest{Token: "token"}}})
	if m := hear(t, ws); m.ReplyTo != 0 || m.GetClientHelloResponse().GetMaxFrameBytes() != 1<<20 {
		t.Errorf("a hello with id 0: %v", m)
	}
}

func clientHelloFrame(token string, version uint32) []byte {
	return frameOf(&iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_ClientHelloRequest{
		ClientHelloRequest: &iopv1.ClientHelloRequest{Token: token, ProtocolVersion: version}}})[4:]
}

func TestClientAfterItsHello(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	ws := d.client1()
	sayTo(t, ws, &iopv1.Envelope{Id: 8, Body: &iopv1.Envelope_ClientHelloRequest{ClientHelloRequest: &iopv1.ClientHelloRequest{}}})
	if m := hear(t, ws); m.ReplyTo != 8 || m.GetError().GetCode() != badPrecondition {
		t.Errorf("a second hello: %v", m)
	}
	for id, body := range map[uint64]*iopv1.Envelope{9: {}, 10: helloEnvelope(helloOf("e")), 11: status(snapshotOf("e"))} {
		sayTo(t, ws, &iopv1.Envelope{Id: id, Body: body.Body})
		if m := hear(t, ws); m.ReplyTo != id || m.GetError().GetCode() != unimplemented {
			t.Errorf("%v: %v", body, m)
		}
	}
	sayTo(t, ws, &iopv1.Envelope{ReplyTo: 12, Body: ping().Body}) // an answer to nothing
	sayTo(t, ws, ping())
	if m := hear(t, ws); m.ReplyTo != 0 || m.GetPong() == nil {
		t.Errorf("a Ping: %v", m)
	}
	pong := make(chan string, 1)
	ws.SetPongHandler(func(data string) error { pong <- data; return nil })
	_ = ws.WriteControl(websocket.PingMessage, []byte("x"), time.Now().Add(patience))
	sayTo(t, ws, &iopv1.Envelope{Id: 13, Body: ping().Body})
	if m := hear(t, ws); m.ReplyTo != 13 || <-pong != "x" {
		t.Errorf("a WebSocket ping, and a Ping behind it: %v", m)
	}
	// A message in fragments is one message; a long one is refused by its length, also in fragments.
	message := frameOf(&iopv1.Envelope{Id: 14, Body: ping().Body})[4:]
	_, _ = ws.NetConn().Write(slices.Concat(fragment(0x02, message[:1]), fragment(0x00, nil), fragment(0x80, message[1:])))
	if m := hear(t, ws); m.ReplyTo != 14 {
		t.Errorf("in fragments: %v", m)
	}
	if err := ws.WriteMessage(websocket.BinaryMessage, make([]byte, 1<<20+1)); err != nil {
		t.Fatal(err)
	}
	ends(t, "too long", ws, 1009, 0)
	parts := d.client1()
	go func() {
		_, _ = parts.NetConn().Write(slices.Concat(fragment(0x02, make([]byte, 600_000)), fragment(0x80, make([]byte, 600_000))))
	}()
	ends(t, "too long in fragments", parts, 1009, 0)
	text := d.client1()
	_ = text.WriteMessage(websocket.TextMessage, []byte("{}"))
	ends(t, "text", text, 1003, 0)
	noise := d.client1()
	_ = noise.WriteMessage(websocket.BinaryMessage, []byte{13<<3 | 2, 4, 1<<3 | 2, 2, 0xff, 0xfe})
	ends(t, "not UTF-8", noise, 1002, badArgument)
	leaving := d.client1()
	_ = leaving.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""), time.Now().Add(patience))
	ends(t, "a Client that closes", leaving, 1000, 0)
}

// fragment is a WebSocket frame with a mask of zeros.
func fragment(first byte, payload []byte) []byte {
	frame := binary.BigEndian.AppendUint64([]byte{first, 0xff}, uint64(len(payload)))
	return append(append(frame, 0, 0, 0, 0), payload...)
}

// TestWebSocketRules are broken by hand: each ends the connection.
func TestWebSocketRules(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	mask := []byte{0, 0, 0, 0}
	long := append(binary.BigEndian.AppendUint64([]byte{0x82, 0xff}, 1<<40), mask...)
	for name, c := range map[string]struct {
		frame []byte
		code  uint16
	}{
		"not masked":          {[]byte{0x82, 0x01, 0}, 1002},
		"reserved bit":        {append([]byte{0xc2, 0x80}, mask...), 1002},
		"unknown opcode":      {append([]byte{0x83, 0x80}, mask...), 1002},
		"a continuation":      {append([]byte{0x80, 0x80}, mask...), 1002},
		"a fragmented ping":   {append([]byte{0x09, 0x80}, mask...), 1002},
		"a long ping":         {append([]byte{0x89, 0xfe, 0x00, 0x7e}, mask...), 1002},
		"two messages begun":  {append(append(append([]byte{0x02, 0x80}, mask...), 0x82, 0x80), mask...), 1002},
		"a length of 1 TiB":   {long, 1009},
		"a negative length":   {append(binary.BigEndian.AppendUint64([]byte{0x82, 0xff}, 1<<63), mask...), 1009},
		"a close code of 999": {append(append([]byte{0x88, 0x82}, mask...), 0x03, 0xe7), 1002},
	} {
		ws := d.client1()
		raw := ws.NetConn()
		_, _ = raw.Write(c.frame)
		_ = raw.SetReadDeadline(time.Now().Add(patience))
		said, err := io.ReadAll(raw)
		if want := binary.BigEndian.AppendUint16([]byte{0x88, 0x02}, c.code); err != nil || !bytes.Equal(said, want) {
			t.Errorf("%s: %x, %v; want a close with %d", name, said, err, c.code)
		}
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "client: {allowed_origins: [\"https://ops.example\"]}\n")
	for origin, status := range map[string]int{
		"": 101, "https://ops.example": 101, "http://" + d.wire: 101, "https://" + d.wire: 101,
		"http://ops.example": 403, "https://ops.example:444": 403, "https://evil.example": 403, "null": 403,
		"http://127.0.0.1": 403, "http://" + d.http: 403, "https://ops.example.evil.example": 403, "https://ops.example/": 403,
	} {
		h := http.Header{}
		if origin != "" {
			h.Set("Origin", origin)
		}
		ws, response, err := websocket.DefaultDialer.Dial("ws://"+d.wire+"/client", h)
		if response == nil || response.StatusCode != status {
			t.Errorf("%s: %v, want %d", origin, err, status)
		}
		if err == nil {
			ws.Close()
		}
	}
	for _, path := range []string{"/", "/clients", "/client/", "//client", "/client/x", "/healthz"} {
		if _, response, _ := websocket.DefaultDialer.Dial("ws://"+d.wire+path, nil); response == nil || response.StatusCode != 404 {
			t.Errorf("%s: %v", path, response)
		}
	}
}

// TestSilentClients: 2.5 intervals of silence end a Client, WebSocket pings count as life; a stop is told to all.
func TestSilentClients(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "edges: {heartbeat_interval: 2s, write_timeout: 500ms}\n")
	pings := d.client1()
	began := time.Now()
	silent := d.client1()
	// One that writes and doesn't read is closed when its queue is full.
	dialer := websocket.Dialer{NetDialContext: narrow.DialContext}
	unread, _, err := dialer.Dial("ws://"+d.wire+"/client", nil)
	if err != nil {
		t.Fatal(err)
	}
	clientHello(t, unread, &iopv1.ClientHelloRequest{})
	go func() {
		request := frameOf(&iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{}}})[4:]
		for unread.WriteMessage(websocket.BinaryMessage, request) == nil {
		}
		unread.Close()
	}()
	go func() {
		for pings.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second)) == nil {
			time.Sleep(100 * time.Millisecond)
		}
	}()
	ends(t, "silence", silent, 1008, 0)
	if took := time.Since(began); took < 5*time.Second {
		t.Errorf("closed after %v of silence", took)
	}
	testkit.Eventually(t, "the Client that doesn't read is closed", func() bool {
		return unread.WriteControl(websocket.PingMessage, nil, time.Now()) != nil
	})
	// pings is older than silent was, and has said no more than that: its pings counted.
	d.signal(syscall.SIGTERM)
	var b []byte
	_, b, err = pings.ReadMessage()
	m := &iopv1.Envelope{}
	if err != nil || proto.Unmarshal(b, m) != nil || m.GetGoAway().GetReason() != shutdown || m.GetGoAway().ReconnectAfter.AsDuration() <= 0 {
		t.Fatalf("the Client that sends pings heard %v, %v", m, err)
	}
	ends(t, "shutdown", pings, 1001, 0)
	if code := d.exit(); code != 0 || strings.Contains(d.said(), "panic") {
		t.Errorf("exit code %d", code)
	}
}
