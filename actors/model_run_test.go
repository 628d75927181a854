package actors

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	iopv1 "iop/proto/iop/v1"
)

// act is one step of a run. Its numbers choose among what there is at the time, so that a run of which steps are left out
// is a run, too.
type act struct {
	kind    string
	a, b, c int
}

// Each as often as it stands here.
var acts = strings.Fields(`connect connect connect close bye hush stick status status status command command command command
	answer answer answer answer answer event event late late push tick tick tick tick tick rest`)

func planOf(seed uint64, steps int) []act {
	r := rand.New(rand.NewPCG(seed, 7))
	plan := make([]act, steps)
	for i := range plan {
		plan[i] = act{acts[r.IntN(len(acts))], r.IntN(1 << 16), r.IntN(1 << 16), r.IntN(1 << 16)}
	}
	return plan
}

// TestSystemAgainstAModel runs the real actors over in-memory links in fake time beside the model, and compares all that an
// operator can see after each step. IOP_MODEL_RUNS is how many runs of 200 steps.
func TestSystemAgainstAModel(t *testing.T) {
	runs := 40
	if text := os.Getenv("IOP_MODEL_RUNS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("IOP_MODEL_RUNS: %v", err)
		}
		runs = n
	}
	var seed uint64
	defer func() { // also where a helper of the tests gave up inside of a run
		if t.Failed() {
			t.Logf("IOP_MODEL_RUNS=%d gets to seed %d again", seed+1, seed)
		}
	}()
	for seed = range uint64(runs) {
		if testing.Verbose() {
			fmt.Fprintln(os.Stderr, "seed", seed) // a panic leaves it as the last line
		}
		plan := planOf(seed, 200)
		if why := runPlan(t, plan); why != "" {
			plan, why = shrunk(t, plan, why)
			t.Fatalf("seed %d, %d steps:\n%s", seed, len(plan), why)
		}
	}
}

// shrunk leaves out of a failing run what it fails without.
func shrunk(t *testing.T, plan []act, why string) ([]act, string) {
	for size := len(plan) / 2; size > 0; size /= 2 {
		for from := 0; from+size <= len(plan); {
			shorter := slices.Concat(plan[:from], plan[from+size:])
			if other := runPlan(t, shorter); other != "" {
				plan, why = shorter, other
			} else {
				from += size
			}
		}
	}
	return plan, why
}

// runPlan says what was done and what differed first; "" when nothing did.
func runPlan(t *testing.T, plan []act) (why string) {
	opts := testOptions()
	opts.Table.HeartbeatInterval = modelHeartbeat
	opts.MaxInFlight = 1 << 20
	opts.Link.WriteTimeout = modelWriteTimeout
	opts.Link.MaxQueueFrames = 1 << 10
	bubble(t, opts, func(t *testing.T, s *System) {
		r := &modelRun{t: t, s: s, written: map[string]bool{}, keys: map[string]*commandRun{}}
		for _, a := range plan {
			r.step(a)
			if why = r.compare(); why != "" {
				break
			}
		}
		if why == "" {
			why = r.shutDown()
		}
		if why != "" {
			why = strings.Join(append(r.done, why), "\n")
		}
		for _, c := range r.conns {
			c.conn.Close()
		}
	})
	return why
}

// modelRun is the real system and the model of it, side by side.
type modelRun struct {
	t        *testing.T
	s        *System
	m        model
	conns    []*connRun
	commands []*commandRun
	statuses []*statusRun
	keys     map[string]*commandRun
	written  map[string]bool // command ids as they came over a wire
	done     []string        // a line for each step that did something
	wrong    string
}

func (r *modelRun) note(format string, args ...any) {
	r.done = append(r.done, fmt.Sprintf("  %v: ", r.m.now)+fmt.Sprintf(format, args...))
}

// connRun is a connection's far end.
type connRun struct {
	*modelConn
	*fakeEdge
	number int
	quiet  bool // sends no heartbeats
}

func (c *connRun) String() string {
	return fmt.Sprintf("connection %d of %s", c.number, edgeName(c.edge))
}

type commandRun struct {
	*modelCommand
	number  int
	id      string
	callers []caller
}

func (o *commandRun) String() string { return fmt.Sprint("command ", o.number) }

type caller struct {
	wait   bool
	answer <-chan CommandReply
}

type statusRun struct {
	*modelStatus
	answer <-chan StatusReply
}

func edgeName(n int) string { return fmt.Sprint("e", n) }

