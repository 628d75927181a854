package edge

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/edge/internal/text"
	iopv1 "iop/proto/iop/v1"
)

const (
	// maxLasting bounds the commands that run on after they were accepted; one more is ended as failed.
	maxLasting = 32
	// maxFresh bounds those that run and weren't answered yet; one more is rejected. Having room of their own, quick ones run
	// whatever lasts: above all those that end what lasts.
	maxFresh = 32
	// acceptAfter is how long a command may run before it is answered as accepted.
	acceptAfter = 250 * time.Millisecond
	// maxCommandIDBytes is well over any id that a Control Plane makes; a longer one is not worth remembering.
	maxCommandIDBytes = 256
	maxMessageBytes   = 1024
)

// answerer is the connection that a command came by.
type answerer interface {
	answerCommand(replyTo uint64, r *iopv1.EdgeCommandResponse)
}

// commands runs operations and remembers what became of them. It outlives connections: answers go to the connection
// that asked, or nowhere when it is gone; events go to whatever connection there is.
type commands struct {
	operations map[string]Operation
	clock      *serverClock
	event      func(*iopv1.EdgeCommandEvent) // doesn't block
	log        *slog.Logger

	ctx    context.Context // ends when the Edge stops
	cancel context.CancelFunc
	idle   sync.WaitGroup // of running operations

	// mu also keeps the answer to a command before its events on the wire, which is why both are sent under it.
	mu       sync.Mutex
	outcomes *outcomes
	version  uint64 // of outcomes
	stopping bool

	file outcomeFile
}

// run is a command that runs.
type run struct {
	id       string
	from     answerer // waits for the first answer, until accepted
	replyTo  uint64
	accepted bool // it was told that events follow
	started  time.Time
	end      context.CancelCauseFunc
}

// errCrowded ends a command that lasts when enough others do.
var errCrowded = Failed(fmt.Sprintf("The Edge runs %d lasting commands already; this one was ended.", maxLasting))

// newCommands takes the outcomes from the file, and writes it anew, so that a file that can't be written is noticed now and not
// at the first command.
func newCommands(operations map[string]Operation, clock *serverClock, event func(*iopv1.EdgeCommandEvent), stateFile string, log *slog.Logger) (*commands, error) {
	c := &commands{operations: operations, clock: clock, event: event, log: log, outcomes: newOutcomes(maxOutcomes, maxOutcomeBytes), version: 1}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	kept, err := c.file.open(stateFile, log)
	if err != nil {
		return nil, err
	}
	c.outcomes.restore(kept)
	if err := c.save(); err != nil {
		c.file.close()
		return nil, fmt.Errorf("edge: the state file can't be written: %w", err)
	}
	return c, nil
}

// request takes a command: answers it as before, refuses it, or starts it.
func (c *commands) request(from answerer, replyTo uint64, req *iopv1.EdgeCommandRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := req.CommandId
	if settled := c.outcomes.settled[id]; settled != nil {
		from.answerCommand(replyTo, settled)
		return
	}
	if r := c.outcomes.running[id]; r != nil {
		c.accept(r)
		from.answerCommand(replyTo, acceptedResponse(id))
		return
	}
	if why := c.refusal(req); why != "" {
		refused := rejectedResponse(id, why)
		if usableID(id) {
			c.outcomes.settle(refused)
			c.version++
		}
		c.log.Info("A command was rejected.", "command_id", clip(id), "operation", clip(req.Operation), "why", why)
		from.answerCommand(replyTo, refused)
		return
	}
	ctx, end := context.WithCancelCause(c.ctx)
	r := &run{id: id, from: from, replyTo: replyTo, started: time.Now(), end: end}
	c.outcomes.begin(id, r)
	c.version++
	c.log.Info("A command starts.", "command_id", id, "operation", req.Operation, "node_id", clip(req.NodeId), "requested_by", clip(req.RequestedBy), "request_id", clip(req.RequestId))
	c.idle.Go(func() { c.run(ctx, r, req) })
}

// refusal tells why a new command isn't started; empty when it is.
func (c *commands) refusal(req *iopv1.EdgeCommandRequest) string {
	running, lasting := len(c.outcomes.running), c.lasting()
	switch {
	case !usableID(req.CommandId):
		return "The command has no usable id."
	case c.operations[req.Operation] == nil:
		return "This Edge has no such operation."
	case req.ExpiresAt != nil && c.clock.expired(req.ExpiresAt.AsTime(), time.Now()):
		return "The command arrived after its time was up."
	case c.stopping:
		return "The Edge is stopping."
	case running-lasting >= maxFresh, running >= maxFresh+maxLasting: // the latter where operations don't end that should
		return fmt.Sprintf("The Edge runs %d commands already.", running)
	}
	return ""
}

// lasting counts the commands that were accepted and run.
func (c *commands) lasting() (n int) {
	for _, r := range c.outcomes.running {
		if r.accepted {
			n++
		}
	}
	return n
}

