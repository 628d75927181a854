package edge

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestTooManyCommandsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp, runs := newFakeCP(t), atomic.Int32{}
		startEdge(t, cp, Options{Operations: one("long", lasting(time.Minute, &runs))})
		p := cp.accept()
		for i := range maxFresh + 1 {
			p.command(uint64(i+1), call(fmt.Sprint(i), "long"))
		}
		refused := 0
		for range maxFresh + 1 {
			e := p.nextBut()
			for e.GetEdgeCommandResponse() == nil {
				e = p.nextBut()
			}
			if e.GetEdgeCommandResponse().Outcome == rejected {
				refused++
			}
		}
		if refused != 1 || int(runs.Load()) != maxFresh {
			t.Errorf("%d refused, %d run", refused, runs.Load())
		}
	})
}

// fill has as many commands last as may.
func fill(p *peer, operation string) {
	for i := range maxLasting {
		p.command(uint64(i+1), call(fmt.Sprint(i), operation))
	}
	for range 2 * maxLasting { // their answers, and that they have started
		p.nextBut()
	}
}

// Whatever lasts, quick commands run: those that end what lasts are such.
func TestQuickCommandsRunWhateverLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp, runs := newFakeCP(t), atomic.Int32{}
		startEdge(t, cp, Options{Operations: one("long", lasting(10*time.Second, &runs))})
		p := cp.accept()
		fill(p, "long")
		p.command(100, call("ping", "edge.ping"))
		if a := p.answer(100); a.Outcome != done {
			t.Errorf("edge.ping is answered %v", a)
		}
		p.command(101, call("one more", "long"))
		if a := p.answer(101); a.Outcome != accepted {
			t.Errorf("one more is answered %v", a)
		}
		p.event(hasStarted)
		if e := p.event(hasFailed); e.CommandId != "one more" || !strings.Contains(e.Message, "32 lasting commands already") {
			t.Errorf("one more ended with %v", e)
		}
		if int(runs.Load()) != maxLasting+1 {
			t.Errorf("%d ran", runs.Load())
		}
		for range maxLasting {
			p.event(hasSucceeded)
		}
	})
}

// Operations that don't end when they should can fill the Edge, and no more than that.
func TestCommandsAreBoundedWhateverTheyDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp, release := newFakeCP(t), make(chan struct{})
		startEdge(t, cp, Options{Operations: one("deaf", func(context.Context, *Command) (map[string]any, error) {
			<-release
			return nil, nil
		})})
		p := cp.accept()
		fill(p, "deaf")
		for i := range maxFresh {
			p.command(uint64(100+i), call(fmt.Sprint("more ", i), "deaf"))
		}
		for range 2 * maxFresh {
			p.nextBut()
		}
		p.command(200, call("too many", "deaf"))
		if a := p.answer(200); a.Outcome != rejected || !strings.Contains(a.Message, "64 commands already") {
			t.Errorf("answered %v", a)
		}
		close(release)
		for range maxLasting + maxFresh {
			p.event(hasSucceeded)
		}
	})
}
