package actors

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/structpb"

	iopv1 "iop/proto/iop/v1"
)

// knows answers a question with an outcome, or nil, and with what the Edge doesn't know.
func knows(outcome *iopv1.Envelope, unknown ...string) *iopv1.Envelope {
	response := &iopv1.EdgeCommandQueryResponse{UnknownCommandIds: unknown}
	if outcome != nil {
		response.Responses = []*iopv1.EdgeCommandResponse{outcome.GetEdgeCommandResponse()}
	}
	return &iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandQueryResponse{EdgeCommandQueryResponse: response}}
}

// askedAbout wants the next word to be a question about this command and no other; it is answered unless the answer is nil.
func (f *fakeEdge) askedAbout(id string, answer *iopv1.Envelope) {
	f.t.Helper()
	m := f.request()
	wantEqual(f.t, "asked", m.GetEdgeCommandQueryRequest().GetCommandIds(), []string{id})
	if answer != nil {
		f.reply(m.Id, answer)
	}
}

// nothingElse wants no word for now.
func (f *fakeEdge) nothingElse() {
	f.t.Helper()
	synctest.Wait()
	if len(f.in) > 0 {
		f.t.Fatalf("got %v, want nothing", <-f.in)
	}
}

// leave has an Edge accept commands, and go.
func leave(t *testing.T, s *System, id string, commands int) (ids []string) {
	f := connect(t, s, id)
	for range commands {
		answer := askCommand(s, commandFor(id))
		m, c := f.commandRequest()
		f.reply(m.Id, outcomeOf(c.CommandId, outcomeAccepted))
		wantReply(t, <-answer, "", Accepted)
		ids = append(ids, c.CommandId)
	}
	f.conn.Close()
	synctest.Wait()
	return ids
}

// Results that each fit a frame reach their records, though together they don't fit one.
func TestLargeResultsAreAskedForOneByOne(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		ids := leave(t, s, "e1", 2)
		f := connect(t, s, "e1")
		for _, id := range ids {
			outcome := outcomeOf(id, outcomeSucceeded)
			outcome.GetEdgeCommandResponse().Result, _ = structpb.NewStruct(map[string]any{"log": strings.Repeat("x", 600<<10)})
			f.askedAbout(id, knows(outcome))
		}
		for _, id := range ids {
			o := operation(t, s, "e1", id)
			wantEqual(t, "state, result's bytes", []any{o.State, len(o.Result) > 600<<10}, []any{Succeeded, true})
		}
		f.nothingElse()
	})
}

// What one question comes to, an answer, an error, nonsense or nothing, the next one follows it.
func TestEachQuestionIsFollowedByTheNext(t *testing.T) {
	for name, c := range map[string]struct {
		answer *iopv1.Envelope
		waits  time.Duration
		state  OperationState
	}{
		"an outcome":      {knows(outcomeOf("", outcomeSucceeded)), 0, Succeeded}, // it is clear whose
		"doesn't know it": {knows(nil), 0, Accepted},
		"an error":        {errorOf(iopv1.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED), 0, Accepted},
		"nonsense":        {statusOf("e1", "n"), 0, Accepted},
		"nothing":         {nil, queryTime, Accepted},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, testOptions(), func(t *testing.T, s *System) {
				ids := leave(t, s, "e1", 2)
				f := connect(t, s, "e1")
				began := time.Now()
				f.askedAbout(ids[0], c.answer)
				f.askedAbout(ids[1], knows(nil, ids[1]))
				wantEqual(t, "after", time.Since(began), c.waits)
				wantEqual(t, "state", operation(t, s, "e1", ids[0]).State, c.state)
				time.Sleep(2 * queryTime)
				f.nothingElse()
			})
		})
	}
}

// What was settled meanwhile isn't asked about.
func TestSettledMeanwhile(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		ids := leave(t, s, "e1", 3)
		f := connect(t, s, "e1")
		f.send(phaseOf(ids[1], phaseSucceeded))
		wantEqual(t, "state", operation(t, s, "e1", ids[1]).State, Succeeded)
		f.askedAbout(ids[0], knows(nil))
		f.askedAbout(ids[2], knows(nil))
	})
}

// An Edge that goes and comes back in the middle is asked again about all that isn't settled; while it is away nobody asks.
func TestAwayInTheMiddleOfQuestions(t *testing.T) {
	for name, away := range map[string]time.Duration{"taken over": 0, "back at once": time.Second, "back later": 5 * queryTime} {
		t.Run(name, func(t *testing.T) {
			bubble(t, testOptions(), func(t *testing.T, s *System) {
				ids := leave(t, s, "e1", 3)
				f := connect(t, s, "e1")
				f.askedAbout(ids[0], knows(outcomeOf(ids[0], outcomeSucceeded)))
				f.askedAbout(ids[1], nil)
				if away > 0 {
					f.conn.Close()
					time.Sleep(away)
				}
				f = connect(t, s, "e1")
				f.askedAbout(ids[1], knows(nil))
				f.askedAbout(ids[2], knows(nil))
				time.Sleep(2 * queryTime)
				f.nothingElse()
			})
		})
	}
}

// Of an Edge that is gone again one question is in vain, and no more.
func TestNobodyAsksAnEdgeThatIsAway(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		leave(t, s, "e1", 5)
		registry := s.registry
		var asked atomic.Int32
		s.registry = s.root().Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
			switch ctx.Message().(type) {
			case *queryCommand:
				asked.Add(1)
			case *actor.Started, *actor.Stopping, *actor.Stopped:
				return
			}
			ctx.Forward(registry)
		}))
		connect(t, s, "e1").conn.Close()
		time.Sleep(10 * queryTime)
		wantEqual(t, "questions", asked.Load(), 2)
		s.root().Stop(s.registry)
		synctest.Wait()
		s.registry = registry
	})
}

func TestInquiryNext(t *testing.T) {
	q := &inquiry{waiting: []string{"a", "gone", "b", "gone"}}
	open := func(id string) bool { return id != "gone" }
	var asked []string
	for q.next(open) {
		asked = append(asked, q.asked)
	}
	wantEqual(t, "asked", asked, []string{"a", "b"})
	wantEqual(t, "then", q.asked, "")
	q.waiting = append(q.waiting, "c")
	wantEqual(t, "goes on", []any{q.next(open), q.asked}, []any{true, "c"})
}
