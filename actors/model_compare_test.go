package actors

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// What is compared of the real system and the model, in one form for both, and in words where they differ.

// compare says what an operator sees, or was told, that isn't as the model has it.
func (r *modelRun) compare() string {
	if r.wrong != "" {
		return r.wrong
	}
	fleet, _ := r.s.Fleet(context.Background())
	page, _ := r.s.Operations(context.Background(), OperationQuery{Limit: 1000})
	return cmp.Or(r.compareEdges(fleet), r.compareCommands(page.Operations), r.compareStatuses(), r.compareEvents())
}

// differ is for two things that should be the same.
func differ[T comparable](what any, got, want T) string {
	if got == want {
		return ""
	}
	return fmt.Sprintf("%v: is %v, want %v", what, got, want)
}

// modelView is what is listed of an Edge; of an unknown one nothing.
type modelView struct {
	state                  State
	since                  time.Duration
	reason                 Reason
	connections, takeovers int
	conflict               bool
	snapshot               string
}

func (v modelView) String() string {
	if v.state == "" {
		return "not known"
	}
	return fmt.Sprintf("{%s, since %v, connections %d, takeovers %d, in conflict: %v, snapshot %q}",
		inWords(string(v.state), string(v.reason)), v.since, v.connections, v.takeovers, v.conflict, v.snapshot)
}

func (r *modelRun) compareEdges(fleet *Fleet) (why string) {
	for i := range r.m.edges {
		var got modelView
		if v := fleet.Get(edgeName(i)); v != nil {
			got = modelView{fleet.State(v), r.since(v.ConnectedAt), v.DisconnectReason, int(v.Connections), int(v.Takeovers), fleet.InConflict(v), ""}
			if !v.Connected {
				got.since = r.since(v.DisconnectedAt)
			}
			if s := v.Pulse.Snapshot(); s != nil {
				got.snapshot = snapshotInWords(s.EdgeID, nodesInWords(s.Nodes()))
			}
		}
		why = cmp.Or(why, differ(edgeName(i), got, r.m.view(i)))
	}
	return why
}

func (m *model) view(edge int) modelView {
	e := &m.edges[edge]
	if e.connections == 0 {
		return modelView{}
	}
	v := modelView{Disconnected, e.since, e.reason, e.connections, e.takeovers, m.now < e.conflictUntil, ""}
	if e.owner != nil {
		v.state = Connected
		if m.now-e.owner.lastSeen > modelHeartbeat*3/2 {
			v.state = Stale
		}
	}
	if e.snapshot != "" {
		v.snapshot = snapshotInWords(edgeName(edge), e.snapshot)
	}
	return v
}

func (r *modelRun) compareCommands(onRecord []*Operation) string {
	seen := make(map[string]*Operation, len(onRecord))
	for _, o := range onRecord {
		seen[o.ID] = o
		if r.byID[o.ID] == nil {
			return fmt.Sprintf("operation %s of %s is on record, and nobody asked for it", o.ID, o.EdgeID)
		}
	}
	for _, o := range r.commands {
		var want modelRecord
		if !o.removed {
			want = o.modelRecord
		}
		if why := differ(o, r.record(seen[o.id]), want); why != "" {
			return why
		}
		for i, c := range o.callers {
			if why := differ(fmt.Sprintf("%v, answer to caller %d", o, i), c.reply, o.modelCommand.callers[i].reply); why != "" {
				return why
			}
		}
	}
	return ""
}

// record is empty for one that isn't on record.
func (r *modelRun) record(o *Operation) modelRecord {
	if o == nil {
		return modelRecord{}
	}
	notes := ""
	for _, e := range o.Events {
		notes += noteInWords(e.Phase, r.since(e.ReceivedAt))
	}
	return modelRecord{o.State, r.since(o.SentAt), r.since(o.RespondedAt), r.since(o.FinishedAt), notes}
}

func (o modelRecord) String() string {
	words := string(o.state)
	if words == "" {
		return "not on record"
	}
	for i, at := range []time.Duration{o.sent, o.responded, o.finished} {
		if at != never {
			words += fmt.Sprintf(", %s at %v", []string{"sent", "answered", "ended"}[i], at)
		}
	}
	return fmt.Sprintf("{%s; notes:%s}", words, strings.TrimSuffix(o.notes, ","))
}

func (r *modelRun) compareStatuses() string {
	for i, s := range r.statuses {
		if why := differ(fmt.Sprint("status ", i), s.reply, s.modelStatus.reply); why != "" {
			return why
		}
	}
	return ""
}

func (e modelEvent) String() string {
	return fmt.Sprintf("%s at %v", inWords(string(e.kind), e.about), e.at)
}

// inWords is for two of which the second may be missing.
func inWords(what, more string) string {
	if more == "" {
		return what
	}
	return what + ": " + more
}

