package actors

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	iopv1 "iop/proto/iop/v1"
)

// modelLog is the audit's rules over plain lists.
type modelLog struct {
	opts    AuditOptions
	most    int        // bytes, of those listed and of those only kept
	ops     []*modelOp // all that were ever added and not refused, oldest first
	keys    []modelKey // oldest first
	dropped map[string]int
}

type modelOp struct {
	id, edge string
	state    OperationState
	bytes    int
	listed   bool
}

type modelKey struct {
	edge, key string
	op        *modelOp
	at        time.Time
}

func (m *modelLog) listed(edge string) (list []*modelOp) {
	for _, o := range m.ops {
		if o.listed && (edge == "" || o.edge == edge) {
			list = append(list, o)
		}
	}
	return list
}

func (m *modelLog) shrink(edge string) {
	for _, scope := range []struct {
		edge string
		most int
	}{{edge, m.opts.EdgeBuffer}, {"", m.opts.FleetBuffer}} {
		tooMany := func(list []*modelOp) bool {
			return len(list) > scope.most || scope.edge == "" && len(list) > 1 && bytesOf(list) > m.most
		}
		for list := m.listed(scope.edge); tooMany(list); list = m.listed(scope.edge) {
			i := max(0, slices.IndexFunc(list, func(o *modelOp) bool { return o.state.Terminal() }))
			list[i].listed = false
			m.dropped[""]++
			m.dropped[list[i].edge]++
			m.boundKept()
		}
	}
}

// boundKept lets the oldest keys go while what is no longer listed is too much.
func (m *modelLog) boundKept() {
	unlisted := func() (list []*modelOp) {
		for _, o := range m.ops {
			if !o.listed && m.kept(o) {
				list = append(list, o)
			}
		}
		return list
	}
	for len(m.keys) > 0 && bytesOf(unlisted()) > m.most {
		m.keys = m.keys[1:]
	}
}

func bytesOf(list []*modelOp) (n int) {
	for _, o := range list {
		n += o.bytes
	}
	return n
}

func (m *modelLog) used(edge, key string, now time.Time) *modelOp {
	m.keys = slices.DeleteFunc(m.keys, func(k modelKey) bool { return now.Sub(k.at) > m.opts.IdempotencyWindow })
	for _, k := range m.keys {
		if k.edge == edge && k.key == key {
			return k.op
		}
	}
	return nil
}

func (m *modelLog) setKey(key string, o *modelOp, now time.Time) {
	m.keys = append(m.keys, modelKey{o.edge, key, o, now})
	if len(m.keys) > m.opts.FleetBuffer {
		m.keys = m.keys[1:]
	}
}

// kept tells whether an operation is still known at all.
func (m *modelLog) kept(o *modelOp) bool {
	named := slices.ContainsFunc(m.keys, func(k modelKey) bool { return k.op == o })
	return o.listed || named || o.state == Pending || o.state == Sent
}

func TestOplogAgainstAModel(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		opts := AuditOptions{FleetBuffer: 2 + r.IntN(8), EdgeBuffer: 1 + r.IntN(5), IdempotencyWindow: time.Minute}
		l, m := newOplog(opts), &modelLog{opts: opts, most: 2000 + r.IntN(6000), dropped: map[string]int{}}
		l.maxBytes = m.most
		now := noon
		for n := range 300 {
			now = now.Add(time.Duration(r.IntN(3000)) * time.Millisecond)
			edge, key := fmt.Sprint("e", r.IntN(3)), fmt.Sprint("k", r.IntN(6))
			switch r.IntN(4) {
			case 0, 1:
				use, want := l.used(edge, key, now), m.used(edge, key, now)
				if (use == nil) != (want == nil) || use != nil && use.entry.op.ID != want.id {
					t.Fatalf("seed %d: key %s of %s: got %v, want %v", seed, key, edge, use, want)
				}
				if want != nil {
					continue
				}
				o := &Operation{ID: fmt.Sprintf("%04d", n), EdgeID: edge, State: Pending}
				mo := &modelOp{id: o.ID, edge: edge, state: Pending, bytes: o.bytes(), listed: true}
				e := l.add(o)
				m.ops = append(m.ops, mo)
				m.shrink(edge)
				if r.IntN(2) == 0 {
					l.setKey(key, [32]byte{}, e, now)
					m.setKey(key, mo, now)
				}
			case 2:
				if mo, e := pick(r, l, m); e != nil {
					next := *e.op
					next.State, next.Message = allStates[r.IntN(len(allStates))], strings.Repeat("x", r.IntN(1000))
					mo.state, mo.bytes = next.State, next.bytes()
					l.update(e, &next)
					m.shrink(mo.edge)
					if !mo.listed {
						m.boundKept()
					}
				}
			case 3:
				if mo, e := pick(r, l, m); e != nil && mo.state == Pending { // refused
					l.remove(e)
					m.ops = slices.DeleteFunc(m.ops, func(o *modelOp) bool { return o == mo })
					m.keys = slices.DeleteFunc(m.keys, func(k modelKey) bool { return k.op == mo })
				}
			}
			if err := compareLogs(l, m); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, n, err)
			}
		}
	}
}

