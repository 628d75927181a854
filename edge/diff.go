package edge

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/edge/internal/text"
	iopv1 "iop/proto/iop/v1"
)

// changesBetween tells what happened between two statements, as events: a node that became ready or ceased to be, a
// provider that came, went, or changed its state. Numbers and models aren't events; the snapshot shows them.
func changesBetween(before, after []Node, at time.Time) []*iopv1.EdgeNodeEvent {
	d := diff{at: at}
	old := make(map[string]Node, len(before))
	for _, n := range before {
		old[n.ID] = n
	}
	for _, n := range after {
		was, known := old[n.ID]
		delete(old, n.ID)
		if !n.Announced {
			d.node(was, n)
		}
		if known {
			d.providers(n.ID, was.Providers, n.Providers)
		}
	}
	for _, n := range before {
		if _, gone := old[n.ID]; gone && n.Connected && !n.Announced {
			d.add(n.ID, "", iopv1.NodeEventKind_NODE_EVENT_KIND_DISCONNECTED, "The node is gone from the Edge.")
		}
	}
	return d.events
}

type diff struct {
	at     time.Time
	events []*iopv1.EdgeNodeEvent
}

func (d *diff) node(was, is Node) {
	switch {
	case is.Connected && !was.Connected:
		d.add(is.ID, "", iopv1.NodeEventKind_NODE_EVENT_KIND_READY, "The node is ready.")
	case was.Connected && !is.Connected:
		d.add(is.ID, "", iopv1.NodeEventKind_NODE_EVENT_KIND_DISCONNECTED, "The node is not ready any more.")
	}
}

func (d *diff) providers(nodeID string, before, after []Provider) {
	old := make(map[string]Provider, len(before))
	for _, p := range before {
		old[p.ID] = p
	}
	for _, p := range after {
		was, known := old[p.ID]
		delete(old, p.ID)
		switch {
		case !known:
			d.changed(nodeID, p.ID, "Provider "+p.ID+" is new: "+stateOf(p)+".")
		case was.Status != p.Status || was.Health != p.Health:
			d.changed(nodeID, p.ID, "Provider "+p.ID+" is "+stateOf(p)+".")
		}
	}
	for _, p := range before {
		if _, gone := old[p.ID]; gone {
			d.changed(nodeID, p.ID, "Provider "+p.ID+" is gone from the node.")
		}
	}
}

func (d *diff) changed(nodeID, providerID, message string) {
	d.add(nodeID, providerID, iopv1.NodeEventKind_NODE_EVENT_KIND_PROVIDER_CHANGED, message)
}

func (d *diff) add(nodeID, providerID string, kind iopv1.NodeEventKind, message string) {
	d.events = append(d.events, &iopv1.EdgeNodeEvent{
		NodeId: text.Valid(nodeID), ProviderId: text.Valid(providerID), Kind: kind, Message: clip(message), OccurredAt: timestamppb.New(d.at),
	})
}

func stateOf(p Provider) string {
	known := func(s string) string {
		if s == "" {
			return "unknown"
		}
		return s
	}
	state := known(string(p.Health)) + ", " + known(string(p.Status))
	switch {
	case p.Health == Degraded:
		state += " (requests wait there, and none runs or ends)"
	case p.Health == Online && p.Status == "":
		state += " (what runs there can't be read)"
	}
	return state
}
