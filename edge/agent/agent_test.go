package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"iop/edge"
	"iop/edge/nodes"
	"iop/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

// patience is how long a busy machine may take for what takes milliseconds.
const patience = 20 * time.Second

// fixedSite has one node, whose provider's load the test sets.
type fixedSite struct {
	mu      sync.Mutex
	load    uint32
	changed func()
}

func (s *fixedSite) Nodes() []edge.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []edge.Node{{ID: "n", Providers: []edge.Provider{{ID: "p", Type: "vllm", Models: []string{"m"}, Status: edge.Available,
		Health: edge.Online, General: edge.Counters{Capacity: 8, InFlight: s.load}}}}}
}

func (s *fixedSite) Run(ctx context.Context, changed func()) {
	s.mu.Lock()
	s.changed = changed
	s.mu.Unlock()
	changed()
	<-ctx.Done()
}

func (s *fixedSite) set(load uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load = load
	s.changed()
}

// nodeWire is an Edge's Node wire on a real socket.
type nodeWire struct {
	t       *testing.T
	address string
	site    *nodes.Site
	stop    func()
}

func openNodeWire(t *testing.T, address string) *nodeWire {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	site, err := nodes.New(nodes.Options{Listener: l, Nodes: []nodes.Node{{ID: "n"}}, EdgeID: "e", HeartbeatInterval: 20 * time.Millisecond, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { site.Run(ctx, func() {}); close(done) }()
	w := &nodeWire{t: t, address: l.Addr().String(), site: site, stop: func() { cancel(); <-done }}
	t.Cleanup(w.stop)
	return w
}

// shows waits until the node looks so.
func (w *nodeWire) shows(what string, want func(edge.Node) bool) {
	w.t.Helper()
	for by := time.Now().Add(patience); !want(w.site.Nodes()[0]); time.Sleep(time.Millisecond) {
		if time.Now().After(by) {
			w.t.Fatalf("not within %v: %s; it is %+v", patience, what, w.site.Nodes()[0])
		}
	}
}

func runAgent(t *testing.T, o Options) (stop func()) {
	t.Helper()
	o.ReconnectInitial, o.ReconnectMax = 5*time.Millisecond, 10*time.Millisecond
	return start(t, newAgent(t, o))
}

func newAgent(t *testing.T, o Options) *Agent {
	t.Helper()
	o.NodeID, o.Logger = "n", quiet
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func start(t *testing.T, a *Agent) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		if err := a.Run(ctx); err != nil {
			t.Error(err)
		}
		close(done)
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func connected(n edge.Node) bool { return n.Connected }

func TestANodeIsToldAndComesBack(t *testing.T) {
	w := openNodeWire(t, "127.0.0.1:0")
	site := &fixedSite{}
	stop := runAgent(t, Options{Address: w.address, Site: site, Name: "One", Labels: map[string]string{"zone": "a"}})
	w.shows("ready", func(n edge.Node) bool {
		return n.Connected && n.Name == "One" && n.Labels["zone"] == "a" && n.Providers[0].General.Capacity == 8
	})
	site.set(3)
	w.shows("updated", func(n edge.Node) bool { return n.Providers[0].General.InFlight == 3 })
	w.stop()
	w = openNodeWire(t, w.address)
	w.shows("back at a restarted Edge", func(n edge.Node) bool { return n.Connected && n.Providers[0].General.InFlight == 3 })
	stop()
	w.shows("gone after its goodbye", func(n edge.Node) bool {
		return !n.Connected && n.Providers[0].Health == edge.Offline && n.Providers[0].General == edge.Counters{}
	})
}

func TestATokenIsReadAtEachHello(t *testing.T) {
	w := openNodeWire(t, "127.0.0.1:0")
	tries := 0
	runAgent(t, Options{Address: w.address, Site: &fixedSite{}, Token: func() (string, error) {
		if tries++; tries < 3 {
			return "", errors.New("not there yet")
		}
		return "t", nil
	}})
	w.shows("ready", connected)
}

func TestNewRefuses(t *testing.T) {
	_, err := New(Options{NodeID: "-", Address: "nowhere", ReconnectInitial: -1})
	if err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("error %v, want four", err)
	}
	many := map[string]string{}
	for i := range wire.MaxLabels + 1 {
		many[fmt.Sprint(i)] = ""
	}
	grows := strings.Repeat("\xff.", 100) // 200 bytes, and 400 as it is sent
	for what, o := range map[string]Options{"65 labels": {Labels: many}, "Name": {Name: grows}, "Version": {Version: strings.Repeat("x", 257)}, `label "k"`: {Labels: map[string]string{"k": grows}}} {
		o.NodeID, o.Address, o.Site = "n", "h:1", &fixedSite{}
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), what) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
