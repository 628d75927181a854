package actors

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// FuzzClientConnection says whatever comes to a Client's mind, over a real WebSocket. Whatever it is, what comes back are
// Envelopes, nothing panics, the connection ends, and another Client is still answered.
func FuzzClientConnection(f *testing.F) {
	for _, b := range [][]byte{{}, {0}, {0, 1}, {1}, {0, 0}, {0, 2, 7}, {0, 3, 0}, {2, 9}, {3, 1, 65}, {0, 4, 3, 1, 2, 3}, {5}, {0, 5, 6, 1}, {0, 7, 1, 8}, {0, 1, 1, 1, 6, 2, 1}} {
		f.Add(b)
	}
	opts, log := testOptions(), &panicLog{}
	opts.Log = zerolog.New(log)
	s := NewSystem(opts)
	f.Cleanup(s.Stop)
	front, err := NewClientFront(s, nil)
	if err != nil {
		f.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	served := s.StartFront(front, l, func(err error) { f.Error(err) })
	f.Cleanup(func() { served.Stop(context.Background()) })
	dial := func(t testing.TB) *websocket.Conn {
		ws, _, err := websocket.DefaultDialer.Dial("ws://"+l.Addr().String()+"/client", nil)
		if err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(20 * time.Second)
		_, _ = ws.SetReadDeadline(deadline), ws.SetWriteDeadline(deadline)
		return ws
	}
	n := 0
	f.Fuzz(func(t *testing.T, b []byte) {
		n++
		defer log.check(t)
		ws := dial(t)
		defer ws.Close()
		for len(b) > 0 && sayOdd(ws, &b) == nil {
		}
		_ = ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
		for {
			kind, message, err := ws.ReadMessage()
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("the connection doesn't end")
			}
			if err != nil {
				break
			}
			if _, err := wire.Decode(message); err != nil || kind != websocket.BinaryMessage {
				t.Fatalf("%x came, of kind %d: %v", message, kind, err)
			}
		}
		if n%8 != 0 {
			return
		}
		other := dial(t)
		defer other.Close()
		for _, m := range []*iopv1.Envelope{clientHelloEnvelope(), ping()} {
			encoded, _ := proto.Marshal(m)
			if err := other.WriteMessage(websocket.BinaryMessage, encoded); err != nil {
				t.Fatal(err)
			}
			_, answer, err := other.ReadMessage()
			if err != nil {
				t.Fatal(err)
			}
			if a, err := wire.Decode(answer); err != nil || a.GetClientHelloResponse() == nil && a.GetPong() == nil {
				t.Fatalf("another Client is answered %v, %v", a, err)
			}
		}
	})
}

func clientHelloEnvelope() *iopv1.Envelope {
	return &iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_ClientHelloRequest{ClientHelloRequest: &iopv1.ClientHelloRequest{ClientId: "c", ProtocolVersion: 1}}}
}

// sayOdd says what the next bytes stand for.
func sayOdd(ws *websocket.Conn, b *[]byte) error {
	next := func() (v byte) {
		if len(*b) > 0 {
			v, *b = (*b)[0], (*b)[1:]
		}
		return v
	}
	rest := func() (part []byte) {
		n := min(int(next()), len(*b))
		part, *b = (*b)[:n], (*b)[n:]
		return part
	}
	var m *iopv1.Envelope
	switch next() % 9 {
	case 0:
		m = clientHelloEnvelope()
	case 1:
		m = ping()
	case 2: // an answer to nothing
		m = &iopv1.Envelope{ReplyTo: uint64(next()), Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}}
	case 3: // what isn't served here
		m = &iopv1.Envelope{Id: uint64(next()), Body: &iopv1.Envelope_EdgeStatusRequest{EdgeStatusRequest: &iopv1.EdgeStatusRequest{}}}
	case 4:
		return ws.WriteMessage(websocket.BinaryMessage, rest())
	case 5:
		return ws.WriteMessage(websocket.TextMessage, rest())
	case 6:
		return ws.WriteMessage(websocket.PingMessage, rest()[:0])
	case 7: // a hello of another version, or with a wrong token
		m = clientHelloEnvelope()
		m.GetClientHelloRequest().ProtocolVersion, m.GetClientHelloRequest().Token = uint32(next()), string(rest())
	default:
		return ws.WriteMessage(websocket.PongMessage, nil)
	}
	encoded, err := proto.Marshal(m)
	if err != nil { // of a token that isn't UTF-8
		return nil
	}
	return ws.WriteMessage(websocket.BinaryMessage, encoded)
}
