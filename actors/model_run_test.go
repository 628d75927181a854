package actors

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// act is one step of a run. Its numbers choose among what there is at the time, so that a run of which steps are left out
// is a run, too.
type act struct {
	kind    string
	a, b, c int
}

// Each as often as it stands here.
var acts = strings.Fields(`connect connect connect dial close bye hush stick status status status command command command command
	answer answer answer answer answer event event late late node push tick tick tick tick tick rest`)

// planOf has the Control Plane told to stop somewhere in the last steps: nobody connects after that.
func planOf(seed uint64, steps int) []act {
	r := rand.New(rand.NewPCG(seed, 7))
	plan := make([]act, steps)
	for i := range plan {
		plan[i] = act{acts[r.IntN(len(acts))], r.IntN(1 << 16), r.IntN(1 << 16), r.IntN(1 << 16)}
	}
	plan[steps-1-r.IntN(30)].kind = "drain"
	return plan
}

// TestSystemAgainstAModel runs the real actors over in-memory links in fake time beside the model, and compares what operators are
// shown and told after each step. IOP_MODEL_RUNS is how many runs of 200 steps.
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
	opts.HelloTimeout = modelHelloTimeout
	opts.History.EdgeBuffer = opts.History.FleetBuffer // so that all is kept
	opts.MaxInFlight = 1 << 20
	opts.Link.WriteTimeout = modelWriteTimeout
	opts.Link.MaxQueueFrames = 1 << 10
	bubble(t, opts, func(t *testing.T, s *System) {
		r := newModelRun(t, s)
		if why = r.follow(plan); why != "" {
			why = strings.Join(append(r.done, why), "\n")
			time.Sleep(time.Minute) // until all have given up that nobody answers
		}
		r.live.Cancel()
		for _, c := range r.conns {
			c.conn.Close()
		}
		for _, d := range r.dialled {
			d.conn.Close()
		}
	})
	return why
}

// follow does a plan and says what differed first. A panic is such a difference, so that it is shrunk as well.
func (r *modelRun) follow(plan []act) (why string) {
	defer func() {
		if reason := recover(); reason != nil {
			why = fmt.Sprintf("panic: %v\n%s", reason, debug.Stack())
		}
	}()
	for _, a := range plan {
		r.step(a)
		if why = r.compare(); why != "" {
			return why
		}
	}
	return r.stop()
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
	dialled  []dialled
	byID     map[string]*commandRun // those that are on record, or were
	written  map[string]bool        // command ids as they came over a wire
	began    time.Time
	live     *Subscription
	lived    []*Event             // all that the live subscription has said
	said     []*Event             // of it, what wasn't compared yet
	stopped  <-chan time.Duration // of the drain; nil before it
	nodes    int                  // how many nodes have been named, each another
	done     []string             // a line for each step that did something
	wrong    string
}

