package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"iop/internal/testkit"
	iopv1 "iop/proto/iop/v1"
)

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

const tlsConfig = "tls: {cert_file: server.pem, key_file: server.key, edge_client_ca_file: edges.pem}\n"

func startTLSDaemon(t *testing.T, servers, edges *testkit.Authority, config string) *testDaemon {
	t.Helper()
	dir := t.TempDir()
	cert, key := servers.Issue("localhost", "127.0.0.1")
	writeFile(t, dir+"/server.pem", cert)
	writeFile(t, dir+"/server.key", key)
	writeFile(t, dir+"/edges.pem", edges.PEM)
	d := startDaemonIn(t, dir, config)
	d.scheme = "https"
	d.client = &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: servers.Client(), DisableKeepAlives: true}}
	t.Cleanup(d.client.CloseIdleConnections)
	return d
}

// tlsHello dials the Edge wire, says hello and gives the answer; nil when the handshake or the connection ends first.
func (d *testDaemon) tlsHello(config *tls.Config, h *iopv1.EdgeHelloRequest) (*tls.Conn, *iopv1.Envelope) {
	d.t.Helper()
	c, err := tls.Dial("tcp", d.edge, config)
	if err != nil {
		return nil, nil
	}
	d.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	_, _ = c.Write(frameOf(helloEnvelope(h)))
	m, err := readFrame(c)
	if err != nil {
		return nil, nil
	}
	return c, m
}

