//go:build linux

package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

func TestStillOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed, other := net.Pipe()
		_ = other.Close()
		said, last := net.Pipe()
		go func() {
			_, _ = last.Write([]byte("goodbye"))
			_ = last.Close()
		}()
		open, kept := net.Pipe()
		defer kept.Close()
		if n := stillOpen([]net.Conn{closed, open, said}); n != 1 {
			t.Errorf("%d are open, want 1", n)
		}
	})
}

// Each kind of peer is looked at by its own limit, and not by the longest one.
func TestPeersAreClosedInTime(t *testing.T) {
	const short, long = 3 * time.Second, 5 * time.Second
	for name, c := range map[string]struct {
		closed [2]time.Duration // of one that has the short limit, and of one that has the long one
		wrong  string
	}{
		"both in time":                   {[2]time.Duration{short + endTime - time.Second/10, long + endTime - time.Second/10}, ""},
		"the first within the other's":   {[2]time.Duration{short + endTime + time.Second, long}, "1 of 1 peers that sent half a hello"},
		"the second one late":            {[2]time.Duration{short, long + endTime + time.Second}, "1 of 1 peers that sent half a snapshot"},
		"both much later than they must": {[2]time.Duration{time.Hour, time.Hour}, "1 of 1 peers that sent half a hello"},
	} {
		synctest.Test(t, func(t *testing.T) {
			limits := []hangLimit{{what: "half a hello", limit: short}, {what: "half a snapshot", limit: long}}
			for i := range limits {
				ours, theirs := net.Pipe()
				limits[i].conns = []net.Conn{ours}
				time.AfterFunc(c.closed[i], func() { _ = theirs.Close() })
			}
			err := closedInTime(t.Context(), limits)
			if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, want %q", name, err, c.wrong)
			}
			time.Sleep(2 * time.Hour) // until both are closed
		})
	}
}

func TestAQueueFilled(t *testing.T) {
	before := clientCounts{pings: 1000, refused: 3}
	for name, c := range map[string]struct {
		after clientCounts
		wrong string
	}{
		"it was":                   {clientCounts{1000 + clientQueue + 1, 4}, ""},
		"closed at once":           {before, "after 0 Pings"},
		"closed for a few":         {clientCounts{1000 + clientQueue, 4}, "after 256 Pings"},
		"closed for another cause": {clientCounts{2000, 3}, "its queue was not full"},
	} {
		err := c.after.queueFilled(before)
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, want %q", name, err, c.wrong)
		}
	}
}

// clientWire is a server that gives these answers to the first messages, and hands over the later ones.
func clientWire(t *testing.T, answers []*iopv1.Envelope, messages chan<- []byte) (address string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.Close()
		for n := 0; ; n++ {
			kind, message, err := ws.ReadMessage()
			if err != nil {
				return
			}
			if kind != websocket.BinaryMessage {
				t.Errorf("a message of kind %d", kind)
			}
			if n < len(answers) {
				_ = ws.WriteMessage(websocket.BinaryMessage, frame(answers[n])[wire.HeaderBytes:])
				continue
			}
			messages <- message
		}
	}))
	t.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http")
}

func dialWire(t *testing.T, address string) *websocket.Conn {
	t.Helper()
	ws, _, err := websocket.DefaultDialer.DialContext(context.Background(), address, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	return ws
}

var (
	accepted = &iopv1.Envelope{ReplyTo: 1, Body: &iopv1.Envelope_ClientHelloResponse{ClientHelloResponse: &iopv1.ClientHelloResponse{}}}
	pong     = &iopv1.Envelope{ReplyTo: 2, Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}}
)

// A WebSocket library takes them for what they are to be: as many messages, each a Ping.
func TestMaskedPings(t *testing.T) {
	const n = 3
	messages := make(chan []byte, 2*n)
	ws := dialWire(t, clientWire(t, []*iopv1.Envelope{accepted, pong}, messages))
	if err := greet(ws); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := ws.NetConn().Write(maskedPings(n)); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			m, err := wire.Decode(<-messages)
			if err != nil || m.GetPing() == nil || m.Id == 0 {
				t.Errorf("message %d: %v, %v", i, m, err)
			}
		}
	}
}

func TestARefusedClientIsAnError(t *testing.T) {
	refused := &iopv1.Envelope{ReplyTo: 1, Body: &iopv1.Envelope_Error{Error: &iopv1.Error{Message: "not you"}}}
	for _, answers := range [][]*iopv1.Envelope{{refused, pong}, {accepted, refused}} {
		ws := dialWire(t, clientWire(t, answers, nil))
		if err := greet(ws); err == nil || !strings.Contains(err.Error(), "not you") {
			t.Errorf("got %v", err)
		}
	}
}
