package edge

import (
	"time"

	"iop/wire"
)

// heartbeat decides when to ping and when the other side is gone. Its times come from time.Now and so are compared by
// the monotonic clock: a corrected wall clock ends nothing.
type heartbeat struct {
	interval time.Duration
	heard    time.Time // when the last whole frame came
	next     time.Time // when the next Ping is due
}

func newHeartbeat(interval time.Duration, now time.Time) *heartbeat {
	h := &heartbeat{heard: now}
	h.setInterval(interval, now)
	return h
}

// setInterval puts an interval in force, counted from now. One that isn't set or makes no sense is the default.
func (h *heartbeat) setInterval(interval time.Duration, now time.Time) {
	h.interval = wire.Heartbeat(interval, wire.DefaultHeartbeat)
	h.next = now.Add(h.interval)
}

// frame notes a sign of life: any whole frame.
func (h *heartbeat) frame(now time.Time) { h.heard = now }

// silentAt is when silence has lasted too long.
func (h *heartbeat) silentAt() time.Time { return h.heard.Add(wire.SilentAfter(h.interval)) }

// due tells whether a Ping is due, and if so counts it as sent.
func (h *heartbeat) due(now time.Time) bool {
	if now.Before(h.next) {
		return false
	}
	h.next = now.Add(h.interval)
	return true
}

// wake is when to look again.
func (h *heartbeat) wake() time.Time { return earlier(h.next, h.silentAt()) }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
