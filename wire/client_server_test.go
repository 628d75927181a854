package wire

import (
	"crypto/tls"
	"net"
	"testing"
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
