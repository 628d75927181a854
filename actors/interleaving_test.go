package actors

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// What must hold whatever comes in whatever order: every command is answered once, and a status once unless its Edge was there to
// the end of its time and left it open; a command is written at most once, ever; and in the end nothing is left, no connection, no
// pending request, no command under way.
func TestRandomInterleavings(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			opts := testOptions()
			opts.Table.RejectDuplicates = seed%4 == 3
			opts.Link.MaxQueueFrames = 1 + int(seed%8)
			bubble(t, opts, func(t *testing.T, s *System) { runStorm(t, s, seed) })
		})
	}
}

// storm is what several wild Edges and their askers did.
type storm struct {
	t       *testing.T
	s       *System
	mu      sync.Mutex
	written map[string]int // command ids as they came over the wire

	lives    []wildLife
	statuses []*statusAsked
	commands []chan CommandReply
}

// wildLife is how long an Edge held a connection, whatever the Control Plane made of it.
type wildLife struct {
	id       string
	from, to time.Time
}

// statusAsked has a timeout that no other has, by which it is known on the wire.
type statusAsked struct {
	id       string
	timeout  time.Duration
	answers  chanSink
	until    time.Time
	answered bool // by its Edge, in time
}

// mayStayOpen: only an Edge that is there and silent keeps an asker waiting until its time is up. What can't be asked, and what was
// asked over a connection that ended, has an answer before.
func (st *storm) mayStayOpen(a *statusAsked) bool {
	return !a.answered && slices.ContainsFunc(st.lives, func(l wildLife) bool {
		return l.id == a.id && !a.until.Before(l.from) && !a.until.After(l.to)
	})
}

func runStorm(t *testing.T, s *System, seed uint64) {
	st := &storm{t: t, s: s, written: map[string]int{}}
	stop := make(chan struct{})
	var wild, askers sync.WaitGroup
	for i := range 4 {
		wild.Go(func() { st.wildEdge(fmt.Sprint("e", i%3), rand.New(rand.NewPCG(seed, uint64(i))), stop) })
	}
	for i := range 4 {
		askers.Go(func() { st.asker(rand.New(rand.NewPCG(seed, uint64(100+i)))) })
	}
	askers.Wait()
	close(stop)
	wild.Wait()
	time.Sleep(5 * time.Minute) // every deadline, linger and heartbeat is over

	for i, a := range st.statuses {
		if n := len(a.answers); n > 1 || n == 0 && !st.mayStayOpen(a) {
			t.Errorf("status %d was answered %d times", i, n)
		}
	}
	for i, c := range st.commands {
		if len(c) != 1 {
			t.Errorf("command %d was answered %d times", i, len(c))
		}
	}
	for id, n := range st.written {
		if n > 1 {
			t.Errorf("command %s was written %d times", id, n)
		}
	}
	underWay := make(chan int, 1)
	s.root().Send(s.operations, &underWayAsk{to: underWay})
	wantEqual(t, "connections, commands under way, hello places", []any{connections(s), <-underWay, len(s.hellos)}, []any{0, 0, 0})
	wantEqual(t, "connected", s.Metrics().EdgesConnected, 0)
}

func (st *storm) asker(r *rand.Rand) {
	for range 40 {
		time.Sleep(time.Duration(r.IntN(700)) * time.Millisecond)
		id, timeout := fmt.Sprint("e", r.IntN(3)), time.Duration(1+r.IntN(4000))*time.Millisecond
		if r.IntN(2) == 0 {
			st.mu.Lock()
			timeout += time.Duration(len(st.statuses))
			a := &statusAsked{id: id, timeout: timeout, answers: make(chanSink, 4), until: time.Now().Add(timeout)}
			st.statuses = append(st.statuses, a)
			st.mu.Unlock()
			st.s.root().Send(st.s.registry, &statusAsk{edgeID: id, timeout: timeout, deadline: st.s.clock.mono() + int64(timeout), to: a.answers})
			continue
		}
		ask, to := withTimeout(id, timeout), make(chan CommandReply, 4)
		ask.Wait = r.IntN(3) > 0
		if r.IntN(3) == 0 {
			ask.Key = fmt.Sprint("k", r.IntN(5))
		}
		st.s.root().Send(st.s.operations, &commandAsk{ask: ask, request: &iopv1.EdgeCommandRequest{Operation: "o"}, to: to})
		st.mu.Lock()
		st.commands = append(st.commands, to)
		st.mu.Unlock()
	}
}

