package edge

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
)

const (
	accepted  = iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED
	done      = iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED
	rejected  = iopv1.CommandOutcome_COMMAND_OUTCOME_REJECTED
	failed    = iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED
	cancelled = iopv1.CommandOutcome_COMMAND_OUTCOME_CANCELLED

	hasStarted   = iopv1.CommandPhase_COMMAND_PHASE_STARTED
	hasProgress  = iopv1.CommandPhase_COMMAND_PHASE_PROGRESS
	hasSucceeded = iopv1.CommandPhase_COMMAND_PHASE_SUCCEEDED
	hasFailed    = iopv1.CommandPhase_COMMAND_PHASE_FAILED
	hasCancelled = iopv1.CommandPhase_COMMAND_PHASE_CANCELLED
)

// lasting is an operation that lasts a while.
func lasting(d time.Duration, runs *atomic.Int32) Operation {
	return func(ctx context.Context, c *Command) (map[string]any, error) {
		runs.Add(1)
		select {
		case <-time.After(d):
			return map[string]any{"lasted": d.Seconds()}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func one(name string, op Operation) map[string]Operation { return map[string]Operation{name: op} }

func call(id, operation string) *iopv1.EdgeCommandRequest {
	return &iopv1.EdgeCommandRequest{CommandId: id, Operation: operation}
}

func TestAQuickCommandIsAnsweredWithItsEnd(t *testing.T) {
	const sorry = "There is no such model here."
	for name, c := range map[string]struct {
		op      Operation
		outcome iopv1.CommandOutcome
		message string
	}{
		"succeeds":             {nothing, done, ""},
		"fails and says so":    {failing(Failed(sorry)), failed, sorry},
		"refuses":              {failing(Rejected(sorry)), rejected, sorry},
		"refuses, wrapped":     {failing(fmt.Errorf("context: %w", Rejected(sorry))), rejected, sorry},
		"another's error":      {failing(errors.New("dial tcp 10.0.0.7:8000: refused")), failed, failedSentence},
		"cancels itself":       {failing(context.Canceled), cancelled, "The command was cancelled."},
		"takes too long":       {failing(context.DeadlineExceeded), failed, "The command took too long."},
		"panics":               {func(context.Context, *Command) (map[string]any, error) { panic("at 10.0.0.7") }, failed, failedSentence},
		"ends its goroutine":   {func(context.Context, *Command) (map[string]any, error) { runtime.Goexit(); return nil, nil }, failed, failedSentence},
		"gives what isn't any": {giving(map[string]any{"x": make(chan int)}), failed, failedSentence},
		"says too much":        {failing(Failed(strings.Repeat("x", 2*maxMessageBytes))), failed, strings.Repeat("x", maxMessageBytes)},
		"says it badly":        {failing(Failed("a\xff")), failed, "a\uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cp := newFakeCP(t)
				startEdge(t, cp, Options{Operations: one("op", c.op)})
				p := cp.accept()
				p.command(5, call("c1", "op"))
				if got := p.answer(5); got.CommandId != "c1" || got.Outcome != c.outcome || got.Message != c.message {
					t.Errorf("answered %v", got)
				}
				p.command(6, call("c2", "edge.ping"))
				if got := p.answer(6); got.Outcome != done || got.Result.Fields["time"].GetStringValue() == "" {
					t.Errorf("edge.ping is answered %v", got)
				}
			})
		})
	}
}

func failing(err error) Operation {
	return func(context.Context, *Command) (map[string]any, error) { return nil, err }
}

func giving(result map[string]any) Operation {
	return func(context.Context, *Command) (map[string]any, error) { return result, nil }
}

func TestAnOperationGetsWhatWasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := newFakeCP(t)
		got := make(chan Command, 1)
		startEdge(t, cp, Options{Operations: one("op", func(_ context.Context, c *Command) (map[string]any, error) {
			got <- *c
			return map[string]any{"n": 1}, Failed("but failed")
		})})
		p := cp.accept()
		parameters, err := structpb.NewStruct(map[string]any{"model": "m", "n": 3})
		if err != nil {
			t.Fatal(err)
		}
		p.command(5, &iopv1.EdgeCommandRequest{CommandId: "c", Operation: "op", NodeId: "gpu-1", RequestedBy: "alice", RequestId: "asked-1", Parameters: parameters})
		if a := p.answer(5); a.Outcome != failed || a.Result.Fields["n"].GetNumberValue() != 1 {
			t.Errorf("a failure with a result is answered %v", a)
		}
		c := <-got
		if c.ID != "c" || c.Operation != "op" || c.NodeID != "gpu-1" || c.RequestedBy != "alice" || c.RequestID != "asked-1" || c.Parameters["model"] != "m" || c.Parameters["n"] != 3.0 {
			t.Errorf("the operation got %+v", c)
		}
		p.command(6, call("d", "op"))
		p.answer(6)
		if c := <-got; c.Parameters == nil {
			t.Error("no parameters are nil")
		}
	})
}

func TestALongCommandIsAcceptedAndToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp, runs := newFakeCP(t), atomic.Int32{}
		startEdge(t, cp, Options{Operations: one("long", lasting(3*time.Second, &runs))})
		p := cp.accept()
		begin := time.Now()
		p.command(5, call("c", "long"))
		if a := p.answer(5); a.Outcome != accepted || time.Since(begin) != acceptAfter {
			t.Errorf("answered %v after %v", a, time.Since(begin))
		}
		if e := p.event(hasStarted); !e.OccurredAt.AsTime().Equal(begin) || e.CommandId != "c" {
			t.Errorf("started %v", e)
		}
		if e := p.event(hasSucceeded); e.Result.Fields["lasted"].GetNumberValue() != 3 || time.Since(begin) != 3*time.Second || e.ProgressPercent != 100 {
			t.Errorf("ended %v", e)
		}
	})
}

func TestACommandWhoseAskerWaitsLittleIsAcceptedSooner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp, runs := newFakeCP(t), atomic.Int32{}
		startEdge(t, cp, Options{Operations: one("long", lasting(3*time.Second, &runs))})
		p := cp.accept()
		begin := time.Now()
		c := call("c", "long")
		c.Timeout = durationpb.New(100 * time.Millisecond)
		p.command(5, c)
		if a := p.answer(5); a.Outcome != accepted || time.Since(begin) != 50*time.Millisecond {
			t.Errorf("answered %v after %v", a, time.Since(begin))
		}
	})
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := newFakeCP(t)
		var left *Command
		startEdge(t, cp, Options{Operations: one("op", func(_ context.Context, c *Command) (map[string]any, error) {
			left = c
			c.Progress(-3, "begins")
			c.Progress(10, "too soon after it to be told")
			time.Sleep(progressGap)
			c.Progress(40, "goes on")
			c.Progress(170, "is done")
			return nil, Rejected("too late to refuse")
		})})
		p := cp.accept()
		p.command(5, call("c", "op"))
		if a := p.answer(5); a.Outcome != accepted {
			t.Errorf("answered %v", a)
		}
		p.event(hasStarted)
		for _, want := range []struct {
			percent uint32
			message string
		}{{0, "begins"}, {40, "goes on"}, {100, "is done"}} {
			if e := p.event(hasProgress); e.ProgressPercent != want.percent || e.Message != want.message {
				t.Errorf("progress %v, want %v", e, want)
			}
		}
		if e := p.event(hasFailed); e.Message != "too late to refuse" {
			t.Errorf("ended %v", e)
		}
		time.Sleep(time.Second)
		left.Progress(99, "after the end")
		p.quiet(time.Second)
	})
}

