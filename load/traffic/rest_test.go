package traffic

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"iop/internal/testkit"
	"iop/load/ledger"
)

func TestNothingIsAskedWhileItRests(t *testing.T) {
	var asked, under, open atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		under.Add(1)
		defer under.Add(-1)
		time.Sleep(2 * time.Millisecond) // so that there are some when it begins to rest
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	server.Start()
	defer server.Close()
	tr := New(Options{HTTP: server.URL, Edges: 3, IDPrefix: "t-", Ledger: ledger.New("t-", 3), Timeout: time.Second,
		Calm: func(int) (uint32, bool) { return 1, true }, StatusRate: 500, Duration: time.Hour})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { tr.Run(ctx) })
	defer running.Wait()
	defer stop()

	testkit.Eventually(t, "it asks", func() bool { return asked.Load() > 20 })
	tr.Rest(func() {
		before, skipped := asked.Load(), tr.Status.Counts().NotSent
		if n := under.Load(); n != 0 {
			t.Errorf("%d requests are under way", n)
		}
		testkit.Eventually(t, "its connections are closed", func() bool { return open.Load() == 0 })
		testkit.Eventually(t, "what is due is counted as not sent", func() bool { return tr.Status.Counts().NotSent >= skipped+20 })
		if n := asked.Load() - before; n != 0 {
			t.Errorf("%d requests while it rests", n)
		}
	})
	rested := asked.Load()
	testkit.Eventually(t, "it goes on", func() bool { return asked.Load() > rested+20 })
}
