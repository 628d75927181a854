package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"iop/edge"
	"iop/internal/testkit"
	iopv1 "iop/proto/iop/v1"
)

// The examples of deploy/haproxy and deploy/nginx run in front of the daemon, as they are but for addresses, files and limits.

// proxy is a program that stands in front of the daemon.
type proxy struct {
	program   string
	example   string
	arguments func(config, dir string) []string
	// changes to the example: what is there, and what a test needs there. $DIR is the test's folder.
	changes []string
}

var proxies = []proxy{
	{
		program: "haproxy", example: "../../deploy/haproxy/haproxy.cfg",
		arguments: func(config, _ string) []string { return []string{"-db", "-f", config} },
		changes: []string{"maxconn 100000", "maxconn 200", "bind :443 ", "bind $HTTPS ", "bind :19081\n", "bind $EDGE\n", "bind :19443 ", "bind $TLS ",
			"crt /etc/haproxy/iop.pem", "crt $DIR/both.pem", "server control_plane 127.0.0.1:18080", "server control_plane $DAEMON_HTTP",
			"server control_plane 127.0.0.1:19080", "server control_plane $DAEMON_WIRE", "server control_plane 127.0.0.1:29081", "server control_plane $DAEMON_EDGE"},
	},
	{
		program: "nginx", example: "../../deploy/nginx/nginx.conf",
		arguments: func(config, dir string) []string {
			return []string{"-p", dir, "-e", "stderr", "-g", "daemon off;", "-c", config}
		},
		changes: []string{"worker_connections 100000", "worker_connections 200", "worker_rlimit_nofile 200000;", "", "/run/nginx.pid", "$DIR/nginx.pid",
			"listen 443 ssl", "listen $HTTPS ssl", "listen 19081;", "listen $EDGE;", "listen 19443 ssl", "listen $TLS ssl",
			"/etc/nginx/iop.crt", "$DIR/cert.pem", "/etc/nginx/iop.key", "$DIR/key.pem", "proxy_pass http://127.0.0.1:18080", "proxy_pass http://$DAEMON_HTTP",
			"proxy_pass http://127.0.0.1:19080", "proxy_pass http://$DAEMON_WIRE", "proxy_pass 127.0.0.1:29081", "proxy_pass $DAEMON_EDGE",
			// Folders that only root may make.
			"access_log off;", "access_log off; client_body_temp_path $DIR/1; proxy_temp_path $DIR/2; fastcgi_temp_path $DIR/3; uwsgi_temp_path $DIR/4; scgi_temp_path $DIR/5;"},
	},
}

// inFront is a proxy that runs: where it listens, and who trusts it.
type inFront struct {
	https, edge, tls string
	authority        *testkit.Authority
}

// start runs the proxy in front of a daemon, and ends it with the test.
func (p proxy) start(t *testing.T, d *testDaemon) inFront {
	t.Helper()
	path := testkit.Tool(t, p.program)
	f := inFront{https: testkit.FreeAddress(t), edge: testkit.FreeAddress(t), tls: testkit.FreeAddress(t), authority: testkit.NewAuthority()}
	dir := t.TempDir()
	cert, key := f.authority.Issue("localhost", "127.0.0.1")
	writeFile(t, dir+"/cert.pem", cert)
	writeFile(t, dir+"/key.pem", key)
	writeFile(t, dir+"/both.pem", append(cert, key...))
	fill := strings.NewReplacer("$HTTPS", f.https, "$EDGE", f.edge, "$TLS", f.tls, "$DIR", dir,
		"$DAEMON_HTTP", d.http, "$DAEMON_WIRE", d.wire, "$DAEMON_EDGE", d.edge)
	config := filepath.Join(dir, "proxy.conf")
	writeFile(t, config, []byte(changed(t, p.example, fill, p.changes)))
	runBeside(t, exec.Command(path, p.arguments(config, dir)...))
	for _, address := range []string{f.https, f.edge, f.tls} {
		testkit.Eventually(t, p.program+" listens on "+address, func() bool {
			c, err := net.Dial("tcp", address)
			if err == nil {
				c.Close()
			}
			return err == nil
		})
	}
	return f
}

// changed reads an example and changes it. What is to be changed must be there.
func changed(t *testing.T, example string, fill *strings.Replacer, changes []string) string {
	t.Helper()
	content, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for i := 0; i+1 < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			t.Fatalf("%s has no %q any more; this test changes it", example, changes[i])
		}
		text = strings.ReplaceAll(text, changes[i], fill.Replace(changes[i+1]))
	}
	return text
}

// runBeside runs a program until the test's end. What it says is logged when the test fails.
func runBeside(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	log := &syncBuffer{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // so that it ends its children, too
		select {
		case <-ended:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			<-ended
		}
		if t.Failed() {
			t.Logf("%s said:\n%.4000s", cmd.Path, log.String())
		}
	})
}

type syncBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

