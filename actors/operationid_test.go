package actors

import (
	"testing"
	"time"
)

func TestOperationIDsGrow(t *testing.T) {
	ids, last := newOperationIDs(), ""
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for i, now := range []time.Time{noon, noon, noon.Add(time.Millisecond), noon.Add(-time.Hour), noon.Add(-time.Hour), noon.Add(time.Second)} {
		id := ids.next(now)
		if id <= last {
			t.Errorf("id %d, %s, is not behind %s", i, id, last)
		}
		last = id
	}
}
