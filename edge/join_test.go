package edge

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	iopv1 "iop/proto/iop/v1"
)

// lateSite has something to tell after a while, and announces.
type lateSite struct {
	nodes []Node
	after time.Duration
	tell  func(Announcement)
}

func (s *lateSite) Nodes() []Node { return s.nodes }

func (s *lateSite) Announce(tell func(Announcement)) { s.tell = tell }

func (s *lateSite) Run(ctx context.Context, changed func()) {
	select {
	case <-time.After(s.after):
		changed()
		<-ctx.Done()
	case <-ctx.Done():
	}
}

func TestJoinedSitesTellOnceAllHaveLooked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &lateSite{nodes: []Node{{ID: "b"}}, after: time.Second}
		joined := JoinSites(noSite{}, &lateSite{nodes: []Node{{ID: "a"}}}, slow)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began := time.Now()
		var told []time.Duration
		go joined.Run(ctx, func() { told = append(told, time.Since(began)) })
		time.Sleep(time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([]time.Duration{time.Second}, told); diff != "" {
			t.Errorf("told at (-want +got):\n%s", diff)
		}
		if nodes := joined.Nodes(); len(nodes) != 2 || nodes[0].ID != "a" || nodes[1].ID != "b" {
			t.Errorf("nodes are %v", nodes)
		}
		var announced []Announcement
		joined.(Announcer).Announce(func(a Announcement) { announced = append(announced, a) })
		slow.tell(Announcement{NodeID: "b", Ready: true})
		if diff := cmp.Diff([]Announcement{{"b", true}}, announced); diff != "" {
			t.Errorf("announced (-want +got):\n%s", diff)
		}
	})
}

func TestAnnouncementsAreEvents(t *testing.T) {
	for _, ready := range []bool{true, false} {
		want := iopv1.NodeEventKind_NODE_EVENT_KIND_DISCONNECTED
		if ready {
			want = iopv1.NodeEventKind_NODE_EVENT_KIND_READY
		}
		if e := (Announcement{NodeID: "a", Ready: ready}).event(time.Now()); e.NodeId != "a" || e.Kind != want || e.Message == "" {
			t.Errorf("the event is %v", e)
		}
	}
	up, down := []Node{{ID: "a", Announced: true, Connected: true}}, []Node{{ID: "a", Announced: true}}
	for _, change := range [][2][]Node{{up, down}, {down, up}, {up, nil}, {nil, up}} {
		if events := changesBetween(change[0], change[1], time.Now()); len(events) != 0 {
			t.Errorf("what the site announces is said again: %v", events)
		}
	}
}

func TestProvidersOnWireAndBack(t *testing.T) {
	want := []Provider{
		{ID: "p", Type: "vllm", Models: []string{"m"}, Status: Busy, Health: Degraded, General: Counters{1, 2, 3}, LongContext: Counters{4, 5, 6}},
		{ID: "q", Models: []string{}, Status: Unavailable, Health: Offline},
		{ID: "r", Models: []string{}, Status: Available, Health: Online},
		{ID: "s", Models: []string{}},
	}
	if diff := cmp.Diff(want, ProvidersFromWire(ProvidersOnWire(want))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := ProvidersFromWire([]*iopv1.EdgeProviderSnapshot{{ProviderId: "p", Status: 99}}); got[0].Status != "" {
		t.Errorf("an unknown status is %q", got[0].Status)
	}
}
