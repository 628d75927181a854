package join

import (
	"context"
	"errors"
	"fmt"
	"net"

	"iop/load"
	"iop/load/measure"
)

// Work joins the leader at an address and does its part of the run; ready is told what that is before it begins, and may refuse it.
// tokens fills in what doesn't cross the connection.
func Work(ctx context.Context, address string, tokens func(*load.Target), ready func(Part) error, watch load.Watch) error {
	d := net.Dialer{Timeout: helloTime}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("no leader at %s: %w", address, err)
	}
	defer c.Close()
	l := newLine(c)
	if err := l.greet(); err != nil {
		return fmt.Errorf("the leader at %s: %w", address, err)
	}
	stopWaiting := context.AfterFunc(ctx, func() { _ = c.Close() })
	m, err := l.hear()
	if !stopWaiting() {
		return ctx.Err()
	}
	if err != nil || m.Part == nil {
		return fmt.Errorf("the leader at %s gave no part: %w", address, errors.Join(err, ctx.Err()))
	}
	return l.work(ctx, *m.Part, tokens, ready, watch)
}

func (l *line) work(ctx context.Context, p Part, tokens func(*load.Target), ready func(Part) error, watch load.Watch) error {
	if err := ready(p); err != nil {
		_ = l.say(message{Failed: err.Error()})
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // ends with the connection
		defer stop()
		for {
			if m, err := l.hear(); err != nil || m.Stop {
				return
			}
		}
	}()
	target := load.Target{HTTP: p.HTTP, EdgeWire: p.EdgeWire, ClientWire: p.Wire}
	tokens(&target)
	result, err := load.Run(ctx, target, p.Scenario, func(s measure.Sample) {
		_ = l.say(message{Sample: &s}) // a leader that has gone shows in what is heard
		watch(s)
	})
	if err != nil {
		_ = l.say(message{Failed: err.Error()})
		return err
	}
	return l.say(message{Result: result})
}
