package traffic

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"iop/load/ledger"
)

// Of ten reads two are at one Edge, and no more are sent than are due.
func TestReadsMeet(t *testing.T) {
	var mu sync.Mutex
	times, asked, met := map[string]int{}, 0, 0
	tr := newTraffic(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		times[r.URL.Path]++
		if times[r.URL.Path] == 2 {
			met++
		}
	}))
	const edges, reads = 100_000, 100
	tr.opts.Edges, tr.opts.Ledger = edges, ledger.New("t-", edges)
	send := tr.sendStatuses()
	for range reads {
		send(time.Now())
	}
	tr.under.Wait()
	if asked != reads || met < reads/pairEvery {
		t.Errorf("of %d reads %d were sent, and %d met another one; want all, and at least %d", reads, asked, met, reads/pairEvery)
	}
}
