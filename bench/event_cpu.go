package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
)

const (
	liveReaders   = 100
	eventsASecond = 1000
	// lateEvents is how long after the last event the readers may take.
	lateEvents = 10 * time.Second
)

// eventCPU is the cost of an event that 100 live readers see, at 1,000 events a second. What a reader didn't see because it was ended is
// counted as lost, and none may be lost: a lost event costs nothing.
var eventCPU = figure{
	name: "Event", alike: true,
	per: []unit{
		{cpuEach, "CPU an event to 100 readers, µs", toMicros, byEdge},
		{lostOf, "events that a reader lost", asItIs, nil},
	},
	measure: func(ctx context.Context, s *rig) (int, []float64, error) {
		r, err := openReaders(ctx, s.http)
		if err != nil {
			return 0, nil, err
		}
		defer r.close()
		events := int(s.set.eventTime.Seconds() * eventsASecond)
		cpu, _, err := s.spent(func() error {
			if err := s.fleet.tell(ctx, events); err != nil {
				return err
			}
			return r.await(ctx, int64(events)*liveReaders)
		})
		lost := int64(events)*liveReaders - r.seen.Load()
		return events, []float64{each(cpu, events), float64(lost) / float64(events)}, err
	},
}

// tell sends events of nodes at an even pace.
func (f *fleet) tell(events int) error {
	const step = 5 * time.Millisecond
	began := time.Now()
	for sent := 0; sent < events; {
		due := min(events, int(time.Since(began).Seconds()*eventsASecond))
		for ; sent < due; sent++ {
			err := f.all[sent%len(f.all)].send(&iopv1.Envelope{Body: &iopv1.Envelope_EdgeNodeEvent{EdgeNodeEvent: &iopv1.EdgeNodeEvent{
				NodeId: "gpu-0", Kind: iopv1.NodeEventKind_NODE_EVENT_KIND_READY, Message: "all of its providers are online", OccurredAt: timestamppb.Now()}}})
			if err != nil {
				return err
			}
		}
		time.Sleep(step)
	}
	return nil
}

// readers are those of the live stream.
type readers struct {
	seen    atomic.Int64 // events of nodes, by all
	stop    context.CancelFunc
	running sync.WaitGroup
}

// openReaders returns when all are subscribed.
func openReaders(ctx context.Context, base string) (*readers, error) {
	ctx, stop := context.WithCancel(ctx)
	r := &readers{stop: stop}
	for range liveReaders {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/fleet/events", nil)
		if err != nil {
			r.close()
			return nil, err
		}
		request.Header.Set("Accept", "text/event-stream")
		response, err := streams.Do(request)
		if err != nil {
			r.close()
			return nil, err
		}
		r.running.Go(func() { r.read(response) })
		if response.StatusCode != http.StatusOK {
			r.close()
			return nil, errors.New("the live stream: " + response.Status)
		}
	}
	return r, nil
}

// streams keeps no connection and has no limit: the readers' context ends them.
var streams = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func (r *readers) read(response *http.Response) {
	defer response.Body.Close()
	lines := bufio.NewReaderSize(response.Body, 32<<10)
	wanted := []byte("event: node_")
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		if bytes.HasPrefix(line, wanted) {
			r.seen.Add(1)
		}
	}
}

// await returns when so many were seen, or no more can be expected.
func (r *readers) await(ctx context.Context, all int64) error {
	for by := time.Now().Add(lateEvents); r.seen.Load() < all && time.Now().Before(by); {
		if err := wait(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (r *readers) close() {
	r.stop()
	r.running.Wait()
}