func usableID(id string) bool { return id != "" && len(id) <= maxCommandIDBytes }

// run is a command's goroutine.
func (c *commands) run(ctx context.Context, r *run, req *iopv1.EdgeCommandRequest) {
	defer r.end(nil)
	wait := acceptAfter
	if req.Timeout != nil { // the asker doesn't wait longer than that
		wait = min(wait, max(req.Timeout.AsDuration()/2, 0))
	}
	soon := time.AfterFunc(wait, func() { c.lockedAccept(r) })
	response := failedResponse(r.id) // of an operation that ends its goroutine and never comes back
	defer func() {
		soon.Stop()
		c.settle(r, response)
		_ = c.logSave() // this process still remembers it
	}()
	// Before it does anything, so that a new process doesn't run the same command again.
	if c.logSave() != nil {
		response = rejectedResponse(r.id, "The Edge can't note the command in its state file, and so doesn't run it; the Edge's log tells why.")
		return
	}
	response = c.call(ctx, &Command{
		ID: req.CommandId, Operation: req.Operation, NodeID: req.NodeId,
		Parameters: parametersOf(req), RequestedBy: req.RequestedBy, RequestID: req.RequestId,
		progress: func(percent int, message string) { c.progress(r, percent, message) },
	})
}

func (c *commands) lockedAccept(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outcomes.running[r.id] == r {
		c.accept(r)
	}
}

// accept tells whoever waits that the command goes on, once. One too many doesn't go on for long.
func (c *commands) accept(r *run) {
	if r.accepted {
		return
	}
	if c.lasting() >= maxLasting {
		r.end(errCrowded)
	}
	r.accepted = true
	r.from.answerCommand(r.replyTo, acceptedResponse(r.id))
	r.from = nil
	c.event(&iopv1.EdgeCommandEvent{
		CommandId: r.id, Phase: iopv1.CommandPhase_COMMAND_PHASE_STARTED, OccurredAt: timestamppb.New(r.started),
	})
}

func (c *commands) progress(r *run, percent int, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outcomes.running[r.id] != r {
		return // it reports after its end, from a goroutine that it left behind
	}
	c.accept(r)
	c.event(&iopv1.EdgeCommandEvent{
		CommandId: r.id, Phase: iopv1.CommandPhase_COMMAND_PHASE_PROGRESS, Message: clip(message),
		ProgressPercent: uint32(percent), OccurredAt: timestamppb.Now(),
	})
}

// settle records how a command ended and tells it: as the answer that is awaited still, or as an event.
func (c *commands) settle(r *run, response *iopv1.EdgeCommandResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.accepted && response.Outcome == iopv1.CommandOutcome_COMMAND_OUTCOME_REJECTED {
		response.Outcome = iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED // what has begun can't be refused
	}
	c.outcomes.settle(response)
	c.version++
	c.log.Info("A command has ended.", "command_id", r.id, "outcome", text.Name(response.Outcome, "COMMAND_OUTCOME_"), "said", response.Message)
	if !r.accepted {
		r.from.answerCommand(r.replyTo, response)
		return
	}
	c.event(&iopv1.EdgeCommandEvent{
		CommandId: r.id, Phase: phaseOf(response.Outcome), Message: response.Message,
		ProgressPercent: percentAtEnd(response.Outcome), OccurredAt: timestamppb.Now(), Result: response.Result,
	})
}

// save keeps the outcomes over a restart. A refusal alone isn't worth a write; it is kept with what comes after it, or with the
// Edge's end.
func (c *commands) save() error {
	c.mu.Lock()
	version := c.version
	c.mu.Unlock()
	return c.file.save(version, func() (uint64, *iopv1.EdgeCommandQueryResponse) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.version, c.outcomes.keep()
	})
}

func (c *commands) logSave() error {
	err := c.save()
	if err != nil {
		c.log.Error("The outcomes of commands can't be kept for a restart.", "error", err)
	}
	return err
}

// query answers what became of commands. Those that run are accepted from here on: their ends will be events.
func (c *commands) query(ids []string, answer func(*iopv1.EdgeCommandQueryResponse)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := &iopv1.EdgeCommandQueryResponse{}
	var goOn []*run
	for _, id := range ids {
		if settled := c.outcomes.settled[id]; settled != nil {
			all.Responses = append(all.Responses, settled)
		} else if r := c.outcomes.running[id]; r != nil {
			all.Responses = append(all.Responses, acceptedResponse(id))
			goOn = append(goOn, r)
		} else {
			all.UnknownCommandIds = append(all.UnknownCommandIds, id)
		}
	}
	answer(all)
	for _, r := range goOn {
		c.accept(r)
	}
}

// stop refuses new commands and ends the running ones; done is closed when the last has ended.
func (c *commands) stop() (done <-chan struct{}) {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	c.cancel()
	ended := make(chan struct{})
	go func() {
		c.idle.Wait()
		close(ended)
	}()
	return ended
}
