package actors

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

func everyEdge(*View) bool { return true }

// answers makes a fake answer every status request.
func (f *fakeEdge) answers() {
	go func() {
		for m := range f.in {
			if m.GetEdgeStatusRequest() != nil {
				f.reply(m.Id, statusOf(f.id, "asked"))
			}
		}
	}()
}

func TestGatherAsksOnlyTheStale(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		fresh, old, never := connect(t, s, "fresh"), connect(t, s, "old"), connect(t, s, "never")
		gone, other := connect(t, s, "gone"), connect(t, s, "other")
		old.send(statusOf("old", "pushed"))
		gone.send(statusOf("gone", "pushed"))
		time.Sleep(20 * time.Second)
		fresh.send(statusOf("fresh", "pushed"))
		gone.conn.Close()
		for _, f := range []*fakeEdge{fresh, old, never, other} {
			f.answers()
		}
		synctest.Wait()
		r, f := s.Gather(context.Background(), func(v *View) bool { return v.EdgeID != "other" }, 15*time.Second, 2*time.Second)
		if f != nil {
			t.Fatal(f)
		}
		wantEqual(t, "asked", r.Asked, []string{"never", "old"})
		wantEqual(t, "faults", len(r.Faults), 0)
		for id, want := range map[string]string{"fresh": "pushed", "old": "asked", "never": "asked", "gone": "pushed"} {
			wantEqual(t, id, r.Fleet.Get(id).Pulse.Snapshot().Nodes()[0].NodeId, want)
		}
		wantEqual(t, "other was not asked", r.Fleet.Get("other").Pulse.Snapshot() == nil, true)
	})
}

// One Edge that hangs, one that errs, one that hangs up: each costs one line, and the time that was given.
func TestGatherOfEdgesThatFail(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		for i := range 20 {
			connect(t, s, fmt.Sprint("ok", i)).answers()
		}
		hangs, errs, leaves := connect(t, s, "hangs"), connect(t, s, "errs"), connect(t, s, "leaves")
		go func() { errs.reply(errs.request().Id, errorOf(iopv1.ErrorCode_ERROR_CODE_INTERNAL)) }()
		go func() { leaves.request(); leaves.conn.Close() }()
		began := time.Now()
		r, f := s.Gather(context.Background(), everyEdge, 0, 2*time.Second)
		if f != nil {
			t.Fatal(f)
		}
		wantEqual(t, "took", time.Since(began), 2*time.Second)
		wantEqual(t, "faults", r.Faults, map[string]wire.Code{"hangs": wire.EdgeTimeout, "errs": wire.EdgeError, "leaves": wire.EdgeDisconnected})
		wantEqual(t, "views, asked", []any{r.Fleet.Len(), len(r.Asked)}, []any{23, 23})
		hangs.reply(hangs.request().Id, statusOf("hangs", "late")) // reaches nobody
		synctest.Wait()
		began = time.Now()
		if _, f := s.Gather(context.Background(), func(v *View) bool { return v.EdgeID == "ok3" }, 0, 2*time.Second); f != nil {
			t.Fatal(f)
		}
		wantEqual(t, "took when all answer", time.Since(began), time.Duration(0))
	})
}

func TestGatherOfNobody(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		r, f := s.Gather(context.Background(), everyEdge, 0, time.Second)
		wantEqual(t, "answer", []any{r.Fleet.Len(), len(r.Faults), f == nil}, []any{0, 0, true})
		connect(t, s, "hangs")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, f = s.Gather(ctx, everyEdge, 0, time.Minute) // the asker's own time counts, too
		wantFault(t, f, wire.Internal)
	})
}
