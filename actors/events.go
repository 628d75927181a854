package actors

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// events owns the rings and hands live events to subscribers, none of whom it ever waits for.
type events struct {
	sys         *System
	history     *history
	subscribers map[*subscriber]struct{}
}

// subscriber is a live reader as events knows it.
type subscriber struct {
	live   chan *LiveEvent // SubscriberBuffer; when it is full the reader is ended
	missed atomic.Bool
}

// Fronts → operations → events: behind what was published before.
type (
	eventsAsk struct {
		query EventQuery
		to    chan<- EventPage
	}
	subscribeAsk struct {
		who   *subscriber
		after string
		to    chan<- *Subscription
	}
	unsubscribe struct{ who *subscriber }
)

func newEvents(sys *System) *events {
	return &events{sys: sys, history: newHistory(sys.opts.History), subscribers: map[*subscriber]struct{}{}}
}

func (v *events) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *publish:
		v.publish(m)
	case *eventsAsk:
		m.to <- v.history.page(m.query)
	case *subscribeAsk:
		v.subscribe(ctx, m)
	case *unsubscribe:
		delete(v.subscribers, m.who)
		v.subscribed()
	case *edgeForgotten:
		v.history.forget(m.edgeID)
	case *actor.Stopping:
		v.endAll()
	}
}

func (v *events) publish(m *publish) {
	v.history.add(m.event, time.Now())
	m.credit.giveBack()
	if len(v.subscribers) == 0 {
		return
	}
	live := &LiveEvent{Event: m.event}
	for s := range v.subscribers {
		select {
		case s.live <- live:
		default:
			v.sys.counters.eventsDropped.Add(1)
			s.missed.Store(true)
			close(s.live)
			delete(v.subscribers, s)
			v.subscribed()
		}
	}
}

func (v *events) subscribe(ctx actor.Context, m *subscribeAsk) {
	s := m.who
	v.subscribers[s] = struct{}{}
	v.subscribed()
	root, self := v.sys.root(), ctx.Self()
	sub := &Subscription{Events: s.live, missed: s.missed.Load,
		cancel: func() { root.Send(self, &unsubscribe{who: s}) }}
	if m.after != "" {
		sub.Backlog, sub.Gap = v.history.after(m.after)
	}
	m.to <- sub
}

func (v *events) endAll() {
	for s := range v.subscribers {
		close(s.live)
	}
	v.subscribers = nil
	v.subscribed()
}

// subscribed lets whoever shows metrics look into the queues of those who are subscribed now.
func (v *events) subscribed() {
	queues := slices.Collect(maps.Keys(v.subscribers))
	v.sys.counters.subscribers.Store(&queues)
}
