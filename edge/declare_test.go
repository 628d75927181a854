package edge

import (
	"testing"
	"testing/synctest"
	"time"

	"iop/edge/backend"
)

func TestDeclareKeepsWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scriptedSite(t, probed("gpu-1", "a", "b"))
		s.set("a", answers(1))
		s.set("b", answers(2))
		s.start(t)
		told := s.changes.Load()

		next := probed("gpu-1", "a", "c")
		next.Providers[0].Capacity = 16
		next.Providers[1].BaseURL = "http://127.0.0.1:1"
		if err := s.Declare([]ProbedNode{next, probed("gpu-2")}, time.Hour, time.Second); err != nil {
			t.Fatal(err)
		}
		nodes := s.Nodes()
		a, c := nodes[0].Providers[0], nodes[0].Providers[1]
		if len(nodes) != 2 || !nodes[0].Connected || a.Health != Online || a.General != (Counters{16, 1, 0}) || c.ID != "c" || c.Health != Offline {
			t.Errorf("declared anew it is %+v", nodes)
		}
		if s.changes.Load() == told {
			t.Error("nobody was told")
		}
		if s.Target("gpu-1", "b") != nil || s.Target("gpu-1", "a").Host != "10.0.0.7:8000" {
			t.Error("targets are not those declared")
		}
	})
}

func TestADeclarationThatIsWrongChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scriptedSite(t, probed("gpu-1", "a"))
		s.set("a", answers(1))
		s.start(t)
		before, told := s.Nodes(), s.changes.Load()
		if err := s.Declare([]ProbedNode{probed("gpu-2", "a"), probed("gpu-2")}, 0, 0); err == nil {
			t.Fatal("no error")
		}
		pass(10 * time.Second)
		if !equalNodes(before, s.Nodes()) || s.changes.Load() != told || s.asked["a"] != 2 {
			t.Errorf("now it is %+v, asked %d times", s.Nodes(), s.asked["a"])
		}
	})
}

// TestAnOldAnswerSaysNothingOfANewDeclaration: the answer to a question that was under way when the declaration changed.
func TestAnOldAnswerSaysNothingOfANewDeclaration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scriptedSite(t, probed("gpu-1", "a"))
		old := s.probes[0]
		if err := s.Declare(nil, 0, 0); err != nil {
			t.Fatal(err)
		}
		if s.take(old, answer{load: &backend.Load{Running: 1}}) || len(s.Nodes()) != 0 {
			t.Errorf("it is news, in %+v", s.Nodes())
		}
	})
}
