package actors

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

// When a fleet has shrunk, nothing keeps what its Edges said: the library's list of children still has their PIDs.
func TestSnapshotsOfThoseWhoWentAreLetGo(t *testing.T) {
	opts := testOptions()
	opts.Table.RetainDisconnectedMax = 0
	bubble(t, opts, func(t *testing.T, s *System) {
		const edges = 64
		var fleet []*fakeEdge
		var pulses [edges]weak.Pointer[Pulse]
		for i := range edges {
			f := connect(t, s, fmt.Sprint("e", i))
			f.send(statusOf(fmt.Sprint("e", i), "n"))
			_, v := view(t, s, fmt.Sprint("e", i))
			pulses[i] = weak.Make(v.Pulse)
			fleet = append(fleet, f)
		}
		for _, f := range fleet {
			f.conn.Close()
		}
		time.Sleep(time.Minute) // several sweeps
		synctest.Wait()
		wantEqual(t, "connections", connections(s), 0)
		runtime.GC()
		runtime.GC()
		kept := 0
		for _, p := range pulses {
			if p.Value() != nil {
				kept++
			}
		}
		if kept > 1 { // the Fleet that was asked for last may be on the stack still
			t.Errorf("%d of %d are kept", kept, edges)
		}
	})
}
