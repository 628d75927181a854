// Package fleet is many simulated Edges in one process. Each is a full citizen of the protocol: hello, heartbeats on time,
// snapshots of nodes that live a little, answers, commands with their phases, goodbye, and reconnects with back-off. It
// can also be told to misbehave.
//
// It is lean, so that a machine's descriptors are its limit: an idle Edge is a parked goroutine with a small stack and a
// small buffer, a link, and some words of state. A few shards own all state, one goroutine each; readers and dialers
// hand what they have to the shard of the Edge, and nothing is locked.
package fleet

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Fleet is made by New, connected by Connect, and must be ended by Close.
type Fleet struct {
	opts      Options
	began     time.Time
	run       string // tells this run's instance ids
	shards    []*shard
	calm      []calm
	links     []atomic.Int32 // of each Edge and its clone, those whose hello was accepted
	unsettled atomic.Int32   // calls of Unsettle under way
	stats     stats
	model     model

	dials   chan *edge // room for each Edge and its clone, twice: no shard ever waits for it
	limiter *rate.Limiter
	dialCtx context.Context
	endDial context.CancelFunc

	dialers, readers, loops sync.WaitGroup
	closed                  sync.Once
}

const (
	dialers     = 64
	dialTimeout = 10 * time.Second
)

// New makes a Fleet and starts its shards; nothing is dialled yet.
func New(opts Options) *Fleet {
	f := &Fleet{
		opts: opts, began: time.Now(), run: fmt.Sprintf("%x", time.Now().UnixNano()),
		calm: make([]calm, opts.Count), links: make([]atomic.Int32, opts.Count), model: model{opts.Nodes, opts.Providers},
		dials: make(chan *edge, 4*opts.Count), limiter: rate.NewLimiter(rate.Inf, 1),
	}
	if opts.ConnectRate > 0 {
		f.limiter = rate.NewLimiter(rate.Limit(opts.ConnectRate), max(1, opts.ConnectRate/100))
	}
	f.stats.kinds = map[string]uint64{}
	f.dialCtx, f.endDial = context.WithCancel(context.Background())
	f.shards = make([]*shard, min(runtime.GOMAXPROCS(0), 8))
	for i := range f.shards {
		f.shards[i] = newShard(f)
	}
	for i := range opts.Count {
		f.calm[i].disturbed.Store(true) // until it is connected
		s := f.shards[i%len(f.shards)]
		s.edges = append(s.edges, newEdge(s, i, false))
	}
	for _, s := range f.shards {
		f.loops.Go(s.loop)
	}
	for range dialers {
		f.dialers.Go(f.dial)
	}
	return f
}

// now is the fleet's clock.
func (f *Fleet) now() time.Duration { return time.Since(f.began) }

// Connect begins to connect all Edges.
func (f *Fleet) Connect() {
	f.eachShard(func(s *shard) {
		for _, e := range s.edges {
			e.queueDial()
		}
	})
}

// AwaitAll waits until as many Edges are connected as there are, or ctx ends; it gives the time it happened.
func (f *Fleet) AwaitAll(ctx context.Context) (time.Time, error) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for f.Connected() < f.opts.Count {
		select {
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		case <-look.C:
		}
	}
	return f.began.Add(time.Duration(f.stats.fullAt.Load())), nil
}

// lookEvery costs nothing beside ten thousand hellos a second; the time itself is taken by the shard.
const lookEvery = 10 * time.Millisecond

// Connected is how many Edges have a link whose hello was accepted.
func (f *Fleet) Connected() int { return int(f.stats.connected.Load()) }

// IsConnected tells whether this Edge is one of them.
func (f *Fleet) IsConnected(number int) bool { return f.links[number].Load() > 0 }

// Close says goodbye for every Edge and waits until the peer has closed, or ctx ends; then the rest is cut. When it
// returns, every connection is closed and every goroutine has ended. It tells how many had to be cut. A second call does nothing.
func (f *Fleet) Close(ctx context.Context) (cut int) {
	f.closed.Do(func() { cut = f.close(ctx) })
	return cut
}

func (f *Fleet) close(ctx context.Context) (cut int) {
	f.endDial()
	f.dialers.Wait()
	f.eachShard(func(s *shard) { s.goodbye() })
	ended := make(chan struct{})
	go func() { f.readers.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
		cut = int(f.stats.links.Load())
		f.eachShard(func(s *shard) { s.cut() })
		<-ended
	}
	for _, s := range f.shards {
		close(s.stop)
	}
	f.loops.Wait()
	return cut
}

// eachShard runs do in every shard's own goroutine and waits for it.
func (f *Fleet) eachShard(do func(*shard)) {
	var all sync.WaitGroup
	for _, s := range f.shards {
		all.Add(1)
		s.inbox <- message{do: func() { defer all.Done(); do(s) }}
	}
	all.Wait()
}

// dial serves the queue of those who want a connection.
func (f *Fleet) dial() {
	for {
		select {
		case <-f.dialCtx.Done():
			return
		case e := <-f.dials:
			if f.limiter.Wait(f.dialCtx) != nil {
				return
			}
			if conn, err := f.dialOne(e); err != nil {
				e.shard.inbox <- message{e: e, dialled: true, err: err}
			} else {
				f.connected(e, conn)
			}
		}
	}
}

func (f *Fleet) dialOne(e *edge) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(f.dialCtx, dialTimeout)
	defer cancel()
	d := net.Dialer{LocalAddr: Source(f.opts.Address, e.number)}
	return d.DialContext(ctx, "tcp", f.opts.Address)
}

// calm tells callers whether an Edge has been told to misbehave, or was made to lose its link.
type calm struct {
	epoch     atomic.Uint32 // grows with each disturbance
	disturbed atomic.Bool
}

func (c *calm) disturb() {
	c.disturbed.Store(true)
	c.epoch.Add(1)
}

// Calm tells whether an Edge is as it should be, as far as this side can do something for it; a caller that sees the same epoch
// and true before and after a request may blame the Control Plane for what went wrong.
func (f *Fleet) Calm(number int) (epoch uint32, ok bool) {
	c := &f.calm[number]
	return c.epoch.Load(), !c.disturbed.Load() && f.unsettled.Load() == 0
}
