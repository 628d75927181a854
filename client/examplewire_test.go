package client

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"iop/wire"
)

// pretendWire serves one Client.
func pretendWire() (url string, stop func()) {
	server, err := wire.NewClientServer(wire.ClientServerOptions{HandshakeTimeout: soon, MaxClients: 1,
		Link: wire.LinkOptions{MaxQueueFrames: 8, MaxQueueBytes: 1 << 16, WriteTimeout: soon},
		Accept: func(ws *wire.WebSocketConn) {
			ws.Notify(deafEvents{}, nil)
			side := &wireSide{ws: ws}
			go func() { side.welcome(15 * time.Second); side.pong() }()
		}})
	if err != nil {
		log.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() { _ = server.Serve(ln) }()
	return "ws://" + ln.Addr().String(), func() { _ = server.Close() }
}

// Hello over the Client wire, and a round trip. The connection comes back by itself until Close.
func ExampleDialWire() {
	url, stop := pretendWire()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	w, err := DialWire(ctx, url, WireOptions{Name: "example", Token: "iop_...", Changed: func(s WireState) {
		if s.Err != nil {
			log.Printf("no connection: %v; trying again in %v", s.Err, s.RetryIn)
		}
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	trip, err := w.Ping(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.Server().ServerID, "speaks version", w.Server().ProtocolVersion, trip.Took > 0)
	// Output: cp-1 speaks version 1 true
}
