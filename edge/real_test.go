package edge

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"iop/internal/testkit"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// These tests use real sockets: the whole way from a serving backend to a Control Plane, in plain and in TLS.

func TestAProviderShowsAtTheControlPlane(t *testing.T) {
	f := &fakeServer{}
	f.alive.Store(true)
	f.metrics.Store(200)
	f.running.Store(2)
	server := httptest.NewServer(f)
	defer server.Close()
	site, err := NewProbedSite(ProbeOptions{
		Nodes: []ProbedNode{{ID: "gpu-1", Providers: []ProbedProvider{
			{ID: "p", Type: "llamacpp", BaseURL: server.URL, Capacity: 8, LongContextCapacity: 1},
		}}},
		Interval: 20 * time.Millisecond, Timeout: 10 * time.Second, Logger: quietLog,
	})
	if err != nil {
		t.Fatal(err)
	}
	listener := listen(t)
	runReal(t, Options{Address: listener.Addr().String(), Site: site})
	p := acceptReal(t, listener)
	first := p.pushed(func(s *iopv1.EdgeStatusResponse) bool { return true })
	n := first.Nodes[0]
	v := n.Providers[0]
	if !n.Connected || !equalStrings(v.Models, "m-small") || v.General.Capacity != 8 || v.General.InFlight != 2 || v.LongContext.Capacity != 1 ||
		v.Status != iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE || v.Health != iopv1.ProviderHealth_PROVIDER_HEALTH_ONLINE {
		t.Errorf("the first push says %v", first)
	}
	f.alive.Store(false)
	gone := p.pushed(func(s *iopv1.EdgeStatusResponse) bool { return !s.Nodes[0].Connected }).Nodes[0].Providers[0]
	if gone.ProviderId != "p" || gone.Type != "llamacpp" || len(gone.Models) != 0 || gone.General.Capacity != 0 || gone.General.InFlight != 0 || gone.LongContext.Capacity != 0 ||
		gone.Status != iopv1.ProviderStatus_PROVIDER_STATUS_UNAVAILABLE || gone.Health != iopv1.ProviderHealth_PROVIDER_HEALTH_OFFLINE {
		t.Errorf("gone it is %v", gone)
	}
	f.alive.Store(true)
	back := p.pushed(func(s *iopv1.EdgeStatusResponse) bool { return s.Nodes[0].Connected }).Nodes[0].Providers[0]
	if back.General.Capacity != 8 || !equalStrings(back.Models, "m-small") {
		t.Errorf("back it is %v", back)
	}
}

// pushed waits for the push that is wanted.
func (p *peer) pushed(want func(*iopv1.EdgeStatusResponse) bool) *iopv1.EdgeStatusResponse {
	p.t.Helper()
	for {
		if s := p.next().GetEdgeStatusResponse(); s != nil && want(s) {
			return s
		}
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func runReal(t *testing.T, o Options) {
	t.Helper()
	o.ID, o.Logger = "seoul-1", quietLog
	o.ReconnectInitial, o.ReconnectMax = 10*time.Millisecond, 20*time.Millisecond
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		_ = e.Run(ctx)
		close(done)
	}()
	t.Cleanup(func() { cancel(); <-done })
}

func acceptReal(t *testing.T, l net.Listener) *peer {
	t.Helper()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	p := &peer{t: t, conn: conn, frames: wire.NewFrameReader(conn, wire.DefaultMaxFrameBytes)}
	if p.hello = p.next().GetEdgeHelloRequest(); p.hello == nil {
		t.Fatal("no hello")
	}
	p.welcome(&iopv1.EdgeHelloResponse{})
	return p
}

func TestTLSWithClientCertificate(t *testing.T) {
	ca := testkit.NewAuthority()
	listener := tls.NewListener(listen(t), &tls.Config{
		Certificates: []tls.Certificate{ca.Pair("control-plane.test")},
		ClientCAs:    ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert,
	})
	tries := 0
	runReal(t, Options{Address: listener.Addr().String(), TLS: func() (*tls.Config, error) {
		c := &tls.Config{RootCAs: ca.Pool(), ServerName: "control-plane.test"}
		if tries++; tries > 1 { // the first try has no certificate yet
			c.Certificates = []tls.Certificate{ca.Pair("seoul-1")}
		}
		return c, nil
	}})
	without, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := without.(*tls.Conn).HandshakeContext(t.Context()); err == nil {
		t.Error("a connection without certificate")
	}
	_ = without.Close()
	p := acceptReal(t, listener)
	if names := p.conn.(*tls.Conn).ConnectionState().PeerCertificates[0].DNSNames; !equalStrings(names, "seoul-1") {
		t.Errorf("the certificate is for %v", names)
	}
	p.command(5, call("c", "edge.ping"))
	if a := p.answer(5); a.Outcome != done {
		t.Errorf("answered %v", a)
	}
}

func TestTLSVerifiesTheAddressUnlessTold(t *testing.T) {
	ca := testkit.NewAuthority()
	listener := tls.NewListener(listen(t), &tls.Config{Certificates: []tls.Certificate{ca.Pair("control-plane.test")}})
	tries := 0
	runReal(t, Options{Address: listener.Addr().String(), TLS: func() (*tls.Config, error) {
		c := &tls.Config{RootCAs: ca.Pool()}
		if tries++; tries > 1 {
			c.ServerName = "control-plane.test"
		}
		return c, nil
	}})
	wrong, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := wrong.(*tls.Conn).HandshakeContext(t.Context()); err == nil {
		t.Error("the Edge takes a certificate for another name")
	}
	_ = wrong.Close()
	acceptReal(t, listener)
}
