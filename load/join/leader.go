package join

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"iop/load"
	"iop/load/measure"
)

// Leader leads a run of several processes, of which it is one.
type Leader struct {
	listener net.Listener
	workers  []*worker
}

// worker is the leader's end of a process that joined.
type worker struct {
	*line
	name string

	mu     sync.Mutex
	sample *measure.Sample // the last one
}

// Listen begins to wait for processes.
func Listen(address string) (*Leader, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &Leader{listener: l}, nil
}

// Address is where to join.
func (l *Leader) Address() string { return l.listener.Addr().String() }

// Close lets everybody go.
func (l *Leader) Close() {
	_ = l.listener.Close()
	for _, w := range l.workers {
		_ = w.conn.Close()
	}
}

// Await waits until as many processes have joined, or ctx ends; each one is told to joined.
func (l *Leader) Await(ctx context.Context, n int, joined func(name string)) error {
	defer context.AfterFunc(ctx, func() { _ = l.listener.Close() })()
	for len(l.workers) < n {
		c, err := l.listener.Accept()
		if err != nil {
			return errors.Join(ctx.Err(), err)
		}
		w := &worker{line: newLine(c), name: c.RemoteAddr().String()}
		if w.greet() != nil { // somebody else knocked
			_ = c.Close()
			continue
		}
		l.workers = append(l.workers, w)
		joined(w.name)
	}
	return nil
}

// Run does a scenario together with everybody who joined, and gives what all found. A process that is lost makes it fail: its
// share was not done.
func (l *Leader) Run(ctx context.Context, target load.Target, s load.Scenario, watch load.Watch) (*load.Result, error) {
	n := len(l.workers) + 1
	results, failures := make([]*load.Result, n), make([]error, n)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	for i, w := range l.workers {
		part := &Part{Scenario: shareOf(s, i+1, n), HTTP: target.HTTP, EdgeWire: target.EdgeWire, Wire: target.ClientWire}
		all.Go(func() {
			results[i+1], failures[i+1] = w.run(ctx, part)
			if failures[i+1] != nil {
				stop() // the others' time would be wasted
			}
		})
	}
	results[0], failures[0] = load.Run(ctx, target, shareOf(s, 0, n), func(own measure.Sample) {
		for _, w := range l.workers {
			w.addSample(&own)
		}
		watch(own)
	})
	if failures[0] != nil {
		stop()
	}
	all.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	return load.Merge(results), nil
}

// run has a worker do its part.
func (w *worker) run(ctx context.Context, part *Part) (*load.Result, error) {
	if err := w.say(message{Part: part}); err != nil {
		return nil, fmt.Errorf("the process %s: %w", w.name, err)
	}
	defer context.AfterFunc(ctx, func() { _ = w.say(message{Stop: true}) })()
	for {
		m, err := w.hear()
		switch {
		case err != nil:
			return nil, fmt.Errorf("the process %s was lost: %w", w.name, err)
		case m.Failed != "":
			return nil, fmt.Errorf("the process %s failed: %s", w.name, m.Failed)
		case m.Result != nil:
			return m.Result, nil
		case m.Sample != nil:
			w.mu.Lock()
			w.sample = m.Sample
			w.mu.Unlock()
		}
	}
}

func (w *worker) addSample(to *measure.Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sample != nil {
		to.Add(*w.sample)
	}
}
