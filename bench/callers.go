package main

import (
	"context"
	"net/http"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// callers is how many call at once where many do, with one keep-alive connection each.
const callers = 16

// closedLoop makes calls, each caller the next one as soon as its last is answered. It gives the server's CPU by call and
// the calls a second.
func (s *rig) closedLoop(ctx context.Context, calls int, one func(ctx context.Context, client *http.Client, n int) error) ([]float64, error) {
	var next atomic.Int64
	cpu, took, err := s.spent(func() error {
		g, ctx := errgroup.WithContext(ctx)
		for range callers {
			g.Go(func() error {
				client := &http.Client{Transport: &http.Transport{}, Timeout: callTime}
				defer client.CloseIdleConnections()
				for {
					n := int(next.Add(1)) - 1
					if n >= calls {
						return nil
					}
					if err := one(ctx, client, n); err != nil {
						return err
					}
				}
			})
		}
		return g.Wait()
	})
	return []float64{each(cpu, calls), float64(calls) / took.Seconds()}, err
}

// inTurn makes calls one after the other. It gives the time and the server's CPU by call; check looks at the last answer.
func (s *rig) inTurn(ctx context.Context, calls int, path string, check func(answer []byte) error) ([]float64, error) {
	var answer []byte
	cpu, took, err := s.spent(func() (err error) {
		for range calls {
			if answer, err = call(ctx, beside, http.MethodGet, s.http+path, ""); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = check(answer)
	}
	return []float64{each(took, calls), each(cpu, calls)}, err
}

// edgeAt spreads calls over all Edges.
func (s *rig) edgeAt(n int) string { return edgeID(n % s.edges()) }