// pick gives one that isn't settled.
func pick(r *rand.Rand, l *oplog, m *modelLog) (*modelOp, *entry) {
	var open []*modelOp
	for _, o := range m.ops {
		if m.kept(o) && !o.state.Terminal() {
			open = append(open, o)
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	o := open[r.IntN(len(open))]
	return o, l.entries[o.id]
}

func compareLogs(l *oplog, m *modelLog) error {
	var ids []string
	kept := 0
	for _, o := range m.ops {
		if m.kept(o) {
			kept++
		}
		if o.listed {
			ids = append(ids, o.id)
		}
	}
	if got := l.listed(); !slices.Equal(got, ids) {
		return fmt.Errorf("listed %v, want %v", got, ids)
	}
	if len(l.entries) != kept || len(l.keys) != len(m.keys) || l.dropped != uint64(m.dropped[""]) {
		return fmt.Errorf("%d known, %d keys, %d dropped, want %d, %d and %d", len(l.entries), len(l.keys), l.dropped, kept, len(m.keys), m.dropped[""])
	}
	bytes := 0
	for _, e := range l.entries {
		bytes += e.op.bytes()
	}
	if l.bytes+l.kept != bytes {
		return fmt.Errorf("%d+%d bytes counted, %d held", l.bytes, l.kept, bytes)
	}
	for id, edge := range l.edges {
		if edge.ops.Len() != len(m.listed(id)) || edge.dropped != uint64(m.dropped[id]) {
			return fmt.Errorf("%s: %d listed, %d dropped, want %d and %d", id, edge.ops.Len(), edge.dropped, len(m.listed(id)), m.dropped[id])
		}
	}
	return nil
}

// Whatever happens to an operation: a terminal state is final, what was sent stays sent, and the notes are bounded.
func TestOperationAgainstItsRules(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 3))
		o := operationIn(Pending)
		for n := range 100 {
			s := happening(o, r, at(float64(n)))
			if s.next == nil {
				continue
			}
			switch next := s.next; {
			case o.State.Terminal():
				t.Fatalf("seed %d: %s became %s", seed, o.State, next.State)
			case next.State == Pending && o.State != Pending, next.State == Sent && o.State != Pending:
				t.Fatalf("seed %d: %s went back to %s", seed, o.State, next.State)
			case next.State == Expired && !next.SentAt.IsZero():
				t.Fatalf("seed %d: expired after it was sent", seed)
			case !o.SentAt.IsZero() && !next.SentAt.Equal(o.SentAt), !o.RespondedAt.IsZero() && !next.RespondedAt.Equal(o.RespondedAt):
				t.Fatalf("seed %d: a time changed: %+v, then %+v", seed, o, next)
			case len(next.Events) > maxOperationEvents || len(next.Events)+int(next.EventsDropped) < len(o.Events)+int(o.EventsDropped):
				t.Fatalf("seed %d: %d notes, %d dropped", seed, len(next.Events), next.EventsDropped)
			case s.kind == "" && next.State != o.State:
				t.Fatalf("seed %d: nobody is told that %s became %s", seed, o.State, next.State)
			}
			checkTimes(t, s.next)
			o = s.next
		}
	}
}

func happening(o *Operation, r *rand.Rand, at time.Time) step {
	text := strings.Repeat("x", r.IntN(10))
	switch r.IntN(20) {
	case 0:
		return o.onSent(at)
	case 1:
		if r.IntN(10) == 0 && o.SentAt.IsZero() {
			return o.onExpired(text, at)
		}
		return step{}
	case 2:
		return o.onUnknown(text, at)
	case 3:
		return o.onForgotten(at)
	case 4:
		if r.IntN(10) == 0 {
			return o.onError(iopv1.ErrorCode(r.IntN(12)), at)
		}
		return step{}
	case 5:
		outcome := iopv1.CommandOutcome(r.IntN(8))
		if outcome > outcomeAccepted && r.IntN(5) > 0 {
			outcome = outcomeAccepted
		}
		return o.onAnswer(outcome, text, json.RawMessage(`{}`), at)
	default:
		phase := iopv1.CommandPhase(r.IntN(3))
		if r.IntN(100) == 0 {
			phase = iopv1.CommandPhase(r.IntN(8))
		}
		return o.onEvent(&iopv1.EdgeCommandEvent{Phase: phase, Message: text}, nil, at)
	}
}
