package fleet

import (
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
)

// step is where an Edge's life is: each takes its steps at its own moment of the interval.
func (e *edge) step(now time.Time) uint64 {
	every := e.shard.f.opts.PushInterval
	if every <= 0 {
		return 0
	}
	return uint64(now.UnixNano()+e.offset()) / uint64(every)
}

func (e *edge) offset() int64 {
	return int64(mix(e.number, 0, 0, 0) % uint64(e.shard.f.opts.PushInterval))
}

// nextChange waits for the next step.
func (e *edge) nextChange() {
	every := e.shard.f.opts.PushInterval
	if every > 0 {
		into := (time.Now().UnixNano() + e.offset()) % int64(every)
		e.after(every-time.Duration(into)+time.Millisecond, changeDue)
	}
}

// change tells of a step: the snapshot, and an event of the first node.
func (e *edge) change() {
	e.nextChange()
	if e.behaviour == Mute {
		return
	}
	e.push()
	e.event()
}

func (e *edge) push() {
	now := time.Now()
	e.send(&iopv1.Envelope{Body: &iopv1.Envelope_EdgeStatusResponse{
		EdgeStatusResponse: e.shard.f.model.snapshot(e.id, e.number, e.step(now), now, "")}})
	e.shard.f.stats.snapshots.Add(1)
}

// event says whether the first node came, went or changed. Its number is one more than that of the Edge's last event, and it says
// since which number all were said on this link, so that a live reader sees what is out of order or missing.
func (e *edge) event() {
	f, now := e.shard.f, time.Now()
	step := e.step(now)
	kind := iopv1.NodeEventKind_NODE_EVENT_KIND_PROVIDER_CHANGED
	if up := f.model.up(e.number, 0, step); up != f.model.up(e.number, 0, step-1) {
		kind = iopv1.NodeEventKind_NODE_EVENT_KIND_DISCONNECTED
		if up {
			kind = iopv1.NodeEventKind_NODE_EVENT_KIND_READY
		}
	}
	counted := e
	if e.clone {
		counted = e.twin // two with one id, and one row of numbers
	}
	counted.said++
	if e.since == 0 {
		e.since = counted.said
	}
	if e.twin != nil {
		e.twin.since = 0
	}
	f.opts.Ledger.SaidEvent(e.number, counted.said, e.since)
	e.send(&iopv1.Envelope{Body: &iopv1.Envelope_EdgeNodeEvent{EdgeNodeEvent: &iopv1.EdgeNodeEvent{
		NodeId: "gpu-0", Kind: kind, Message: EventMessage(counted.said, e.since), OccurredAt: timestamppb.New(now)}}})
	f.stats.events.Add(1)
}

const eventPrefix, eventSince = "load event ", " since "

// EventMessage is what an Edge's event says: its number, and the number of the first event since which all were said on the same link.
func EventMessage(number, since uint64) string {
	return eventPrefix + strconv.FormatUint(number, 10) + eventSince + strconv.FormatUint(since, 10)
}

// ParseEvent reads an EventMessage; false for any other.
func ParseEvent(message string) (number, since uint64, ok bool) {
	numbers, isOne := strings.CutPrefix(message, eventPrefix)
	first, second, _ := strings.Cut(numbers, eventSince)
	number, err := strconv.ParseUint(first, 10, 64)
	since, err2 := strconv.ParseUint(second, 10, 64)
	return number, since, isOne && err == nil && err2 == nil
}