// compareEvents compares what live readers were told since the last time.
func (r *modelRun) compareEvents() string {
	got := make([][]modelEvent, len(r.m.edges))
	for _, e := range r.said {
		about := cmp.Or(e.NodeID, e.OperationID)
		if o := r.byID[e.OperationID]; o != nil {
			about = o.String()
		} else if e.Kind == EdgeDisconnected {
			about = e.Message
		}
		i := slices.Index(edgeNames, e.EdgeID)
		got[i] = append(got[i], modelEvent{r.since(e.At), e.Kind, about})
	}
	r.lived, r.said = append(r.lived, r.said...), nil
	for i := range r.m.edges {
		e := &r.m.edges[i]
		want := e.events
		e.events = nil
		commandsInOrder(got[i])
		commandsInOrder(want)
		if !slices.Equal(got[i], want) {
			return fmt.Sprintf("events of %s: are %v, want %v", edgeName(i), got[i], want)
		}
	}
	return ""
}

// commandsInOrder sorts what happened to several commands in the same instant by command: among them no order is promised.
func commandsInOrder(events []modelEvent) {
	isCommand := func(e modelEvent) bool { return strings.HasPrefix(string(e.kind), "command_") }
	for from := 0; from < len(events); {
		to := from + 1
		for isCommand(events[from]) && to < len(events) && isCommand(events[to]) && events[to].at == events[from].at {
			to++
		}
		slices.SortStableFunc(events[from:to], func(a, b modelEvent) int { return cmp.Compare(a.about, b.about) })
		from = to
	}
}

// compareHistory compares what is kept of events with what live readers were told.
func (r *modelRun) compareHistory() string {
	for _, edgeID := range append([]string{""}, edgeNames...) {
		var told []*Event
		for _, e := range r.lived {
			if edgeID == "" || e.EdgeID == edgeID {
				told = append(told, e)
			}
		}
		page, _ := r.s.Events(context.Background(), EventQuery{EdgeID: edgeID, Limit: r.s.opts.History.FleetBuffer})
		if !slices.Equal(page.Events, told) {
			return fmt.Sprintf("the %d events that are kept of %q aren't the %d that were told", len(page.Events), edgeID, len(told))
		}
	}
	return ""
}

// stop is the end of each run: it drains if nothing has, and waits for the drain's end. Nobody is left waiting then.
func (r *modelRun) stop() string {
	r.step(act{kind: "drain"})
	r.step(act{kind: "rest", a: 5})
	if why := cmp.Or(r.compare(), r.compareHistory()); why != "" {
		return why
	}
	if len(r.stopped) == 0 {
		return "the Control Plane doesn't stop"
	}
	for _, o := range r.commands {
		for _, c := range o.callers {
			if c.reply == "" {
				return fmt.Sprintf("after the stop somebody waits for %v", o)
			}
		}
	}
	for i, s := range r.statuses {
		if s.reply == "" {
			return fmt.Sprintf("after the stop somebody waits for status %d", i)
		}
	}
	return ""
}

// since is a time by the model's clock.
func (r *modelRun) since(t time.Time) time.Duration {
	if t.IsZero() {
		return never
	}
	return t.Sub(r.began)
}

var edgeNames = []string{"e0", "e1", "e2"}

func edgeName(n int) string { return edgeNames[n] }

func (o *modelCommand) String() string { return fmt.Sprint("command ", o.number) }

func (r *modelRun) commandReply(o *commandRun, reply CommandReply) string {
	state := OperationState("")
	if reply.Operation != nil {
		state = reply.Operation.State
		if reply.Operation.ID != o.id {
			return "of another command"
		}
	}
	return commandInWords(state, reply.Fault, reply.EdgeError)
}

func commandInWords(state OperationState, fault *wire.Fault, edgeError string) string {
	if state == Pending || state == Sent { // who is first to say so is left to chance
		state = "on its way"
	}
	if fault == nil {
		return string(state)
	}
	if state == "" {
		return faultInWords(fault, edgeError)
	}
	return inWords(string(state), faultInWords(fault, edgeError))
}

func statusReply(reply StatusReply) string {
	switch {
	case reply.Fault == nil && nodesInWords(reply.Nodes) != nodesInWords(reply.Snapshot.Nodes()):
		return "nodes that aren't the snapshot's"
	case reply.Fault == nil:
		return snapshotInWords(reply.Snapshot.EdgeID, nodesInWords(reply.Nodes))
	case reply.Fault.Code == wire.EdgeDisconnected && reply.View == nil:
		return faultInWords(reply.Fault, "nothing is known of the Edge")
	case reply.Fault.Code == wire.EdgeDisconnected:
		return faultInWords(reply.Fault, viewInWords(reply.View.EdgeID, reply.View.Connected))
	}
	return faultInWords(reply.Fault, reply.EdgeError)
}

func faultInWords(f *wire.Fault, more string) string {
	return inWords(fmt.Sprintf("%s (%s)", f.Code, f.Message), more)
}

func viewInWords(edgeID string, connected bool) string {
	return fmt.Sprintf("%s is connected: %v", edgeID, connected)
}

func snapshotInWords(edgeID, node string) string { return fmt.Sprintf("%s with %s", edgeID, node) }

func nodesInWords(nodes []*iopv1.EdgeNodeSnapshot) string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.NodeId)
	}
	return strings.Join(names, " and ")
}

func noteInWords(phase string, at time.Duration) string { return fmt.Sprintf(" %s at %v,", phase, at) }
