package edge

import (
	"testing"
	"time"

	"iop/wire"
)

func TestHeartbeatDecides(t *testing.T) {
	begin := time.Now()
	at := func(d time.Duration) time.Time { return begin.Add(d) }
	h := newHeartbeat(10*time.Second, begin)
	if h.due(at(9 * time.Second)) {
		t.Error("a ping before the interval")
	}
	if !h.due(at(10*time.Second)) || h.due(at(10*time.Second)) {
		t.Error("one ping is due at the interval")
	}
	if h.due(at(19*time.Second)) || !h.due(at(95*time.Second)) || h.due(at(100*time.Second)) {
		t.Error("a ping that was late is followed by one an interval later, and no volley")
	}
	h = newHeartbeat(10*time.Second, begin)
	if got := h.silentAt(); got != at(25*time.Second) {
		t.Errorf("silent at %v", got.Sub(begin))
	}
	h.frame(at(7 * time.Second))
	h.setInterval(20*time.Second, at(8*time.Second))
	if h.next != at(28*time.Second) || h.silentAt() != at(57*time.Second) || h.wake() != h.next {
		t.Errorf("after a new interval: next %v, silent %v", h.next.Sub(begin), h.silentAt().Sub(begin))
	}
}

func TestHeartbeatIntervalThatMakesNoSense(t *testing.T) {
	if got := newHeartbeat(0, time.Now()).interval; got != wire.DefaultHeartbeat {
		t.Errorf("none becomes %v", got)
	}
	if got := newHeartbeat(time.Hour, time.Now()).interval; got != wire.LongestHeartbeat {
		t.Errorf("an hour becomes %v", got)
	}
}

func TestPushes(t *testing.T) {
	begin := time.Now()
	at := func(d time.Duration) time.Time { return begin.Add(d) }
	one, two := []Node{node("a", true)}, []Node{node("a", false)}
	var p pushes
	if _, waiting := p.wake(); !p.due(begin) || waiting {
		t.Error("the first push is due at once")
	}
	if !p.take(nil, begin) {
		t.Error("the first push is news even when there is nothing")
	}
	if p.due(at(time.Hour)) {
		t.Error("a push is due without a change")
	}
	p.changed = true
	if wake, waiting := p.wake(); p.due(at(999*time.Millisecond)) || !p.due(at(time.Second)) || !waiting || wake != at(time.Second) {
		t.Error("a push is due a second after the last")
	}
	if !p.take(one, at(time.Second)) {
		t.Error("a change is no news")
	}
	p.changed = true
	if p.take(one, at(2*time.Second)) || p.due(at(time.Hour)) {
		t.Error("what was pushed already is news")
	}
	p.changed = true
	if !p.due(at(2 * time.Second)) {
		t.Error("a push that was not needed counts as one")
	}
	if !p.take(two, at(2*time.Second)) {
		t.Error("a change is no news")
	}
	p.refused()
	if p.due(at(2*time.Second)) || !p.due(at(3*time.Second)) || !p.take(two, at(3*time.Second)) {
		t.Error("what had no room isn't tried again after the gap")
	}
	if p.changed = true; p.take(two, at(4*time.Second)) {
		t.Error("what was pushed at the second try is news")
	}
}

func TestServerClock(t *testing.T) {
	begin := time.Now()
	server := begin.Add(3 * time.Hour) // this machine's clock is off
	at := func(d time.Duration) time.Time { return begin.Add(d) }
	var c serverClock
	if c.expired(time.Unix(0, 0), begin) {
		t.Error("something is expired by a clock that isn't known")
	}
	c.read(begin, at(2*time.Second), server.Add(time.Second)) // true at 1 s, ± 1 s
	for _, x := range []struct {
		moment  time.Time
		now     time.Duration
		expired bool
	}{
		{server.Add(10 * time.Second), 9 * time.Second, false},
		{server.Add(10 * time.Second), 11 * time.Second, false}, // as likely as not
		{server.Add(10 * time.Second), 12 * time.Second, true},
		{begin, 2 * time.Second, true},
	} {
		if got := c.expired(x.moment, at(x.now)); got != x.expired {
			t.Errorf("moment %v at %v: expired %v", x.moment.Sub(server), x.now, got)
		}
	}
	c.read(at(3*time.Second), at(13*time.Second), server.Add(13*time.Second)) // a round trip of 10 s knows less than what we have
	if c.expired(server.Add(16*time.Second), at(14*time.Second)) {
		t.Error("a bad reading replaced a good one")
	}
	c.read(at(20*time.Second), at(20*time.Second), server.Add(30*time.Second))
	if !c.expired(server.Add(35*time.Second), at(26*time.Second)) {
		t.Error("a better reading is not taken")
	}
	c.read(at(5*time.Hour), at(5*time.Hour+4*time.Second), server.Add(9*time.Hour))
	if !c.expired(server.Add(8*time.Hour), at(5*time.Hour+4*time.Second)) {
		t.Error("an old reading is kept for ever")
	}
	c.read(at(5*time.Hour+5*time.Second), at(5*time.Hour+15*time.Second), server.Add(3*time.Hour)) // not by much better, and it can't be as we think
	if c.expired(server.Add(4*time.Hour), at(5*time.Hour+15*time.Second)) || !c.expired(server.Add(2*time.Hour), at(5*time.Hour+15*time.Second)) {
		t.Error("a reading stands that a new one proves false")
	}
	c.read(at(5*time.Hour+20*time.Second), at(5*time.Hour+20*time.Second), server.Add(9*time.Hour))
	c.read(at(6*time.Hour), at(5*time.Hour), time.Unix(0, 0)) // received before it was sent
	if !c.expired(server.Add(8*time.Hour), at(6*time.Hour)) {
		t.Error("an impossible reading is taken")
	}
}
