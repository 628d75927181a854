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

// house is an Edge and the servers beside it, which listen already.
type house struct {
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
func (h *house) openPassThrough(cfg *configs.Edge, probed *edge.ProbedSite) error {
	p := cfg.PassThrough
	if p.Listen == "" {
		return nil
	}
	listener, err := program.Listen("pass_through.listen", p.Listen)
	if err != nil {
		return err
	}
	h.through = passthrough.New(passthrough.Options{
		Pool:              h.site.Pool(),
		Target:            func(k lease.Key) *url.URL { return probed.Target(k.Node, k.Provider) },
		Worked:            func(k lease.Key) { probed.Worked(k.Node, k.Provider) },
		LongContextTokens: p.LongContextTokens, QueueTimeout: p.QueueTimeout, Token: p.Token, Logger: h.log,
	})
	h.servers = append(h.servers, served{passthrough.NewServer(h.through, h.log), listener})
	h.log.Info("Requests can go through the Edge.", "pass_through_listen", listener.Addr().String())
	return nil
}

// run lives the Edge and its servers until ctx ends.
func (h *house) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	var broke error // of the first server that does, if any
	var once sync.Once
	for _, s := range h.servers {
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
	err := h.edge.Run(ctx)
	cancel()
	all.Wait()
	if h.through != nil {
		h.through.Close()
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

// close is for a house that was never run.
func (h *house) close() {
	for _, s := range h.servers {
		_ = s.listener.Close()
	}
}