func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := newFakeCP(t)
		startEdge(t, cp, Options{Operations: one("op", nothing)})
		p := cp.waitForHello()
		serverNow := time.Now().Add(-24 * time.Hour) // clocks apart by a day
		p.welcome(&iopv1.EdgeHelloResponse{ServerTime: timestamppb.New(serverNow)})
		p.next() // the first push
		expires := func(d time.Duration) *iopv1.EdgeCommandRequest {
			c := call(d.String(), "op")
			c.ExpiresAt = timestamppb.New(serverNow.Add(d))
			return c
		}
		time.Sleep(10 * time.Second)
		mistyped := call("c", "edge.ping")
		mistyped.Parameters = &structpb.Struct{Fields: map[string]*structpb.Value{"x": structpb.NewNullValue()}}
		for name, c := range map[string]struct {
			request *iopv1.EdgeCommandRequest
			why     string
		}{
			"a parameter of a ping":   {mistyped, "takes no parameters"},
			"unknown operation":       {call("a", "model.load"), "no such operation"},
			"no operation":            {call("b", ""), "no such operation"},
			"no id":                   {call("", "op"), "no usable id"},
			"an endless id":           {call(strings.Repeat("x", 300), "op"), "no usable id"},
			"late":                    {expires(9 * time.Second), "after its time was up"},
			"late by our clock alone": {expires(11 * time.Second), ""},
		} {
			p.command(5, c.request)
			a := p.answer(5)
			if c.why == "" && a.Outcome != done || c.why != "" && (a.Outcome != rejected || !strings.Contains(a.Message, c.why)) {
				t.Errorf("%s: answered %v", name, a)
			}
			if a.CommandId != c.request.CommandId {
				t.Errorf("%s: answered for %q", name, a.CommandId)
			}
		}
		if q := p.query(9, "a", strings.Repeat("x", 300), ""); len(q.Responses) != 1 || len(q.UnknownCommandIds) != 2 {
			t.Errorf("of refused commands it remembers %v", q)
		}
	})
}

func TestARepeatedCommandRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp, runs := newFakeCP(t), atomic.Int32{}
		startEdge(t, cp, Options{Operations: one("long", lasting(time.Second, &runs))})
		p := cp.accept()
		p.command(5, call("c", "long"))
		p.command(6, call("c", "long")) // before anything was answered
		if a := p.answer(5); a.Outcome != accepted {
			t.Errorf("the first is answered %v", a)
		}
		p.event(hasStarted)
		if a := p.answer(6); a.Outcome != accepted {
			t.Errorf("the repeat is answered %v", a)
		}
		p.event(hasSucceeded)
		p.command(7, call("c", "long"))
		p.command(8, call("c", "edge.ping")) // an id is an id
		for id := range uint64(2) {
			if a := p.answer(7 + id); a.Outcome != done || a.Result.Fields["lasted"].GetNumberValue() != 1 {
				t.Errorf("a repeat after the end is answered %v", a)
			}
		}
		if runs.Load() != 1 {
			t.Errorf("it ran %d times", runs.Load())
		}
	})
}

func TestCommandsOutliveTheirConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp, runs := newFakeCP(t), atomic.Int32{}
		startEdge(t, cp, Options{Operations: one("long", lasting(time.Minute, &runs))})
		p := cp.accept()
		p.command(5, call("told", "long"))
		p.answer(5)
		p.event(hasStarted)
		p.command(6, call("untold", "long"))
		synctest.Wait()
		_ = p.conn.Close()

		p = cp.waitForHello()
		p.welcome(&iopv1.EdgeHelloResponse{})
		if e := p.event(hasStarted); e.CommandId != "untold" {
			t.Errorf("started %v", e)
		}
		q := p.query(7, "told", "untold", "never seen")
		if len(q.Responses) != 2 || q.Responses[0].Outcome != accepted || q.Responses[1].Outcome != accepted || !equalStrings(q.UnknownCommandIds, "never seen") {
			t.Errorf("asked after them it says %v", q)
		}
		p.command(8, call("told", "long"))
		if a := p.answer(8); a.Outcome != accepted {
			t.Errorf("a repeat on a new connection is answered %v", a)
		}
		_ = p.conn.Close()
		time.Sleep(2 * time.Minute) // both end while nobody is there

		p = cp.waitForHello()
		p.welcome(&iopv1.EdgeHelloResponse{})
		ends := map[string]bool{}
		for range 2 {
			ends[p.event(hasSucceeded).CommandId] = true
		}
		if !ends["told"] || !ends["untold"] {
			t.Errorf("the held ends are of %v", ends)
		}
		q = p.query(9, "untold", "told")
		if len(q.Responses) != 2 || q.Responses[0].Outcome != done || q.Responses[1].Outcome != done {
			t.Errorf("asked after their ends it says %v", q)
		}
		if runs.Load() != 2 {
			t.Errorf("operations ran %d times", runs.Load())
		}
	})
}

func TestACommandThatEndsUntoldIsToldWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp, runs := newFakeCP(t), atomic.Int32{}
		startEdge(t, cp, Options{Operations: one("short", lasting(100*time.Millisecond, &runs))})
		p := cp.accept()
		p.command(5, call("c", "short"))
		synctest.Wait()
		_ = p.conn.Close()
		time.Sleep(time.Second)
		p = cp.accept()
		if q := p.query(6, "c"); len(q.Responses) != 1 || q.Responses[0].Outcome != done {
			t.Errorf("asked after it it says %v", q)
		}
		p.quiet(time.Second)
	})
}

func TestStoppingEndsCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp, runs := newFakeCP(t), atomic.Int32{}
		stop := startEdge(t, cp, Options{Operations: one("long", lasting(time.Hour, &runs))})
		p := cp.accept()
		p.command(5, call("c", "long"))
		p.answer(5)
		p.event(hasStarted)
		got := make(chan []*iopv1.Envelope)
		go func() { got <- p.closed() }()
		stop()
		last := <-got
		if len(last) != 2 || last[0].GetGoAway() == nil || last[1].GetEdgeCommandEvent().GetPhase() != hasCancelled {
			t.Errorf("the Edge went with %v", last)
		}
	})
}

func TestStoppingWaitsForNobodyForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp, release := newFakeCP(t), make(chan struct{})
		stop := startEdge(t, cp, Options{Operations: one("deaf", func(context.Context, *Command) (map[string]any, error) {
			<-release
			return nil, nil
		})})
		p := cp.accept()
		p.command(5, call("c", "deaf"))
		p.answer(5)
		p.event(hasStarted)
		go func() {
			for p.next().GetGoAway() == nil {
			}
			p.command(6, call("d", "deaf"))
			if a := p.answer(6); a.Outcome != rejected || a.Message != "The Edge is stopping." {
				t.Errorf("a command after the goodbye is answered %v", a)
			}
			p.closed()
		}()
		begin := time.Now()
		stop()
		if d := time.Since(begin); d > 2*stopTime+closeTime {
			t.Errorf("stopping took %v", d)
		}
		close(release)
	})
}

func TestResultsThatDontFitAreLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := newFakeCP(t)
		big := map[string]any{"x": strings.Repeat("x", 5000)}
		deep := map[string]any{}
		for range 100 { // three messages a level, some bytes each: small enough, and more than anybody decodes
			deep = map[string]any{"": deep}
		}
		startEdge(t, cp, Options{Operations: map[string]Operation{
			"quick": giving(big),
			"deep":  giving(deep),
			"slow": func(context.Context, *Command) (map[string]any, error) {
				time.Sleep(time.Second)
				return big, nil
			},
		}})
		p := cp.waitForHello()
		p.welcome(&iopv1.EdgeHelloResponse{MaxFrameBytes: 2000})
		p.command(5, call("q", "quick"))
		if a := p.answer(5); a.Outcome != done || a.Result != nil || a.Message == "" {
			t.Errorf("answered %v", a)
		}
		p.command(5, call("d", "deep"))
		if a := p.answer(5); a.Outcome != done || a.Result != nil || a.Message == "" {
			t.Errorf("answered %v", a)
		}
		p.command(6, call("s", "slow"))
		p.answer(6)
		p.event(hasStarted)
		if e := p.event(hasSucceeded); e.Result != nil || e.Message == "" {
			t.Errorf("ended %v", e)
		}
		if q := p.query(7, "q", "s"); len(q.Responses)+len(q.UnknownCommandIds) != 0 {
			t.Errorf("asked after both it says %v, where neither fits with its result", q)
		}
		for _, id := range []string{"q", "s"} {
			if q := p.query(7, id); len(q.Responses) != 1 || q.Responses[0].CommandId != id || q.Responses[0].Result != nil {
				t.Errorf("asked after %s it says %v", id, q)
			}
		}
		if q := p.query(8, slices.Repeat([]string{"gone"}, 100)...); len(q.UnknownCommandIds) != 100 {
			t.Errorf("asked after what it never had it says %v", q)
		}
	})
}
