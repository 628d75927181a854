package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/perf/benchfmt"
)

func small(sizes ...int) settings {
	return settings{sizes: sizes, count: 2, shape: shape{2, 1}, calls: 100, frames: 200,
		idleTime: 50 * time.Millisecond, eventTime: 100 * time.Millisecond, pause: 10 * time.Millisecond}
}

// TestRun measures everything of two real servers, small and short, beside a target that nobody holds: the page is written all
// the same, and then the run is a failed one.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs both servers")
	}
	ignore := goleak.IgnoreCurrent()
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+beginMark+"\nold\n"+endMark+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	set := small(20)
	set.targets = []target{
		{text: "an Edge in 1 byte", figure: "Status", unit: cpuEach, edges: 20, limit: 1, show: in("ns")},
		{text: "of another size", figure: "Status", unit: cpuEach, edges: 21, limit: 1, show: in("ns")},
	}
	var out bytes.Buffer
	if err := run(t.Context(), &out, &set, figures(), page); !errors.Is(err, errNotHeld) || exitCode(err, io.Discard) != exitFailed {
		t.Fatalf("%v\n%s", err, &out)
	}
	checkLines(t, out.Bytes(), set.count)
	for _, f := range figures() {
		for _, u := range f.per {
			if !strings.Contains(out.String(), "\n"+u.label) {
				t.Errorf("the table lacks %q", u.label)
			}
		}
	}
	written, err := os.ReadFile(page)
	for _, want := range []string{"| an Edge in 1 byte | NOT HELD: ", "| of another size | not measured: ", "| " + figures()[0].per[0].label + " |"} {
		if err != nil || strings.Contains(string(written), "old") || !strings.Contains(string(written), want) {
			t.Errorf("the page lacks %q, %v:\n%s", want, err, written)
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(page), pictureName)); err != nil {
		t.Error(err)
	}
	beside.CloseIdleConnections()
	if err := goleak.Find(ignore); err != nil {
		t.Error(err)
	}
}

// checkLines reads what was printed as benchstat does: each figure of each server has a line for each turn, with all of its units.
func checkLines(t *testing.T, out []byte, rounds int) {
	t.Helper()
	lines := map[string]int{}
	reader := benchfmt.NewReader(bytes.NewReader(out), "out")
	for reader.Scan() {
		switch r := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(r)
		case *benchfmt.Result:
			name := string(r.Name.Full())
			lines[name]++
			for _, f := range figures() {
				if string(r.Name.Base()) == f.name {
					checkUnits(t, f, r)
				}
			}
		}
	}
	if err := reader.Err(); err != nil {
		t.Error(err)
	}
	for _, f := range figures() {
		for _, server := range []string{plane, baseline} {
			name := f.name + "/n=20/server=" + server
			if want := rounds * f.turnsARound(); lines[name] != want {
				t.Errorf("%s has %d lines, want %d", name, lines[name], want)
			}
			delete(lines, name)
		}
	}
	if len(lines) > 0 {
		t.Errorf("further lines: %v", lines)
	}
}

// checkUnits looks for a figure's units; benchfmt makes seconds of nanoseconds, and keeps what was written.
func checkUnits(t *testing.T, f figure, r *benchfmt.Result) {
	t.Helper()
	var got, want []string
	for _, v := range r.Values {
		got = append(got, cmp.Or(v.OrigUnit, v.Unit))
	}
	for _, u := range f.per {
		want = append(want, u.name)
	}
	if !slices.Equal(got, want) || r.Iters < 1 {
		t.Errorf("%s: %d iterations, units %q, want %q", r.Name, r.Iters, got, want)
	}
}