func TestTLS(t *testing.T) {
	t.Parallel()
	servers, edges, strangers := testkit.NewAuthority(), testkit.NewAuthority(), testkit.NewAuthority()
	d := startTLSDaemon(t, servers, edges, tlsConfig)
	with := func(a *testkit.Authority, names ...string) *tls.Config {
		config := a.Client(names...)
		config.RootCAs = servers.Pool()
		return config
	}
	c, m := d.tlsHello(with(edges, "seoul-1", "seoul-2"), helloOf("seoul-2"))
	if m.GetEdgeHelloResponse() == nil {
		t.Fatalf("a certificate that names the Edge: %v", m)
	}
	e := newTestEdge(t, "seoul-2", c)
	waiting := d.postLater("seoul-2", `{"operation":"a"}`)
	e.reply(e.command(), succeeded)
	(<-waiting).is(200)
	for _, other := range []string{"seoul-3", "SEOUL-1", "seoul"} {
		if _, m := d.tlsHello(with(edges, "seoul-1"), helloOf(other)); m.GetError().GetCode() != noPermission {
			t.Errorf("a certificate for another name, %s: %v", other, m)
		}
	}
	if _, m := d.tlsHello(with(edges), helloOf("seoul-1")); m != nil {
		t.Errorf("no certificate: %v", m)
	}
	if _, m := d.tlsHello(with(strangers, "seoul-1"), helloOf("seoul-1")); m != nil {
		t.Errorf("a stranger's certificate: %v", m)
	}
	plain := d.dialEdge()
	_, _ = plain.Write(frameOf(helloEnvelope(helloOf("plain"))))
	for _, m := range lastWords(t, plain) {
		t.Errorf("plain TCP was answered %v", m)
	}
	d.get("/edges").is(200, "total", 1)
	scan := d.dialEdge() // what leaves without a word, as a health check does, has failed nothing
	scan.Close()
	testkit.Eventually(t, "what can't be a handshake is counted: no certificate, a stranger's, plain TCP", func() bool {
		return d.metric("iop_tls_handshake_failures_total") == 3
	})
	testkit.Eventually(t, "the log says why", func() bool {
		said := d.said()
		return strings.Count(said, "a TLS handshake failed") == 3 && strings.Contains(said, "didn't provide a certificate")
	})
	for _, address := range []string{d.http, d.wire} { // who can't speak TLS gets no further
		if response, err := http.Get("http://" + address + "/edges"); err == nil && response.StatusCode != 400 {
			t.Errorf("plain HTTP at %s: %v", address, response.Status)
		}
	}
	old := &tls.Config{RootCAs: servers.Pool(), MaxVersion: tls.VersionTLS11}
	if c, err := tls.Dial("tcp", d.http, old); err == nil {
		c.Close()
		t.Error("TLS 1.1 was spoken")
	}
	dialer := websocket.Dialer{TLSClientConfig: servers.Client()}
	ws, _, err := dialer.Dial("wss://"+d.wire+"/client", http.Header{"Origin": {"https://" + d.wire}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	if m := clientHello(t, ws, &iopv1.ClientHelloRequest{}); m.GetClientHelloResponse() == nil {
		t.Errorf("a Client's hello: %v", m)
	}
}

// TestReload: SIGHUP takes over TLS files, auth and the log level, and a configuration that is no good changes nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	servers, edges, newer := testkit.NewAuthority(), testkit.NewAuthority(), testkit.NewAuthority()
	auth := func(token string) string {
		return fmt.Sprintf("auth: {operators: [{name: alice, role: operator, token_sha256: %s}], edges: [{edge_id: \"*\", token_sha256: %s}]}\n",
			hashOf(token), hashOf(token))
	}
	d := startTLSDaemon(t, servers, edges, tlsConfig+auth("one"))
	hello := func(a *testkit.Authority, token string) *iopv1.Envelope {
		config := a.Client("e")
		config.RootCAs = servers.Pool()
		h := helloOf("e")
		h.Token = token
		_, m := d.tlsHello(config, h)
		return m
	}
	if m := hello(edges, "one"); m.GetEdgeHelloResponse() == nil {
		t.Fatal(m)
	}
	reload := func(config, says string) {
		t.Helper()
		before := strings.Count(d.said(), says)
		d.configure(config)
		d.signal(syscall.SIGHUP)
		testkit.Eventually(t, says, func() bool { return strings.Count(d.said(), says) > before })
	}
	reload("auth: nonsense\n", "was not reloaded")
	reload(tlsConfig+"insecure: maybe\n", "was not reloaded")
	d.get("/edges", "Authorization", "Bearer one").is(200)
	if strings.Contains(d.said(), `"path":"/edges"`) {
		t.Error("a read is logged at info")
	}
	writeFile(t, d.file("edges.pem"), newer.PEM)
	reload(tlsConfig+auth("two")+"log: {level: debug}\n", "the configuration was reloaded")
	d.get("/edges", "Authorization", "Bearer one").isProblem(401, "unauthenticated")
	d.get("/edges", "Authorization", "Bearer two").is(200, "edges.0.state", "connected") // who was let in stays
	testkit.Eventually(t, "debug lines", func() bool { return strings.Contains(d.said(), `"path":"/edges"`) })
	if m := hello(edges, "two"); m != nil {
		t.Errorf("an authority that is gone: %v", m)
	}
	if m := hello(newer, "one"); m.GetError().GetCode() != iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED {
		t.Errorf("a token that is gone: %v", m)
	}
	if m := hello(newer, "two"); m.GetEdgeHelloResponse() == nil {
		t.Errorf("the new token and authority: %v", m)
	}
	writeFile(t, d.file("server.key"), []byte("nonsense"))
	reload(tlsConfig+auth("three"), "was not reloaded")
	d.get("/edges", "Authorization", "Bearer two").is(200)
	metrics := string(d.get("/metrics", "Authorization", "Bearer two").body)
	for _, want := range []string{`iop_reloads_total{result="failure",what="config"} 3`, `iop_reloads_total{result="success",what="config"} 1`,
		`iop_reload_last_successful{what="config"} 0`, "iop_tls_certificate_expiry_timestamp_seconds "} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	// Files that change are followed without a signal.
	cert, key := newer.Issue("localhost", "127.0.0.1")
	writeFile(t, d.file("server.pem"), cert)
	writeFile(t, d.file("server.key"), key)
	testkit.Eventually(t, "the new certificate is shown", func() bool {
		c, err := tls.Dial("tcp", d.http, newer.Client())
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	// Who removes a list's last entry lets everybody in: on loopback that is taken over, and told.
	reload(tlsConfig, `"key":"auth.edges"`)
	reload("tls: {cert_file: server.pem, key_file: server.key}\n", `"key":"tls.edge_client_ca_file"`)
	if n := strings.Count(d.said(), "a reload has emptied this key"); n != 3 {
		t.Errorf("%d keys are said to be empty, want all three", n)
	}
}
