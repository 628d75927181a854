package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"iop/client"
	"iop/internal/testkit"
)

var testNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func testApp() *app {
	return &app{now: func() time.Time { return testNow }, format: plainTable, surroundings: surroundings{env: func(string) string { return "" }}}
}

func before(d time.Duration) *time.Time {
	at := testNow.Add(-d)
	return &at
}

func ptr[T any](v T) *T { return &v }

func provider(id string, status client.ProviderStatus, health client.Health) *client.Provider {
	return &client.Provider{ProviderID: id, Status: status, Health: health}
}

func TestTrouble(t *testing.T) {
	well := &client.Edge{EdgeID: "a", State: client.Connected, Connected: true}
	gone := &client.Edge{EdgeID: "a", State: client.Disconnected, DisconnectedAt: before(5 * time.Minute), DisconnectReason: ptr("heartbeat_timeout")}
	site := func(nodes ...*client.Node) *client.Status { return &client.Status{Connected: true, Nodes: nodes} }
	for name, c := range map[string]struct {
		edge   *client.Edge
		status *client.Status
		fault  client.Code
		want   []string
	}{
		"all right":           {well, site(&client.Node{NodeID: "n", Connected: true, Providers: []*client.Provider{provider("p", "busy", "online")}}), "", nil},
		"nothing known":       {nil, nil, "", nil},
		"gone":                {gone, nil, client.EdgeDisconnected, []string{"gone 5m ago: its link died without a word"}},
		"gone, never known":   {&client.Edge{State: client.Disconnected}, nil, "", []string{"disconnected"}},
		"a reason of later":   {&client.Edge{State: client.Disconnected, DisconnectedAt: before(0), DisconnectReason: ptr("bored\x1b")}, nil, "", []string{"gone now: bored "}},
		"silent":              {&client.Edge{State: client.Stale, Connected: true, LastSeenAt: before(40 * time.Second)}, nil, "", []string{"silent since 40s ago"}},
		"a clone":             {&client.Edge{State: client.Connected, Connected: true, Conflict: true}, nil, "", []string{"two instances use this id"}},
		"no answer":           {well, nil, client.EdgeTimeout, []string{"did not answer in time"}},
		"came back meanwhile": {well, nil, client.EdgeDisconnected, []string{"has no connection"}},
		"drained": {well, site(&client.Node{NodeID: "n", Connected: true, Providers: []*client.Provider{provider("p", "unavailable", "online")}}), "",
			[]string{"n/p is unavailable, but online: drained or disabled"}},
		"a fault of later": {well, nil, "edge_odd", []string{"edge_odd"}},
		"a node that's down is one trouble": {well, site(&client.Node{NodeID: "n1", Providers: []*client.Provider{provider("p", "unavailable", "offline"), provider("q", "unavailable", "offline")}},
			&client.Node{NodeID: "n2", Connected: true, Providers: []*client.Provider{provider("p", "available", "degraded"), provider("q", "unavailable", "unspecified"), provider("r", "unspecified", "online"), provider("s", "unspecified", "unspecified")}}), "",
			[]string{"node n1 is down", "n2/p is degraded", "n2/q is unavailable", "n2/r is online, but whether it takes requests isn't known",
				"n2/s is in an unknown state"}},
		"a health that isn't told": {well, site(&client.Node{NodeID: "n", Connected: true, Providers: []*client.Provider{provider("p", "available", "unspecified")}}), "", nil},
		"a status of later":        {well, site(&client.Node{NodeID: "n", Connected: true, Providers: []*client.Provider{provider("p", "warming\x1b", "online")}}), "", []string{"n/p is in an unknown state: warming "}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, testApp().trouble(c.edge, c.status, c.fault, nil)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := inShort([]string{"a", "b", "c", "d", "e"}, false); got != "a; b; c; and 2 more" {
		t.Error(got)
	}
}

// Every failure ends with what to try next, and every code of the interface has an exit code of its own choosing.
func TestEveryErrorSaysWhatToTry(t *testing.T) {
	a := testApp()
	a.asked, a.edge = &target{address: "http://h", using: "http://h", from: "from --addr"}, "seoul-1"
	for _, err := range []error{
		errors.New("odd"), &usageError{errors.New("x"), "iop status"}, failure{what: "x", next: "y", exit: exitDegraded},
		&client.Uncertain{Key: "k", Err: errors.New("x")}, &client.Uncertain{Restarted: true}, &client.Unexpected{Status: 404}, &client.Unexpected{Status: 503}, &client.TooLarge{Bound: 1 << 20},
		&client.Unreachable{Err: errors.New("x")}, &client.GoAway{}, &client.UpgradeRefused{Status: 404}, &client.Problem{Code: "newer"},
	} {
		f := a.explain(err)
		lines := strings.Split(strings.TrimSuffix(f.text(), "\n"), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "  try: ") || len(last) < len("  try: x") || f.exit == exitOK {
			t.Errorf("%T is told as %q, exit code %d", err, f.text(), f.exit)
		}
	}
	for code, want := range map[client.Code]int{
		client.InvalidRequest: 2, client.Unauthenticated: 5, client.PermissionDenied: 5, client.NotFound: 4, client.EdgeNotFound: 4,
		client.OperationNotFound: 4, client.MethodNotAllowed: 1, client.IdempotencyConflict: 2, client.PayloadTooLarge: 2,
		client.UnsupportedMediaType: 1, client.OperationUnsupported: 2, client.EdgeBusy: 6, client.EdgeError: 1, client.EdgeDisconnected: 6,
		client.EdgeTimeout: 6, client.ShuttingDown: 6, client.Internal: 1, client.FailedPrecondition: 1, client.ResourceExhausted: 6,
	} {
		f := a.explain(&client.Problem{Code: code, Detail: "x"})
		if f.exit != want || strings.Contains(f.next, "EDGE ") {
			t.Errorf("%s: exit code %d, want %d; try %q", code, f.exit, want, f.next)
		}
	}
}

// What to try after a command that failed depends on how far it came: whoever is told that it may have run finds out, and who is told
// that it never did sends it again. So does the exit code.
func TestAFailedCommandSaysWhetherItRan(t *testing.T) {
	for _, c := range []struct {
		code        client.Code
		state       client.OperationState
		exit        int
		says, tries string
	}{
		{client.EdgeTimeout, client.Unknown, exitNotNow, "; the command's state is unknown (it may have run)", "iop ops get e op --wait, once the Edge is back"},
		{client.EdgeTimeout, client.Expired, exitNotNow, "; the command's state is expired (it never ran)", "the same command again, without --key or with another one"},
		{client.EdgeDisconnected, client.Running, exitNotNow, "; the command's state is running", "iop ops get e op --wait, once the Edge is back"},
		{client.EdgeError, client.Unknown, exitNotNow, "; the command's state is unknown (it may have run)", "iop ops get e op --wait, once the Edge is back"},
		{client.EdgeError, client.Failed, exitFailed, "; the command's state is failed", "iop ops get e op; iop status e"},
		{client.ShuttingDown, client.Unknown, exitNotNow, "(shutting_down)", "it may have run, and no record of it is left"},
		{client.ShuttingDown, client.Expired, exitNotNow, "; the command's state is expired (it never ran)", "the same command again, without --key or with another one"},
	} {
		o := &client.Operation{OperationID: "op", EdgeID: "e", State: c.state}
		f := testApp().explain(&client.Problem{Code: c.code, Operation: o})
		if !strings.HasSuffix(f.what, c.says) || !strings.HasPrefix(f.next, c.tries) || f.exit != c.exit {
			t.Errorf("%s, %s: it says %q, to try %q, and has exit code %d", c.code, c.state, f.what, f.next, f.exit)
		}
	}
}

// A restart between two pages of a list is no mistake of whoever asked for it.
func TestARestartBetweenTwoPages(t *testing.T) {
	f := &testFleet{}
	if err := f.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.stop)
	for _, id := range []string{"seoul-1", "busan-1"} {
		if err := f.connect(id, nil); err != nil {
			t.Fatal(err)
		}
	}
	repo, err := client.New("http://"+f.daemon.Addresses().HTTP, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(repo.Close)
	var page *client.FleetStatus
	testkit.Eventually(t, "a list has a second page", func() bool {
		page, err = repo.FleetStatus(t.Context(), client.FleetQuery{Limit: 1})
		return err == nil && page.NextCursor != nil
	})
	if err := f.restart(); err != nil {
		t.Fatal(err)
	}
	_, err = repo.FleetStatus(t.Context(), client.FleetQuery{Limit: 1, Cursor: *page.NextCursor})
	if told := testApp().explain(err); told.exit != exitNotNow || told.what != "the Control Plane was restarted while the list was fetched" {
		t.Errorf("%v: exit code %d, %s", err, told.exit, told.what)
	}
}
