package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"iop/internal/testkit"
	"iop/internal/testkit/testdaemon"
	"iop/load/daemon"
)

// testDaemon is the real daemon as a process of its own.
type testDaemon struct {
	*daemon.Daemon
	t   testing.TB
	log string // a file
}

func startDaemon(t testing.TB, args ...string) *testDaemon {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return &testDaemon{testdaemon.Start(t, log, append([]string{"--log-format", "json"}, args...)...), t, log.Name()}
}

// crash ends it without a word, and starts it again at the same addresses.
func (d *testDaemon) crash() {
	d.t.Helper()
	d.Kill()
	if err := d.Again(); err != nil {
		d.t.Fatal(err)
	}
}

func (d *testDaemon) repository(o Options) *Repository {
	return repositoryOf(d.t, "http://"+d.Addresses().HTTP, o)
}

func TestRealEdges(t *testing.T) {
	d := startDaemon(t)
	r, ctx := d.repository(Options{}), within(t)
	for _, id := range []string{"c", "a", "b"} {
		connectEdge(t, d.Addresses().EdgeWire, id)
	}
	var ids []string
	for e, err := range r.AllEdges(ctx, EdgeQuery{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.State != Connected || e.ConnectedAt == nil || e.DisconnectedAt != nil || e.DisconnectReason != nil || e.Name != nil || e.HeartbeatIntervalMS == 0 || e.ClockSkewMS != nil {
			t.Errorf("%+v", e)
		}
		ids = append(ids, e.EdgeID)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, ids); diff != "" {
		t.Error(diff)
	}
	page, err := r.Edges(ctx, EdgeQuery{Labels: map[string]string{"site": "b"}})
	if err != nil || page.Total != 1 || page.EdgeCounts.Connected != 1 || page.Edges[0].EdgeID != "b" || page.NextCursor != nil {
		t.Errorf("%+v, %v", page, err)
	}
	if _, err := r.Edge(ctx, "nobody"); !errors.Is(err, EdgeNotFound) {
		t.Errorf("nobody: %v", err)
	}
	if v, err := r.Version(ctx); err != nil || v.GoVersion == "" || len(v.ProtocolVersions) == 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestRealStatusAndFleet(t *testing.T) {
	d := startDaemon(t)
	r, ctx := d.repository(Options{}), within(t)
	gone := connectEdge(t, d.Addresses().EdgeWire, "a")
	connectEdge(t, d.Addresses().EdgeWire, "b")
	s, err := r.Status(ctx, "b", StatusQuery{Timeout: soon})
	if err != nil || s.Source != Live || s.Stale || s.ObservedAt == nil || len(s.Nodes) != 1 || s.Nodes[0].Providers[0].General != (Counters{8, 3, 1}) {
		t.Errorf("%+v, %v", s, err)
	}
	gone.close()
	testkit.Eventually(t, "a is gone", func() bool { e, err := r.Edge(ctx, "a"); return err == nil && !e.Connected })
	_, err = r.Status(ctx, "a", StatusQuery{})
	var p *Problem
	if !errors.As(err, &p) || p.Code != EdgeDisconnected || p.DisconnectedAt == nil || *p.DisconnectReason != "connection_closed" || p.RequestID == "" {
		t.Errorf("got %v", err)
	}
	age := time.Hour
	if s, err := r.Status(ctx, "a", StatusQuery{MaxAge: &age}); err != nil || !s.Stale || s.Connected || s.Source != Cached {
		t.Errorf("%+v, %v", s, err)
	}
	sum, err := r.FleetSummary(ctx, FleetQuery{MaxAge: &age})
	if err != nil || sum.Edges != (EdgeCounts{Total: 2, Connected: 1, Disconnected: 1}) || sum.Fresh.General.Free != 5 || sum.Stale.Edges != 1 || sum.OldestAgeMS == nil {
		t.Errorf("%+v, %v", sum, err)
	}
	none := time.Duration(0)
	pages := 0
	for f, err := range r.AllFleetStatus(ctx, FleetQuery{MaxAge: &none, Timeout: soon, Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		pages++
		if pages == 1 && (len(f.Errors) != 1 || f.Errors[0] != EdgeFault{"a", EdgeDisconnected}) || pages == 2 && (len(f.Statuses) != 1 || f.Unanswered != 1) {
			t.Errorf("page %d: %+v", pages, f)
		}
	}
	models, err := r.FleetModels(ctx, FleetQuery{})
	if err != nil || pages != 2 || len(models.Models) != 1 || models.Models[0].Model != "m" || models.Models[0].General.Capacity != 8 {
		t.Errorf("%d pages; %+v, %v", pages, models, err)
	}
}

func TestRealCommands(t *testing.T) {
	d := startDaemon(t)
	r, ctx := d.repository(Options{}), within(t)
	e := connectEdge(t, d.Addresses().EdgeWire, "a")
	c := Command{EdgeID: "a", Operation: "ok", NodeID: "gpu-1", Parameters: map[string]any{"n": 1.5}, Reason: "why", Key: NewKey()}
	o, err := r.Command(ctx, c)
	if err != nil || o.State != Succeeded || *o.NodeID != "gpu-1" || *o.Reason != "why" || o.RequestedBy != nil || o.FinishedAt == nil ||
		!cmp.Equal(o.Result, map[string]any{"parameters": map[string]any{"n": 1.5}}) {
		t.Errorf("%+v, %v", o, err)
	}
	if again, err := r.Command(ctx, c); err != nil || again.OperationID != o.OperationID || e.ran("ok") != 1 {
		t.Errorf("the same key: %+v, %v; it ran %d times", again, err, e.ran("ok"))
	}
	c.Reason = "another"
	if _, err := r.Command(ctx, c); !errors.Is(err, IdempotencyConflict) {
		t.Errorf("the same key and another body: %v", err)
	}
	if o, err := r.Command(ctx, Command{EdgeID: "a", Operation: "fail"}); err != nil || o.State != Failed || *o.Message != "no luck" {
		t.Errorf("%+v, %v", o, err)
	}
	var p *Problem
	if _, err := r.Command(ctx, Command{EdgeID: "a", Operation: "error"}); !errors.As(err, &p) || p.Code != EdgeError || *p.EdgeError != "INTERNAL" || p.Operation.State != Failed {
		t.Errorf("got %v", err)
	}
	if _, err := r.Command(ctx, Command{EdgeID: "a", Operation: "silent", Timeout: 20 * time.Millisecond}); !errors.As(err, &p) || p.Code != EdgeTimeout || p.Operation.State != Unknown {
		t.Errorf("got %v", err)
	}
	if _, err := r.Command(ctx, Command{EdgeID: "a", Operation: "unheard"}); !errors.Is(err, OperationUnsupported) {
		t.Errorf("got %v", err)
	}
	watchSlow(ctx, t, r, e)
	var states []OperationState
	for o, err := range r.AllOperations(ctx, OperationQuery{EdgeID: "a", Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, o.State)
	}
	if diff := cmp.Diff([]OperationState{Succeeded, Unknown, Failed, Failed, Succeeded}, states); diff != "" {
		t.Error(diff)
	}
	if _, err := r.Operation(ctx, "a", "nothing"); !errors.Is(err, OperationNotFound) {
		t.Errorf("got %v", err)
	}
}

// watchSlow has an operation watched from its beginning to its end.
func watchSlow(ctx context.Context, t *testing.T, r *Repository, e *fakeEdge) {
	t.Helper()
	o, err := r.Command(ctx, Command{EdgeID: e.id, Operation: "slow", NoWait: true})
	if err != nil || o.State.Terminal() {
		t.Fatalf("%+v, %v", o, err)
	}
	var last *Operation
	for o, err := range r.Watch(ctx, WatchQuery{EdgeID: e.id, OperationID: o.OperationID}) {
		if err != nil {
			t.Fatal(err)
		}
		if last = o; o.State == Running {
			close(e.finish)
		}
	}
	if last.State != Succeeded {
		t.Errorf("at last: %+v", last)
	}
}

func TestRealEvents(t *testing.T) {
	d := startDaemon(t)
	r := d.repository(Options{})
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	kinds := make(chan string, 64)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for u, err := range r.Follow(ctx, FollowQuery{After: "nothing that is known"}) {
			if err == nil && u.Event != nil {
				kinds <- u.Event.Kind + " " + *u.Event.EdgeID
			} else if err == nil {
				kinds <- "gap " + string(u.Gap.Reason)
			}
		}
	}()
	connectEdge(t, d.Addresses().EdgeWire, "a").close()
	next := func(want string) {
		t.Helper()
		select {
		case got := <-kinds:
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		case <-time.After(soon):
			t.Fatalf("no %s", want)
		}
	}
	next("gap restarted")
	next("edge_connected a")
	next("edge_disconnected a")
	d.crash()
	next("gap restarted")
	connectEdge(t, d.Addresses().EdgeWire, "b")
	next("edge_connected b")
	cancel()
	<-ended
	page, err := d.repository(Options{}).Events(within(t), EventQuery{EdgeID: "b", Limit: 1})
	if err != nil || len(page.Events) != 1 || page.Next == nil {
		t.Errorf("%+v, %v", page, err)
	}
}

// A Control Plane that crashes with a command on its way, and is back before the caller has given up, knows nothing of its
// key: the command must not run a second time.
func TestRealCommandIsNotRunTwiceOverACrash(t *testing.T) {
	d := startDaemon(t)
	r := d.repository(Options{})
	first := connectEdge(t, d.Addresses().EdgeWire, "a")
	result := make(chan error, 1)
	go func() {
		_, err := r.Command(within(t), Command{EdgeID: "a", Operation: "silent"})
		result <- err
	}()
	testkit.Eventually(t, "the Edge has the command", func() bool { return first.ran("silent") == 1 })
	d.crash()
	second := connectEdge(t, d.Addresses().EdgeWire, "a")
	err := <-result
	if u := (*Uncertain)(nil); !errors.As(err, &u) || !u.Restarted {
		t.Errorf("got %v", err)
	}
	if n := second.ran("silent"); n != 0 {
		t.Errorf("it ran %d times more", n)
	}
}

func TestRealTokens(t *testing.T) {
	hash := func(token string) string { h := sha256.Sum256([]byte(token)); return hex.EncodeToString(h[:]) }
	file := filepath.Join(t.TempDir(), "cp.yaml")
	text := fmt.Sprintf("auth:\n  operators:\n    - {name: alice, role: operator, token_sha256: %s}\n    - {name: bob, role: viewer, token_sha256: %s}\n", hash("alice-token"), hash("bob-token"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, "--config", file)
	ctx := within(t)
	connectEdge(t, d.Addresses().EdgeWire, "a")
	if _, err := d.repository(Options{}).Edge(ctx, "a"); !errors.Is(err, Unauthenticated) {
		t.Errorf("without token: %v", err)
	}
	bob := d.repository(Options{Token: "bob-token"})
	if _, err := bob.Edge(ctx, "a"); err != nil {
		t.Errorf("a viewer reads: %v", err)
	}
	if _, err := bob.Command(ctx, Command{EdgeID: "a", Operation: "ok"}); !errors.Is(err, PermissionDenied) {
		t.Errorf("a viewer commands: %v", err)
	}
	o, err := d.repository(Options{Token: "alice-token"}).Command(WithRequestID(ctx, "ticket-7"), Command{EdgeID: "a", Operation: "ok"})
	if err != nil || *o.RequestedBy != "alice" {
		t.Errorf("an operator commands: %+v, %v", o, err)
	}
	wireURL := "ws://" + d.Addresses().Wire
	if _, err := DialWire(ctx, wireURL, WireOptions{Token: "wrong"}); !errors.Is(err, Unauthenticated) {
		t.Errorf("hello with a wrong token: %v", err)
	}
	w, err := DialWire(ctx, wireURL, WireOptions{Token: "bob-token"})
	if err != nil {
		t.Fatal(err)
	}
	if trip, err := w.Ping(ctx); err != nil || trip.Took <= 0 {
		t.Errorf("%+v, %v", trip, err)
	}
	w.Close()
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
	if log, err := os.ReadFile(d.log); err != nil || !bytes.Contains(log, []byte("ticket-7")) {
		t.Errorf("the request's id isn't in the log, %v", err)
	}
}