// conn picks one of the connections whose far end is still there.
func (r *modelRun) conn(n int) *connRun {
	var there []*connRun
	for _, c := range r.conns {
		if !c.over || n%4 == 0 { // now and then one that serves no more speaks up
			there = append(there, c)
		}
	}
	if len(there) == 0 {
		return nil
	}
	return there[n/4%len(there)]
}

func (r *modelRun) step(a act) {
	switch a.kind {
	case "connect":
		r.connect(a.a%len(r.m.edges), a.b%2)
	case "status":
		r.note("status %d: %s is asked", len(r.statuses), edgeName(a.a%len(r.m.edges)))
		r.statuses = append(r.statuses, &statusRun{r.m.askStatus(a.a%len(r.m.edges), 2300*time.Millisecond),
			askStatus(r.s, edgeName(a.a%len(r.m.edges)), 2300*time.Millisecond)})
	case "command":
		r.command(a.a%len(r.m.edges), a.b%2 == 0, a.c%6)
	case "tick":
		r.pass(time.Second)
	case "rest":
		r.pass(time.Duration(5+a.a%40) * time.Second)
	default:
		if c := r.conn(a.a); c != nil {
			r.peer(c, a)
		}
	}
	synctest.Wait()
	r.listen()
}

// peer is a step of an Edge's own.
func (r *modelRun) peer(c *connRun, a act) {
	switch a.kind {
	case "close":
		r.note("%v is cut", c)
		c.conn.Close()
		r.m.end(c.modelConn, ConnectionClosed)
	case "bye":
		r.note("%v says goodbye", c)
		if r.tell(c, goodbyeEnvelope()) {
			r.m.leave(c.modelConn)
		}
	case "hush":
		r.note("%v sends no heartbeats any more", c)
		c.quiet = true
	case "stick":
		r.note("%v reads nothing any more", c)
		c.quiet, c.stuck = true, true
		_ = c.conn.SetReadDeadline(time.Now())
	case "push":
		r.note("%v pushes a snapshot", c)
		r.tell(c, statusOf(edgeName(c.edge), "n"))
	case "answer":
		r.answer(c, a.b, a.c)
	case "event":
		phase := []struct {
			phase iopv1.CommandPhase
			state OperationState
		}{{iopv1.CommandPhase_COMMAND_PHASE_STARTED, Running}, {iopv1.CommandPhase_COMMAND_PHASE_PROGRESS, Running},
			{iopv1.CommandPhase_COMMAND_PHASE_SUCCEEDED, Succeeded}, {iopv1.CommandPhase_COMMAND_PHASE_FAILED, Failed}, {iopv1.CommandPhase_COMMAND_PHASE_CANCELLED, Cancelled}}[a.c%5]
		if o := r.known(a.b); o != nil {
			r.note("%v tells that %v is %s", c, o, phase.state)
			if r.tell(c, phaseOf(o.id, phase.phase)) {
				r.m.say(c.modelConn, o.modelCommand, phase.state)
			}
		}
	case "late":
		if o := r.known(a.b); o != nil {
			outcome, state := outcomeNumber(a.c)
			r.note("%v sends an unasked outcome of %v, %s", c, o, state)
			if r.tell(c, outcomeOf(o.id, outcome)) {
				r.m.say(c.modelConn, o.modelCommand, state)
			}
		}
	}
}

// known picks a command that some Edge was sent.
func (r *modelRun) known(n int) *commandRun {
	if len(r.commands) == 0 {
		return nil
	}
	if o := r.commands[n%len(r.commands)]; r.written[o.id] {
		return o
	}
	return nil
}

func outcomeNumber(n int) (iopv1.CommandOutcome, OperationState) {
	list := []iopv1.CommandOutcome{iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED, iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED,
		iopv1.CommandOutcome_COMMAND_OUTCOME_REJECTED, iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED, iopv1.CommandOutcome_COMMAND_OUTCOME_CANCELLED}
	return list[n%len(list)], outcomes[list[n%len(list)]]
}

// tell sends one frame; true when the Control Plane's end was there to read it, and acted on it.
func (r *modelRun) tell(c *connRun, m *iopv1.Envelope) bool {
	if !c.send(m) || c.over {
		return false
	}
	c.lastSeen = r.m.now
	return true
}