func newModelRun(t *testing.T, s *System) *modelRun {
	r := &modelRun{t: t, s: s, written: map[string]bool{}, keys: map[string]*commandRun{}, byID: map[string]*commandRun{}, began: time.Now()}
	var fault *wire.Fault
	if r.live, fault = s.Subscribe(context.Background(), ""); fault != nil {
		t.Fatal(fault)
	}
	return r
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

// dialled is a connection that has said nothing yet.
type dialled struct {
	*fakeEdge
	at time.Duration
}

type commandRun struct {
	*modelCommand
	id      string
	callers []callerRun
}

// callerRun is somebody who asked for a command; reply is the answer in words, once it came.
type callerRun struct {
	answer <-chan CommandReply
	reply  string
}

type statusRun struct {
	*modelStatus
	answer <-chan StatusReply
	reply  string
}

func (r *modelRun) step(a act) {
	switch a.kind {
	case "connect":
		r.connect(a.a%len(r.m.edges), a.b%2, a.c%2 == 0)
	case "dial":
		r.note("somebody dials")
		r.dialled = append(r.dialled, dialled{dial(r.t, r.s), r.m.now})
	case "status":
		r.note("status %d: %s is asked", len(r.statuses), edgeName(a.a%len(r.m.edges)))
		r.statuses = append(r.statuses, &statusRun{modelStatus: r.m.askStatus(a.a%len(r.m.edges), 2300*time.Millisecond),
			answer: askStatus(r.s, edgeName(a.a%len(r.m.edges)), 2300*time.Millisecond)})
	case "command":
		r.command(a.a%len(r.m.edges), a.b%2 == 0, a.c%6)
	case "drain":
		r.drain(4600*time.Millisecond + time.Duration(a.a%2)*4*time.Second)
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

// connect says a hello, on a connection that was dialled before where there is one and old says so.
func (r *modelRun) connect(edge, instance int, old bool) {
	d := dialled{at: r.m.now}
	if old && len(r.dialled) > 0 {
		d, r.dialled = r.dialled[0], r.dialled[1:]
	} else {
		d.fakeEdge = dial(r.t, r.s)
	}
	c := &connRun{fakeEdge: d.fakeEdge}
	d.send(helloEnvelope(helloOf(edgeName(edge), fmt.Sprint(instance))))
	synctest.Wait()
	var m *iopv1.Envelope
	select {
	case m = <-d.in:
	default:
		r.wrong = "a hello was not answered"
	}
	c.modelConn = r.m.connect(edge, instance, d.at)
	if granted := m.GetEdgeHelloResponse() != nil; granted != (c.modelConn != nil) {
		r.wrong = fmt.Sprintf("a hello was answered with %v", m)
	} else if granted {
		c.number = len(r.conns)
		r.conns = append(r.conns, c)
		r.note("%v is made by instance %d", c, instance)
	} else {
		r.note("instance %d of %s is refused", instance, edgeName(edge))
		d.conn.Close()
	}
}

// drain tells the Control Plane to stop. What goes on meanwhile are the steps behind it.
func (r *modelRun) drain(most time.Duration) {
	if r.stopped == nil {
		r.note("the Control Plane is told to stop within %v", most)
		r.stopped = drainFor(r.s, most)
		r.m.drain(most)
	}
}

// command asks for one; a key from 1 to 3 is used again.
func (r *modelRun) command(edge int, wait bool, key int) {
	ask := withTimeout(edgeName(edge), 7700*time.Millisecond)
	ask.Wait = wait
	if key > 0 && key < 4 {
		ask.Key = fmt.Sprint(key)
		if first := r.keys[ask.EdgeID+ask.Key]; first != nil && !first.removed {
			r.note("%v is asked for again, waiting: %v", first, wait)
			r.m.again(first.modelCommand, wait)
			first.callers = append(first.callers, callerRun{answer: askCommand(r.s, ask)})
			return
		}
	}
	o := &commandRun{modelCommand: r.m.command(edge, wait, ask.Timeout)}
	r.note("%v: for %s, waiting: %v, key %q", o, ask.EdgeID, wait, ask.Key)
	r.commands = append(r.commands, o)
	if ask.Key != "" {
		r.keys[ask.EdgeID+ask.Key] = o
	}
	o.callers = append(o.callers, callerRun{answer: askCommand(r.s, ask)})
	if !o.removed { // it is the newest on record
		page, _ := r.s.Operations(context.Background(), OperationQuery{EdgeID: ask.EdgeID, Limit: 1})
		if len(page.Operations) == 1 {
			o.id = page.Operations[0].ID
			r.byID[o.id] = o
		}
	}
}

func (r *modelRun) commandOf(o *modelCommand) *commandRun { return r.commands[o.number] }

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

// listen takes what the far ends were asked, which must be the model's questions, and what callers and live readers were told.
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
	for _, o := range r.commands {
		for i := range o.callers {
			if c := &o.callers[i]; len(c.answer) > 0 {
				c.reply = r.commandReply(o, <-c.answer)
			}
		}
	}
	for _, s := range r.statuses {
		if len(s.answer) > 0 {
			s.reply = statusReply(<-s.answer)
		}
	}
	for len(r.live.Events) > 0 {
		r.said = append(r.said, (<-r.live.Events).Event)
	}
}
