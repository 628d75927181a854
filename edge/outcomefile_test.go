package edge

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	iopv1 "iop/proto/iop/v1"
)

// TestARestartRunsNoCommandAgain has two processes, one after the other, with one file.
func TestARestartRunsNoCommandAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	var runs atomic.Int32
	operations := map[string]Operation{
		"quick": lasting(0, &runs),
		"slow":  func(ctx context.Context, _ *Command) (map[string]any, error) { <-ctx.Done(); return nil, ctx.Err() },
	}
	var killed []byte // the file as a kill would leave it
	synctest.Test(t, func(t *testing.T) {
		cp := newFakeCP(t)
		startEdge(t, cp, Options{Operations: operations, StateFile: file})
		p := cp.accept()
		p.command(5, call("ended", "quick"))
		p.answer(5)
		p.command(6, call("runs", "slow"))
		if a := p.answer(6); a.Outcome != accepted {
			t.Errorf("answered %v", a)
		}
		synctest.Wait()
		var err error
		if killed, err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	})
	if err := os.WriteFile(file, killed, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		cp := newFakeCP(t)
		startEdge(t, cp, Options{Operations: operations, StateFile: file})
		p := cp.accept()
		p.command(5, call("ended", "quick"))
		if a := p.answer(5); a.Outcome != done || a.Result.Fields["lasted"] == nil || runs.Load() != 1 {
			t.Errorf("what had ended is answered %v after %d runs", a, runs.Load())
		}
		p.command(6, call("runs", "slow"))
		if a := p.answer(6); a.Outcome != failed || a.Message != endedUnseen {
			t.Errorf("what ran is answered %v", a)
		}
	})
}

func TestADamagedStateFileIsAnEmptyOne(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	f := outcomeFile{path: file}
	o := newOutcomes(10, 1<<20)
	o.settle(succeeded("a", "well done"))
	if err := f.save(1, func() (uint64, *iopv1.EdgeCommandQueryResponse) { return 1, o.keep() }); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{
		"empty": {}, "cut": whole[:len(whole)-1], "another's": []byte("hello\n"), "flipped": append(bytes.Clone(whole[:len(whole)-1]), whole[len(whole)-1]^1),
		"too long": append(bytes.Clone(whole), make([]byte, maxOutcomeFileBytes)...),
	} {
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		c := newCommands(nil, &serverClock{}, nil, file, slog.New(slog.NewTextHandler(&log, nil)))
		if len(c.outcomes.settled) != 0 || !strings.Contains(log.String(), errOutcomeFile.Error()) {
			t.Errorf("%s: it has %d outcomes and logs %q", name, len(c.outcomes.settled), log.String())
		}
	}
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if c := newCommands(nil, &serverClock{}, nil, file, quietLog); c.outcomes.settled["a"].GetMessage() != "well done" {
		t.Error("a whole one isn't taken")
	}
}

func TestTheStateFileIsBounded(t *testing.T) {
	o := newOutcomes(maxOutcomes, maxOutcomeBytes)
	for i := range maxOutcomes {
		r := succeeded(fmt.Sprint(i), strings.Repeat("x", 900))
		r.Result = &structpb.Struct{Fields: map[string]*structpb.Value{"x": structpb.NewStringValue(strings.Repeat("x", 900))}}
		o.settle(r)
	}
	o.begin("runs", &run{id: "runs"})
	data, err := encodeOutcomes(o.keep())
	if err != nil || len(data) > maxOutcomeFileBytes || len(data) < maxOutcomeFileBytes/2 {
		t.Fatalf("it has %d bytes, %v", len(data), err)
	}
	kept, err := decodeOutcomes(data)
	if err != nil {
		t.Fatal(err)
	}
	last := kept.Responses[len(kept.Responses)-1]
	if last.CommandId != fmt.Sprint(maxOutcomes-1) || last.Result == nil || kept.UnknownCommandIds[0] != "runs" {
		t.Errorf("the last is %.100v", last)
	}
}

func TestAStateFileThatCannotBeWrittenStopsNothing(t *testing.T) {
	var log bytes.Buffer
	c := newCommands(one("op", nothing), &serverClock{}, func(*iopv1.EdgeCommandEvent) {}, filepath.Join(t.TempDir(), "none", "state"), slog.New(slog.NewTextHandler(&log, nil)))
	answered := make(taken, 1)
	c.request(answered, 1, call("c", "op"))
	select {
	case r := <-answered:
		if r.Outcome != done {
			t.Errorf("answered %v", r)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no answer")
	}
	<-c.stop()
	if !strings.Contains(log.String(), "can't be kept") {
		t.Errorf("the log says %s", log.String())
	}
}

// taken is an answerer that hands on.
type taken chan *iopv1.EdgeCommandResponse

func (a taken) answerCommand(_ uint64, r *iopv1.EdgeCommandResponse) { a <- r }

func FuzzStateFile(f *testing.F) {
	for _, kept := range []*iopv1.EdgeCommandQueryResponse{{}, {Responses: []*iopv1.EdgeCommandResponse{succeeded("a", "b")}, UnknownCommandIds: []string{"", "c"}}} {
		data, err := encodeOutcomes(kept)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		kept, err := decodeOutcomes(data)
		if err != nil {
			return
		}
		o := newOutcomes(maxOutcomes, maxOutcomeBytes)
		o.restore(kept)
		if again, err := encodeOutcomes(o.keep()); err != nil || len(again) > maxOutcomeFileBytes {
			t.Errorf("written anew it has %d bytes, %v", len(again), err)
		}
	})
}