func (r *modelRun) connect(edge, instance int) {
	f := dial(r.t, r.s)
	c := &connRun{fakeEdge: f}
	f.send(helloEnvelope(helloOf(edgeName(edge), fmt.Sprint(instance))))
	synctest.Wait()
	m := f.next()
	c.modelConn = r.m.connect(edge, instance)
	if granted := m.GetEdgeHelloResponse() != nil; granted != (c.modelConn != nil) {
		r.wrong = fmt.Sprintf("a hello was answered with %v", m)
	} else if granted {
		c.number = len(r.conns)
		r.conns = append(r.conns, c)
		r.note("%v is made by instance %d", c, instance)
	} else {
		r.note("instance %d of %s is refused", instance, edgeName(edge))
	}
}

// command asks for one; a key from 1 to 3 is used again.
func (r *modelRun) command(edge int, wait bool, key int) {
	ask := withTimeout(edgeName(edge), 7700*time.Millisecond)
	ask.Wait = wait
	if key > 0 && key < 4 {
		ask.Key = fmt.Sprint(key)
		if first := r.keys[ask.EdgeID+ask.Key]; first != nil && !first.removed {
			wait = wait && first.callers[0].wait
			first.told = first.told || !wait
			first.callers = append(first.callers, caller{wait, askCommand(r.s, ask)}) // nothing is asked a second time
			r.note("%v is asked for again, waiting %v", first, wait)
			return
		}
	}
	o := &commandRun{modelCommand: r.m.command(edge, wait, ask.Timeout), number: len(r.commands)}
	r.note("%v: for %s, waiting %v, key %q", o, ask.EdgeID, wait, ask.Key)
	r.commands = append(r.commands, o)
	if ask.Key != "" {
		r.keys[ask.EdgeID+ask.Key] = o
	}
	o.callers = append(o.callers, caller{wait, askCommand(r.s, ask)})
	if !o.removed { // it is the newest on record
		page, _ := r.s.Operations(context.Background(), OperationQuery{EdgeID: ask.EdgeID, Limit: 1})
		if len(page.Operations) == 1 {
			o.id = page.Operations[0].ID
		}
	}
}

// answer answers one of the questions that a connection was asked, and may be too late.
func (r *modelRun) answer(c *connRun, which, how int) {
	if len(c.asked) == 0 {
		return
	}
	i := which % len(c.asked)
	q := c.asked[i]
	if q.id == 0 {
		return // it waits to be written
	}
	c.asked = slices.Delete(c.asked, i, i+1)
	outcome, state := outcomeNumber(how)
	answer := statusOf(edgeName(c.edge), "n")
	heard := func() { q.status.done = true }
	switch {
	case q.op != nil:
		answer = outcomeOf(r.commandOf(q.op).id, outcome)
		heard = func() { r.m.say(c.modelConn, q.op, state) }
	case q.past != nil:
		said := &iopv1.EdgeCommandQueryResponse{}
		if how%3 == 0 {
			said.UnknownCommandIds = []string{r.commandOf(q.past).id}
		} else {
			said.Responses = []*iopv1.EdgeCommandResponse{outcomeOf(r.commandOf(q.past).id, outcome).GetEdgeCommandResponse()}
		}
		answer = &iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandQueryResponse{EdgeCommandQueryResponse: said}}
		heard = func() {
			if r.m.now-q.at > queryTime {
				return
			}
			if how%3 != 0 {
				r.m.say(c.modelConn, q.past, state)
			} else if q.past.state != Sent && q.past.state != Pending {
				r.m.say(c.modelConn, q.past, Unknown)
			}
			if c.inquiry == q.past {
				r.m.inquire(c.modelConn)
			}
		}
	}
	answer.ReplyTo = q.id
	r.note("%v answers %s", c, r.describe(q, how))
	if r.tell(c, answer) {
		heard()
	}
}

func (r *modelRun) describe(q question, how int) string {
	_, state := outcomeNumber(how)
	switch {
	case q.op != nil:
		return fmt.Sprintf("%v: %s", r.commandOf(q.op), state)
	case q.past != nil:
		if how%3 == 0 {
			return fmt.Sprintf("what became of %v: never heard of", r.commandOf(q.past))
		}
		return fmt.Sprintf("what became of %v: %s", r.commandOf(q.past), state)
	}
	return "a status"
}

func (r *modelRun) commandOf(o *modelCommand) *commandRun {
	return r.commands[slices.IndexFunc(r.commands, func(c *commandRun) bool { return c.modelCommand == o })]
}