// wildEdge connects again and again, and does on each connection whatever comes to its mind. Now and then two of them
// have one id.
func (st *storm) wildEdge(id string, r *rand.Rand, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		began := time.Now()
		ours, theirs := net.Pipe()
		st.s.hellos <- struct{}{}
		st.s.root().Send(st.s.registry, &accepted{newcomer{conn: theirs}})
		w := &wild{storm: st, id: id, conn: ours, r: r}
		if w.say(helloEnvelope(helloOf(id, fmt.Sprint(r.IntN(2))))) {
			w.live(stop)
		}
		ours.Close()
		st.mu.Lock()
		st.lives = append(st.lives, wildLife{id, began, time.Now()})
		st.mu.Unlock()
		time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
	}
}

type wild struct {
	*storm
	id   string
	conn net.Conn
	r    *rand.Rand
}

func (w *wild) say(m *iopv1.Envelope) bool {
	frame, _ := wire.AppendFrame(nil, m)
	_ = w.conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
	_, err := w.conn.Write(frame)
	return err == nil
}

func (w *wild) live(stop <-chan struct{}) {
	frames := wire.NewFrameReader(w.conn, 1<<20)
	for until := time.Now().Add(time.Duration(w.r.IntN(15000)) * time.Millisecond); time.Now().Before(until); {
		select {
		case <-stop:
			return
		default:
		}
		if w.r.IntN(30) == 0 {
			time.Sleep(time.Duration(w.r.IntN(12000)) * time.Millisecond) // reads nothing for a while
		}
		_ = w.conn.SetReadDeadline(time.Now().Add(time.Second))
		frame, err := frames.Next()
		if err != nil {
			return // also for a second of silence: where the stream stands is lost
		}
		if m, err := wire.Decode(frame); err != nil || !w.handle(m) {
			return
		}
	}
}

func (w *wild) handle(m *iopv1.Envelope) bool {
	command := m.GetEdgeCommandRequest()
	if command != nil {
		w.mu.Lock()
		w.written[command.CommandId]++
		w.mu.Unlock()
	}
	if m.Id == 0 {
		return m.GetGoAway() == nil && m.GetError() == nil
	}
	time.Sleep(time.Duration(w.r.IntN(5)*w.r.IntN(500)) * time.Millisecond)
	answer := w.answerTo(m)
	answer.ReplyTo = m.Id
	switch w.r.IntN(12) {
	case 0:
		return true // never answers
	case 1:
		return false // hangs up instead
	case 2:
		answer.ReplyTo += uint64(w.r.IntN(3)) // another's, or nobody's
		return w.say(answer)
	case 3:
		return w.say(answer) && w.say(proto.CloneOf(answer)) // twice
	case 4:
		return w.say(phaseOf(command.GetCommandId(), iopv1.CommandPhase(w.r.IntN(7)))) && w.say(answer)
	case 8:
		return w.say(errorOf(iopv1.ErrorCode_ERROR_CODE_INTERNAL)) && w.say(answer)
	case 5:
		return w.say(goodbyeEnvelope()) && w.say(answer)
	case 6:
		return w.say(&iopv1.Envelope{ReplyTo: m.Id, Body: nodeEvent(1).Body})
	case 7:
		return w.say(helloEnvelope(hello(w.id)))
	default:
		said := w.say(answer)
		if status := m.GetEdgeStatusRequest(); said && status != nil {
			w.answered(status.Timeout.AsDuration())
		}
		return said
	}
}

// answered notes that the status with this timeout was answered, if it was in time.
func (w *wild) answered(timeout time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.statuses {
		if a.timeout == timeout && !time.Now().After(a.until) {
			a.answered = true
		}
	}
}

func (w *wild) answerTo(m *iopv1.Envelope) *iopv1.Envelope {
	switch {
	case m.GetEdgeStatusRequest() != nil:
		return statusOf([]string{w.id, w.id, w.id, "e0"}[w.r.IntN(4)], "n")
	case m.GetEdgeCommandRequest() != nil:
		return outcomeOf(m.GetEdgeCommandRequest().CommandId, iopv1.CommandOutcome(w.r.IntN(7)))
	case m.GetEdgeCommandQueryRequest() != nil:
		a := &iopv1.EdgeCommandQueryResponse{}
		for _, id := range m.GetEdgeCommandQueryRequest().CommandIds {
			if w.r.IntN(2) == 0 {
				a.UnknownCommandIds = append(a.UnknownCommandIds, id)
			} else {
				a.Responses = append(a.Responses, outcomeOf(id, iopv1.CommandOutcome(w.r.IntN(6))).GetEdgeCommandResponse())
			}
		}
		return &iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandQueryResponse{EdgeCommandQueryResponse: a}}
	default:
		return &iopv1.Envelope{Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}}
	}
}