func TestBehindAProxy(t *testing.T) {
	t.Parallel()
	config := fmt.Sprintf("auth:\n  operators: [{name: o, role: operator, token_sha256: %s}]\n  edges: [{edge_id: \"*\", token_sha256: %s}]\n"+
		"client: {allowed_origins: [\"https://console.example\"]}\n", hashOf("operator-token"), hashOf("edge-token"))
	for _, p := range proxies {
		t.Run(p.program, func(t *testing.T) {
			t.Parallel()
			direct := startDaemon(t, config)
			f := p.start(t, direct)
			client := &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: f.tlsConfig()}}
			t.Cleanup(client.CloseIdleConnections)
			d := &testDaemon{t: t, http: f.https, wire: f.https, edge: f.edge, scheme: "https", client: client}
			stream := d.stream("/fleet/events", operator...)
			runEdge(t, edge.Options{ID: "plain", Address: f.edge})
			runEdge(t, edge.Options{ID: "tls", Address: f.tls, TLS: func() (*tls.Config, error) { return f.tlsConfig(), nil }})
			streamIsLive(t, stream, d)
			for _, id := range []string{"plain", "tls"} {
				testkit.Eventually(t, id+" is connected", func() bool { return at(d.get("/edges/"+id, operator...).json, "connected") == true })
				d.get("/edges/"+id+"/status", operator...).is(200, "source", "live")
				d.post(id, `{"operation":"edge.ping"}`, operator...).is(200, "state", "succeeded")
			}
			d.get("/edges").isProblem(401, "unauthenticated")
			clientWire(t, f)
		})
	}
}

var operator = []string{"Authorization", "Bearer operator-token"}

func (f inFront) tlsConfig() *tls.Config {
	c := f.authority.Client()
	c.ServerName = "localhost" // its address isn't in the certificate
	return c
}

// runEdge runs an Edge as other programs have it, with the package edge.
func runEdge(t *testing.T, o edge.Options) {
	t.Helper()
	o.Token = func() (string, error) { return "edge-token", nil }
	e, err := edge.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// streamIsLive wants events to come within a second of when they happened. On a busy machine one of them may be late, so it is the
// quickest of a few that counts: a proxy that buffers has them wait for each other.
func streamIsLive(t *testing.T, s *liveStream, d *testDaemon) {
	t.Helper()
	quickest := time.Hour
	for i := range 5 {
		e := d.connect(&iopv1.EdgeHelloRequest{EdgeId: fmt.Sprint("e", i), Token: "edge-token"})
		got := s.next()
		for got.data["edge_id"] != e.id {
			got = s.next()
		}
		at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(got.data["at"]))
		if err != nil {
			t.Fatal(err)
		}
		quickest = min(quickest, time.Since(at))
	}
	if quickest > time.Second {
		t.Errorf("the quickest event of 5 took %v", quickest)
	}
}

// clientWire says a Client's hello through the proxy, from pages that may and that may not.
func clientWire(t *testing.T, f inFront) {
	t.Helper()
	dialer := websocket.Dialer{TLSClientConfig: f.tlsConfig(), HandshakeTimeout: patience}
	for origin, status := range map[string]int{
		"": 101, "https://console.example": 101, "https://" + f.https: 101,
		"https://evil.example": 403, "http://console.example": 403, "https://" + strings.Split(f.https, ":")[0]: 403, "null": 403,
	} {
		h := http.Header{}
		if origin != "" {
			h.Set("Origin", origin)
		}
		ws, response, err := dialer.Dial("wss://"+f.https+"/client", h)
		if response == nil || response.StatusCode != status {
			t.Errorf("Origin %q: %v, want %d", origin, err, status)
		}
		if err != nil {
			continue
		}
		_ = ws.SetReadDeadline(time.Now().Add(patience))
		if m := clientHello(t, ws, &iopv1.ClientHelloRequest{Token: "operator-token"}); m.GetClientHelloResponse() == nil {
			t.Errorf("Origin %q: the hello was answered %v", origin, m)
		}
		ws.Close()
	}
}

// TestCertificatesThroughAProxy: an Edge's own certificate reaches the daemon through the port that is passed through.
func TestCertificatesThroughAProxy(t *testing.T) {
	t.Parallel()
	for _, p := range proxies {
		t.Run(p.program, func(t *testing.T) {
			t.Parallel()
			servers, edges := testkit.NewAuthority(), testkit.NewAuthority()
			d := startTLSDaemon(t, servers, edges, tlsConfig)
			f := p.start(t, d)
			through := &testDaemon{t: t, edge: f.edge}
			config := edges.Client("seoul-1")
			config.RootCAs, config.ServerName = servers.Pool(), "localhost"
			if _, m := through.tlsHello(config, helloOf("seoul-2")); m.GetError().GetCode() != noPermission {
				t.Errorf("a certificate for another name: %v", m)
			}
			c, m := through.tlsHello(config, helloOf("seoul-1"))
			if m.GetEdgeHelloResponse() == nil {
				t.Fatalf("a certificate that names the Edge: %v", m)
			}
			waiting := d.postLater("seoul-1", `{"operation":"a"}`)
			e := newTestEdge(t, "seoul-1", c)
			e.reply(e.command(), succeeded)
			(<-waiting).is(200)
		})
	}
}