// pass lets time pass, with the heartbeats of those that send them.
func (r *modelRun) pass(d time.Duration) {
	r.note("%v pass", d)
	for ; d > 0; d -= time.Second {
		for _, c := range r.conns {
			if !c.over && !c.quiet && r.m.now-c.lastSeen >= modelHeartbeat {
				r.tell(c, ping())
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		r.m.advance(time.Second)
	}
}

// listen takes what the far ends were asked, which must be the model's questions.
func (r *modelRun) listen() {
	for _, c := range r.conns {
		for len(c.in) > 0 {
			m := <-c.in
			if c.over && m.GetEdgeCommandQueryRequest() != nil {
				continue // in the instant of its end
			}
			if m.Id != 0 && !c.match(m, r.commandOf) {
				r.wrong = fmt.Sprintf("%s was asked %v", edgeName(c.edge), m)
			}
		}
		for _, q := range c.asked {
			if q.id == 0 && !c.stuck && !c.over {
				r.wrong = edgeName(c.edge) + " was not asked in time"
			}
			if q.op != nil && q.id != 0 {
				r.written[r.commandOf(q.op).id] = true
			}
		}
	}
}

// match finds the question that a request is; false when nobody asks it, or asks it again.
func (c *connRun) match(m *iopv1.Envelope, of func(*modelCommand) *commandRun) bool {
	i := slices.IndexFunc(c.asked, func(q question) bool {
		switch {
		case q.id != 0:
			return false
		case q.status != nil:
			return m.GetEdgeStatusRequest() != nil
		case q.op != nil:
			return m.GetEdgeCommandRequest().GetCommandId() == of(q.op).id
		default:
			return slices.Equal(m.GetEdgeCommandQueryRequest().GetCommandIds(), []string{of(q.past).id})
		}
	})
	if i < 0 {
		return false
	}
	c.asked[i].id = m.Id
	return true
}

// compare says what an operator sees that isn't as the model has it.
func (r *modelRun) compare() string {
	if r.wrong != "" {
		return r.wrong
	}
	fleet, _ := r.s.Fleet(context.Background())
	for i := range r.m.edges {
		if why := differs(fleet.Get(edgeName(i)), &r.m.edges[i]); why != "" {
			return edgeName(i) + ": " + why
		}
	}
	page, _ := r.s.Operations(context.Background(), OperationQuery{Limit: 1000})
	seen := map[string]OperationState{}
	for _, o := range page.Operations {
		seen[o.ID] = o.State
	}
	for i, o := range r.commands {
		want := o.state
		if o.removed {
			want = ""
		}
		if got := seen[o.id]; got != want {
			return fmt.Sprintf("command %d is %q, want %q", i, got, want)
		}
		waits := o.state == Sent || o.state == Pending
		for _, c := range o.callers {
			if got, want := len(c.answer) > 0, o.removed || !waits || !c.wait; got != want {
				return fmt.Sprintf("command %d, %s, waiting %v: answered %v", i, o.state, c.wait, got)
			}
		}
	}
	for i, s := range r.statuses {
		if got := len(s.answer) > 0; got != s.done {
			return fmt.Sprintf("status %d: answered %v", i, got)
		}
	}
	return ""
}

func differs(v *View, e *modelEdge) string {
	if e.connections == 0 {
		if v != nil {
			return "is known"
		}
		return ""
	}
	if v == nil {
		return "isn't known"
	}
	got := []any{v.Connected, int(v.Connections), int(v.Takeovers)}
	want := []any{e.owner != nil, e.connections, e.takeovers}
	if e.owner == nil {
		got, want = append(got, v.DisconnectReason), append(want, e.reason)
	}
	if !slices.Equal(got, want) {
		return fmt.Sprintf("is %v, want %v", got, want)
	}
	return ""
}

// shutDown: nobody is left waiting, and nothing is said to have failed that may have run.
func (r *modelRun) shutDown() string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	r.s.Drain(ctx)
	synctest.Wait()
	page, _ := r.s.Operations(context.Background(), OperationQuery{Limit: 1000})
	for _, o := range page.Operations {
		if o.unanswered() || o.State == Expired && !o.SentAt.IsZero() {
			return fmt.Sprintf("after the stop an operation is %s", o.State)
		}
	}
	for i, o := range r.commands {
		for _, c := range o.callers {
			if len(c.answer) != 1 {
				return fmt.Sprintf("after the stop somebody waits for command %d", i)
			}
		}
	}
	for i, s := range r.statuses {
		if len(s.answer) != 1 {
			return fmt.Sprintf("after the stop somebody waits for status %d", i)
		}
	}
	return ""
}
