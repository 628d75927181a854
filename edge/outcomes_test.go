package edge

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	iopv1 "iop/proto/iop/v1"
)

func succeeded(id, message string) *iopv1.EdgeCommandResponse {
	return &iopv1.EdgeCommandResponse{CommandId: id, Outcome: iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED, Message: message}
}

func TestOutcomesForgetTheOldestFirst(t *testing.T) {
	o := newOutcomes(3, 1<<20)
	o.begin("runs", &run{id: "runs"})
	for i := range 5 {
		o.settle(succeeded(fmt.Sprint(i), ""))
	}
	for id, kept := range map[string]bool{"0": false, "1": false, "2": true, "3": true, "4": true} {
		if (o.settled[id] != nil) != kept {
			t.Errorf("outcome %s: kept is %v", id, !kept)
		}
	}
	if o.running["runs"] == nil {
		t.Error("a running command is forgotten")
	}
	o.settle(succeeded("runs", ""))
	if o.running["runs"] != nil || o.settled["runs"] == nil || o.settled["2"] != nil {
		t.Error("a command that ended isn't where it should be")
	}
}

func TestOutcomesAreBoundedInBytes(t *testing.T) {
	o := newOutcomes(1000, 10_000)
	for i := range 100 {
		o.settle(succeeded(fmt.Sprint(i), strings.Repeat("x", 900)))
		sum := 0
		for _, r := range o.settled {
			sum += proto.Size(r)
		}
		if sum != o.bytes || sum > 10_000 || len(o.order) != len(o.settled) {
			t.Fatalf("%d bytes counted, %d kept in %d", o.bytes, sum, len(o.settled))
		}
	}
	if o.settled["99"] == nil || o.settled["0"] != nil {
		t.Error("not the newest are kept")
	}
	big := succeeded("big", "done")
	big.Result = &structpb.Struct{Fields: map[string]*structpb.Value{"x": structpb.NewStringValue(strings.Repeat("x", 20_000))}}
	o.settle(big)
	if kept := o.settled["big"]; kept == nil || kept.Result != nil || kept.Outcome != big.Outcome || !strings.HasPrefix(kept.Message, "done ") {
		t.Errorf("a result without room is kept as %v", kept)
	}
	if o.settled["99"] == nil {
		t.Error("a result without room took the place of others")
	}
}

func TestTheFirstOutcomeStays(t *testing.T) {
	o := newOutcomes(10, 1000)
	o.settle(succeeded("a", "first"))
	o.settle(succeeded("a", "second"))
	if o.settled["a"].Message != "first" || len(o.order) != 1 {
		t.Errorf("kept %v", o.settled)
	}
}

// link is an eventSender that takes so many events and is then over.
type link struct {
	room int
	got  []string
}

func (l *link) sendEvent(e *iopv1.Envelope) bool {
	if l.room == 0 {
		return false
	}
	l.room--
	l.got = append(l.got, e.GetEdgeCommandEvent().CommandId)
	return true
}

func TestUplinkHoldsEventsForTheNextConnection(t *testing.T) {
	var u uplink
	say := func(ids ...string) {
		for _, id := range ids {
			u.event(commandEvent(&iopv1.EdgeCommandEvent{CommandId: id}))
		}
	}
	say("1", "2")
	a := &link{room: 3}
	u.attach(a)
	say("3", "4", "5") // 4 finds the connection over
	if !equalStrings(a.got, "1", "2", "3") {
		t.Errorf("the first connection got %v", a.got)
	}
	b := &link{room: 1}
	u.attach(b) // ends while it gets what was held
	say("6")
	c := &link{room: 100}
	u.attach(c)
	say("7")
	u.detach(a) // long gone; not ours any more
	say("8")
	u.detach(c)
	say("9")
	if !equalStrings(b.got, "4") || !equalStrings(c.got, "5", "6", "7", "8") {
		t.Errorf("the others got %v and %v", b.got, c.got)
	}
}

func TestUplinkIsBounded(t *testing.T) {
	var u uplink
	for i := range maxHeldEvents + 10 {
		u.event(commandEvent(&iopv1.EdgeCommandEvent{CommandId: fmt.Sprint(i)}))
	}
	l := &link{room: 10_000}
	if dropped := u.attach(l); dropped != 10 {
		t.Errorf("%d events were dropped, want 10", dropped)
	}
	if len(l.got) != maxHeldEvents || l.got[0] != "10" || l.got[maxHeldEvents-1] != fmt.Sprint(maxHeldEvents+9) {
		t.Errorf("got %d events from %s on", len(l.got), l.got[0])
	}
}
