package edge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
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
	var killed []byte                                         // the file as a kill would leave it
	left := filepath.Join(filepath.Dir(file), ".state.7.tmp") // and the next one, half written
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
	if err := errors.Join(os.WriteFile(file, killed, 0o600), os.WriteFile(left, killed[:len(killed)/2], 0o600)); err != nil {
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
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was half written is there still, %v", err)
	}
}

// A second Edge on the same file would call what runs at the first one failed.
func TestAStateFileHasOneEdge(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	options := Options{ID: "seoul-1", Address: "control-plane.test:1", Operations: one("slow", lasting(time.Hour, new(atomic.Int32))), StateFile: file, Logger: quietLog}
	link := filepath.Join(t.TempDir(), "link")
	synctest.Test(t, func(t *testing.T) {
		cp := newFakeCP(t)
		startEdge(t, cp, options)
		p := cp.accept()
		p.command(5, call("runs", "slow"))
		p.answer(5)
		synctest.Wait()
		before, err := os.ReadFile(file)
		if err := errors.Join(err, os.Symlink(file, link)); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{file, link} {
			second := options
			second.StateFile = path
			if _, err := New(second); err == nil || !strings.Contains(err.Error(), "is used by another Edge") {
				t.Errorf("a second Edge is made with %v", err)
			}
		}
		if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
			t.Errorf("the second Edge has written the file, %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) { startEdge(t, newFakeCP(t), options) }) // the first has left it
}

// An error may pass. What can't be read now is not lost.
func TestAStateFileThatCannotBeReadStays(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "state")
	socket, err := net.Listen("unix", file) // which can be replaced, but not opened
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for range 2 { // an Edge that isn't made leaves the file to the next
		if _, err := New(Options{ID: "seoul-1", Address: "control-plane.test:1", StateFile: file, Logger: quietLog}); err == nil || !strings.Contains(err.Error(), "can't be read") {
			t.Errorf("the Edge is made with %v", err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Type() != fs.ModeSocket {
		t.Errorf("in its place there is %v, %v", info, err)
	}
}

func TestADamagedStateFileIsAnEmptyOne(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "state"), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
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
		c, err := newCommands(nil, &serverClock{}, nil, link, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		c.file.close()
		if aside := file + ".damaged"; len(c.outcomes.settled) != 0 || !strings.Contains(log.String(), "kept_as="+aside) {
			t.Errorf("%s: it has %d outcomes and logs %q", name, len(c.outcomes.settled), log.String())
		} else if kept, err := os.ReadFile(aside); err != nil || !bytes.Equal(kept, damaged) {
			t.Errorf("%s: kept are %d bytes of %d, %v", name, len(kept), len(damaged), err)
		}
		if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
			t.Errorf("%s: in the place of the link is %v, %v", name, info, err)
		}
	}
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := newCommands(nil, &serverClock{}, nil, file, quietLog); err != nil || c.outcomes.settled["a"].GetMessage() != "well done" {
		t.Errorf("a whole one isn't taken: %v", err)
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

func TestAStateFileThatCannotBeWrittenIsNoticedAtTheStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none", "state")
	if _, err := New(Options{ID: "seoul-1", Address: "control-plane.test:1", StateFile: file, Logger: quietLog}); err == nil || !strings.Contains(err.Error(), "can't be written") {
		t.Errorf("the Edge is made with %v", err)
	}
}

// A disk may fill while the Edge runs. What isn't noted isn't run: after a crash it could run a second time.
func TestWhatCannotBeNotedIsntRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		var runs atomic.Int32
		cp := newFakeCP(t)
		startEdge(t, cp, Options{Operations: one("quick", lasting(0, &runs)), StateFile: filepath.Join(dir, "file")})
		p := cp.accept()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		p.command(5, call("c", "quick"))
		if a := p.answer(5); a.Outcome != rejected || !strings.Contains(a.Message, "can't note the command") || runs.Load() != 0 {
			t.Errorf("answered %v after %d runs", a, runs.Load())
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		p.command(6, call("d", "quick"))
		if a := p.answer(6); a.Outcome != done || runs.Load() != 1 {
			t.Errorf("once it can be written again it is answered %v after %d runs", a, runs.Load())
		}
	})
}

func TestARefusalIsKeptWhenTheEdgeStops(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	for _, operations := range []map[string]Operation{nil, one("new", nothing)} {
		synctest.Test(t, func(t *testing.T) {
			cp := newFakeCP(t)
			startEdge(t, cp, Options{Operations: operations, StateFile: file})
			p := cp.accept()
			p.command(5, call("c", "new"))
			if a := p.answer(5); a.Outcome != rejected {
				t.Errorf("answered %v", a)
			}
		})
	}
}

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
