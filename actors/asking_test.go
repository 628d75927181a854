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

// knows answers a question with outcomes, and with what the Edge doesn't know.
func knows(outcomes []*iopv1.Envelope, unknown ...string) *iopv1.Envelope {
	response := &iopv1.EdgeCommandQueryResponse{UnknownCommandIds: unknown}
	for _, o := range outcomes {
		response.Responses = append(response.Responses, o.GetEdgeCommandResponse())
	}
	return &iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandQueryResponse{EdgeCommandQueryResponse: response}}
}

func knowsOne(id string, outcome iopv1.CommandOutcome) *iopv1.Envelope {
	return knows([]*iopv1.Envelope{outcomeOf(id, outcome)})
}

// askedAbout wants the next word to be a question about these commands and no other; it is answered unless the answer is nil.
func (f *fakeEdge) askedAbout(ids []string, answer *iopv1.Envelope) {
	f.t.Helper()
	m := f.request()
	wantEqual(f.t, "asked", m.GetEdgeCommandQueryRequest().GetCommandIds(), ids)
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

// What a question about several commands leaves open, be its answer an error, nonsense or nothing, is asked about one by one; what
// a question about one leaves open isn't asked about again.
func TestWhatAQuestionLeavesOpen(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(ids []string) *iopv1.Envelope
		waits  time.Duration
		left   int // of three, the last ones
	}{
		"whole": {func(ids []string) *iopv1.Envelope {
			return knows([]*iopv1.Envelope{outcomeOf(ids[0], outcomeSucceeded)}, ids[1:]...)
		}, 0, 0},
		"a part":   {func(ids []string) *iopv1.Envelope { return knowsOne(ids[0], outcomeSucceeded) }, 0, 2},
		"of no id": {func([]string) *iopv1.Envelope { return knowsOne("", outcomeSucceeded) }, 0, 3}, // of three it isn't clear whose
		"an error": {func([]string) *iopv1.Envelope { return errorOf(iopv1.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED) }, 0, 3},
		"nonsense": {func([]string) *iopv1.Envelope { return statusOf("e1", "n") }, 0, 3},
		"nothing":  {func([]string) *iopv1.Envelope { return nil }, queryTime, 3},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, testOptions(), func(t *testing.T, s *System) {
				ids := leave(t, s, "e1", 3)
				f := connect(t, s, "e1")
				began := time.Now()
				f.askedAbout(ids, c.answer(ids))
				left := ids[3-c.left:]
				for i, id := range left {
					f.askedAbout([]string{id}, c.answer([]string{"nobody's"}))
					wantEqual(t, "after", time.Since(began), time.Duration(i+1)*c.waits)
				}
				time.Sleep(2 * queryTime)
				f.nothingElse()
			})
		})
	}
}

// Results that each fit a frame reach their records, though together they don't fit one: an Edge that says too much is cut off, and
// asked about less when it is back.
func TestLargeResultsAreAskedForOneByOne(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		ids := leave(t, s, "e1", 2)
		f := connect(t, s, "e1")
		f.askedAbout(ids, nil)
		f.conn.Close() // as for a frame that is too large
		synctest.Wait()
		f = connect(t, s, "e1")
		for _, id := range ids {
			outcome := outcomeOf("", outcomeSucceeded) // it is clear whose
			outcome.GetEdgeCommandResponse().Result, _ = structpb.NewStruct(map[string]any{"log": strings.Repeat("x", 600<<10)})
			f.askedAbout([]string{id}, knows([]*iopv1.Envelope{outcome}))
		}
		for _, id := range ids {
			o := operation(t, s, "e1", id)
			wantEqual(t, "state, result's bytes", []any{o.State, len(o.Result) > 600<<10}, []any{Succeeded, true})
		}
		f.nothingElse()
	})
}

// What was settled meanwhile isn't asked about.
func TestSettledMeanwhile(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		ids := leave(t, s, "e1", 3)
		f := connect(t, s, "e1")
		m := f.request()
		f.send(phaseOf(ids[1], phaseSucceeded))
		wantEqual(t, "state", operation(t, s, "e1", ids[1]).State, Succeeded)
		f.reply(m.Id, errorOf(iopv1.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED))
		f.askedAbout(ids[:1], knows(nil, ids[0]))
		f.askedAbout(ids[2:], knows(nil, ids[2]))
	})
}

// An Edge that goes and comes back in the middle is asked again about all that isn't settled; while it is away nobody asks.
func TestAwayInTheMiddleOfQuestions(t *testing.T) {
	for name, away := range map[string]time.Duration{"taken over": 0, "back at once": time.Second, "back later": 5 * queryTime} {
		t.Run(name, func(t *testing.T) {
			bubble(t, testOptions(), func(t *testing.T, s *System) {
				ids := leave(t, s, "e1", 3)
				f := connect(t, s, "e1")
				f.askedAbout(ids, knowsOne(ids[0], outcomeSucceeded))
				f.askedAbout(ids[1:2], nil)
				if away > 0 {
					f.conn.Close()
					time.Sleep(away)
				}
				f = connect(t, s, "e1")
				f.askedAbout(ids[1:2], knows(nil, ids[1]))
				f.askedAbout(ids[2:], knows(nil, ids[2]))
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
			case *queryCommands:
				asked.Add(1)
			case *actor.Started, *actor.Stopping, *actor.Stopped:
				return
			}
			ctx.Forward(registry)
		}))
		connect(t, s, "e1").conn.Close()
		time.Sleep(10 * queryTime)
		if n := asked.Load(); n < 1 || n > 2 { // a second is the first one, forwarded by the connection if that has ended by then
			t.Errorf("there were %d questions", n)
		}
		s.root().Stop(s.registry)
		synctest.Wait()
		s.registry = registry
	})
}

func TestInquiryNext(t *testing.T) {
	q := &inquiry{waiting: []string{"a", "gone", "b", "gone", "c", "gone"}}
	open := func(id string) bool { return id != "gone" }
	var asked [][]string
	for q.next("e", 2, open) {
		asked = append(asked, q.question.ids)
	}
	wantEqual(t, "asked", asked, [][]string{{"a", "b"}, {"c"}})
}

func TestUntold(t *testing.T) {
	m := &queryAnswered{question: &queryCommands{ids: []string{"a", "b", "c", "d"}},
		answers: []*commandAnswer{{operationID: "b"}, {operationID: "b"}, {operationID: "other"}}, unknown: []string{"d", "other"}}
	wantEqual(t, "untold", m.untold(), []string{"a", "c"})
	wantEqual(t, "asked", m.question.ids, []string{"a", "b", "c", "d"})
}
