package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"iop/wire"
)

func keyed(edgeID, key string, body byte) *CommandAsk {
	ask := commandFor(edgeID)
	ask.Key, ask.Fingerprint = key, [32]byte{body}
	return ask
}

func TestOneKeyOneCommand(t *testing.T) {
	opts := testOptions()
	opts.Audit.IdempotencyWindow = 10 * time.Minute
	bubble(t, opts, func(t *testing.T, s *System) {
		f, other := connect(t, s, "e1"), connect(t, s, "e2")
		var answers []<-chan CommandReply
		for range 10 { // at once: they wait as the first does
			ask := keyed("e1", "k", 1)
			ask.RequestID = "first"
			answers = append(answers, askCommand(s, ask))
		}
		noWait := keyed("e1", "k", 1)
		noWait.Wait, noWait.RequestID = false, "later"
		began := time.Now()
		wantReply(t, s.Command(context.Background(), noWait), "", Sent)
		wantReply(t, s.Command(context.Background(), keyed("e1", "k", 2)), wire.IdempotencyConflict, "")
		wantEqual(t, "waited", time.Since(began), time.Duration(0))

		m, c := f.commandRequest()
		f.reply(m.Id, outcomeOf(c.CommandId, outcomeAccepted))
		for _, a := range answers {
			o := wantReply(t, <-a, "", Accepted)
			wantEqual(t, "operation, request", []string{o.ID, o.RequestID}, []string{c.CommandId, "first"})
		}
		f.send(phaseOf(c.CommandId, phaseSucceeded))
		synctest.Wait()
		wantReply(t, s.Command(context.Background(), keyed("e1", "k", 1)), "", Succeeded)

		elsewhere := askCommand(s, keyed("e2", "k", 2)) // a key is its Edge's
		m, c = other.commandRequest()
		other.reply(m.Id, outcomeOf(c.CommandId, outcomeSucceeded))
		wantReply(t, <-elsewhere, "", Succeeded)

		f.conn.Close()
		synctest.Wait()
		wantReply(t, s.Command(context.Background(), keyed("e1", "k", 1)), "", Succeeded) // also when the Edge is gone
		f = connect(t, s, "e1")
		time.Sleep(10*time.Minute + time.Second)
		fresh := askCommand(s, keyed("e1", "k", 2)) // after the window the key is free
		m, c = f.commandRequest()
		f.reply(m.Id, outcomeOf(c.CommandId, outcomeSucceeded))
		wantReply(t, <-fresh, "", Succeeded)
	})
}

// Who repeats a request that didn't wait isn't made to wait either.
func TestReplayOfOneThatDidNotWait(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		noWait := keyed("e1", "k", 1)
		noWait.Wait = false
		o := wantOnItsWay(t, <-askCommand(s, noWait))
		synctest.Wait()
		wantEqual(t, "operation", wantReply(t, <-askCommand(s, keyed("e1", "k", 1)), "", Sent).ID, o.ID)
		m, c := f.commandRequest()
		f.reply(m.Id, outcomeOf(c.CommandId, outcomeSucceeded))
	})
}

// Who repeats a request whose command was lost or timed out is answered as the first caller was, until the Edge has spoken.
func TestReplayAfterLoss(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(f *fakeEdge)
		code wire.Code
	}{
		"lost":      {func(f *fakeEdge) { f.conn.Close() }, wire.EdgeDisconnected},
		"timed out": {func(*fakeEdge) { time.Sleep(31 * time.Second) }, wire.EdgeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, testOptions(), func(t *testing.T, s *System) {
				f := connect(t, s, "e1")
				first := askCommand(s, keyed("e1", "k", 1))
				f.commandRequest()
				c.end(f)
				o := wantReply(t, <-first, c.code, Unknown)
				again := wantReply(t, s.Command(context.Background(), keyed("e1", "k", 1)), c.code, Unknown)
				wantEqual(t, "operation", again.ID, o.ID)
				f = connect(t, s, "e1")
				f.request() // the question
				f.send(phaseOf(o.ID, phaseSucceeded))
				synctest.Wait()
				wantReply(t, s.Command(context.Background(), keyed("e1", "k", 1)), "", Succeeded)
			})
		})
	}
}

func TestReplayOfAnEdgeError(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		first := askCommand(s, keyed("e1", "k", 1))
		m, _ := f.commandRequest()
		f.reply(m.Id, errorOf(9))
		for _, r := range []CommandReply{<-first, s.Command(context.Background(), keyed("e1", "k", 1))} {
			wantReply(t, r, wire.EdgeError, Failed)
			wantEqual(t, "edge_error", r.EdgeError, "INTERNAL")
		}
	})
}

// A caller that hangs up ends nothing, and who repeats the request waits in its place.
func TestCallerHangsUp(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		ctx, hangUp := context.WithCancel(context.Background())
		gone := make(chan CommandReply, 1)
		go func() { gone <- s.Command(ctx, keyed("e1", "k", 1)) }()
		m, c := f.commandRequest()
		hangUp()
		<-gone
		again := askCommand(s, keyed("e1", "k", 1))
		f.reply(m.Id, outcomeOf(c.CommandId, outcomeSucceeded))
		wantEqual(t, "operation", wantReply(t, <-again, "", Succeeded).ID, c.CommandId)
	})
}

// Without waiting a command is answered once it is on its way, and refused as any other.
func TestNoWait(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		ask := commandFor("e1")
		ask.Wait = false
		o := wantOnItsWay(t, s.Command(context.Background(), ask))
		m, _ := f.commandRequest()
		f.reply(m.Id, outcomeOf(o.ID, outcomeSucceeded))
		wantEqual(t, "state", operation(t, s, "e1", o.ID).State, Succeeded)
		f.conn.Close()
		synctest.Wait()
		wantReply(t, s.Command(context.Background(), ask), wire.EdgeDisconnected, "")
	})
}
