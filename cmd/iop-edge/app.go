package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"iop/cmd/internal/program"
	"iop/configs"
	"iop/edge"
	"iop/edge/lease"
	"iop/edge/manage"
	"iop/edge/passthrough"
)

// requestsTime is how long an Edge that stops waits for the requests that go through it.
const requestsTime = 10 * time.Second

// app is an Edge and the servers beside it, which listen already.
type app struct {
	edge    *edge.Edge
	site    *manage.Site
	through *passthrough.Handler // nil: off
	servers []served
	log     *slog.Logger
}

type served struct {
	*http.Server
	listener net.Listener
}

// manageSite puts what operates a site before it. Requests to providers that are asked by the Edge itself go through it,
// when there is a pass-through.
func manageSite(cfg *configs.Edge, site edge.Site, probed *edge.ProbedSite) *manage.Site {
	o := manage.Options{Site: site, Queue: cfg.PassThrough.Queue}
	if cfg.PassThrough.Listen != "" {
		o.Leased = func(nodeID, providerID string) bool { return probed.Target(nodeID, providerID) != nil }
	}
	return manage.New(o)
}

// openPassThrough listens for requests, when that is configured.
func (a *app) openPassThrough(cfg *configs.Edge, probed *edge.ProbedSite) error {
	p := cfg.PassThrough
	if p.Listen == "" {
		return nil
	}
	listener, err := program.Listen("pass_through.listen", p.Listen)
	if err != nil {
		return err
	}
	a.through = passthrough.New(passthrough.Options{
		Pool:              a.site.Pool(),
		Target:            func(k lease.Key) *url.URL { return probed.Target(k.Node, k.Provider) },
		Worked:            func(k lease.Key) { probed.Worked(k.Node, k.Provider) },
		LongContextTokens: p.LongContextTokens, QueueTimeout: p.QueueTimeout, Token: p.Token, Logger: a.log,
	})
	a.servers = append(a.servers, served{a.through.NewServer(), listener})
	a.log.Info("Requests can go through the Edge.", "pass_through_listen", listener.Addr().String())
	return nil
}

// run lives the Edge and its servers until ctx ends.
func (a *app) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	var broke error // of the first server that does, if any
	var once sync.Once
	for _, s := range a.servers {
		all.Go(func() {
			if err := s.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
				once.Do(func() { broke = fmt.Errorf("%s: %w", s.listener.Addr(), err) })
				cancel()
			}
		})
		all.Go(func() {
			<-ctx.Done()
			s.stop()
		})
	}
	err := a.edge.Run(ctx)
	cancel()
	all.Wait()
	if a.through != nil {
		a.through.Close()
	}
	return errors.Join(err, broke)
}

// stop takes no new requests, and lets those that run go on for a while.
func (s served) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), requestsTime)
	defer cancel()
	if s.Shutdown(ctx) != nil {
		_ = s.Close()
	}
}

// close is for an app that was never run.
func (a *app) close() {
	for _, s := range a.servers {
		_ = s.listener.Close()
	}
}
