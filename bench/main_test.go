package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestRun measures everything of two real servers, small and short.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs both servers")
	}
	ignore := goleak.IgnoreCurrent()
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+beginMark+"\nold\n"+endMark+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	set := settings{sizes: []int{20}, count: 2, shape: shape{2, 1}, calls: 100, frames: 200,
		idleTime: 50 * time.Millisecond, eventTime: 100 * time.Millisecond, pause: 10 * time.Millisecond}
	var out bytes.Buffer
	if err := run(t.Context(), &out, &set, figures(), page); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, f := range figures() {
		repeats := set.count
		if f.once {
			repeats = 1
		}
		for _, name := range []string{plane, baseline} {
			if got := strings.Count(out.String(), "\nBenchmark"+f.name+"/n=20/server="+name+"\t"); got != repeats {
				t.Errorf("%s of %s was printed %d times, want %d", f.name, name, got, repeats)
			}
		}
		for _, u := range f.per {
			if !strings.Contains(out.String(), "\n"+u.label) {
				t.Errorf("the table lacks %q", u.label)
			}
		}
	}
	written, err := os.ReadFile(page)
	if err != nil || strings.Contains(string(written), "old") || !strings.Contains(string(written), "| "+figures()[0].per[0].label+" |") {
		t.Errorf("the page, %v:\n%s", err, written)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(page), pictureName)); err != nil {
		t.Error(err)
	}
	beside.CloseIdleConnections()
	if err := goleak.Find(ignore); err != nil {
		t.Error(err)
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

func TestTogether(t *testing.T) {
	kinds := []kind{{name: plane}, {name: baseline}}
	for edges, want := range map[int]int{1000: 1, 9750: 1, 10_000: 2, maxEdges: 2} {
		if got := len(together(kinds, edges)); got != want {
			t.Errorf("%d Edges: %d groups, want %d", edges, got, want)
		}
	}
}