// TestProfiles takes all profiles of one figure, and that of the memory.
func TestProfiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs a server")
	}
	for i := range busyProfiles {
		taken := busyProfiles[i].time
		busyProfiles[i].time = time.Second
		defer func() { busyProfiles[i].time = taken }()
	}
	set := small(20)
	dir := filepath.Join(t.TempDir(), "profiles")
	var out bytes.Buffer
	if err := runProfiles(t.Context(), &out, &set, []figure{idleHello, helloRate, statusCPU}, dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"idlehello-heap.pprof", "hello-cpu.pprof", "status-cpu.pprof", "status-allocs.pprof", "status-mutex.pprof", "status-block.pprof", "status-trace.out"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := strings.Fields(out.String()); len(got) != 10 || got[0] != "Hello" || got[5] != "Status" || strings.HasPrefix(got[6], "0") {
		t.Errorf("printed: %s", &out)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range []string{"-sizes 0", "-only nothing", "-what", "more", "-count 0", "-profile d", "-profile d -sizes 10 -write p",
		"-sizes 10 -only hello -count 2 -write p"} {
		err := command(t.Context(), strings.Fields(args), io.Discard, io.Discard)
		if got := exitCode(err, io.Discard); got != exitUsage {
			t.Errorf("%s: %v, exit code %d", args, err, got)
		}
	}
	for err, want := range map[error]int{nil: exitHeld, errNotHeld: exitFailed, errors.New("broken"): exitFailed} {
		if got := exitCode(err, io.Discard); got != want {
			t.Errorf("%v: exit code %d, want %d", err, got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	for sizes, want := range map[string]int{"1000,5000": 2, "20": 1, "": 0, "0": 0, "19501": 0, "many": 0, "10,-1": 0} {
		set := settings{count: 1}
		if err := set.check(sizes, nil); (err == nil) != (want > 0) || err == nil && len(set.sizes) != want {
			t.Errorf("%q: %v, %v", sizes, set.sizes, err)
		}
	}
	if (&settings{}).check("10", nil) == nil {
		t.Error("nothing is measured, and that's well")
	}
	if (&settings{count: 1}).check("10", []string{"idle"}) == nil {
		t.Error("an argument is passed over in silence")
	}
}

func TestChosen(t *testing.T) {
	for words, want := range map[string]string{
		"idle":         "IdleHello IdleSnapshot IdleCPU",
		"status,STORM": "Status Storm",
		"hello":        "Hello",
	} {
		some, unknown := chosen(figures(), split(words))
		if got := strings.Join(names(some), " "); got != want || len(unknown) > 0 {
			t.Errorf("%q chooses %q, unknown %q, want %q", words, got, unknown, want)
		}
	}
	if all, _ := chosen(figures(), nil); len(all) != len(figures()) {
		t.Errorf("no words choose %d of %d", len(all), len(figures()))
	}
	if _, unknown := chosen(figures(), []string{"idle", "stauts"}); len(unknown) != 1 || unknown[0] != "stauts" {
		t.Errorf("unknown: %q", unknown)
	}
}

// TestTurns: a figure is measured of both servers in each turn, in turning order, where it must be one after the other.
func TestTurns(t *testing.T) {
	for name, atOnce := range map[string]bool{"in turn": false, "at once": true} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			order, running, most := "", 0, 0
			f := figure{name: "F", per: []unit{{name: "u"}}, atOnce: atOnce, measure: func(_ context.Context, s *rig) (int, []float64, error) {
				mu.Lock()
				defer mu.Unlock()
				order += s.name
				running++
				most = max(most, running)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				running--
				return 1, []float64{float64(len(order))}, nil
			}}
			rigs := []*rig{{name: "A", fleet: &fleetProcess{edges: 7}}, {name: "B", fleet: &fleetProcess{edges: 7}}}
			r := newResults(io.Discard)
			for turn := range 3 {
				if err := r.take(t.Context(), f, inTurn(rigs, turn)); err != nil {
					t.Fatal(err)
				}
			}
			if !atOnce && (order != "ABBAAB" || most != 1 || !slices.Equal(r.samples[place{"F", "u", 7, "A"}], []float64{1, 4, 5})) {
				t.Errorf("%s: %s, %d at once, %v", name, order, most, r.samples)
			}
			if atOnce && most != 2 {
				t.Errorf("%s: %d at once", name, most)
			}
		})
	}
}

func TestNextCursor(t *testing.T) {
	for page, want := range map[string]string{
		`{"edges":[{"edge_id":"a"}],"total":2,"next_cursor":"a-b"}`: "a-b",
		`{"edges":[{"next_cursor":"x"}],"next_cursor":null}`:        "",
		``: "",
	} {
		if got := nextCursor([]byte(page)); got != want {
			t.Errorf("%s: %q", page, got)
		}
	}
}
