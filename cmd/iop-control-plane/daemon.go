package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"iop/actors"
	"iop/cmd/internal/build"
	"iop/cmd/internal/program"
	"iop/configs"
	"iop/httpapi"
	"iop/wire"
)

// daemon is the control plane with its fronts. Its order of stopping is in stop.
type daemon struct {
	cfg       *configs.ControlPlane
	log       zerolog.Logger
	logWriter *program.LogWriter
	warnings  atomic.Pointer[[]string]

	listeners *listeners
	tls       *wire.ServerTLS // nil: off
	unwatch   func()          // ends the watch over the TLS files
	debug     *http.Server    // nil: off
	reloads   *reloads
	tracing   *tracing // nil: off
	system    *actors.System
	http      *httpapi.Server
	fronts    struct{ http, edges, clients *actors.FrontHandle }

	ready  atomic.Bool
	failed chan error // the first front that can't serve on
}

func newDaemon(cfg *configs.ControlPlane, stderr io.Writer) *daemon {
	log, logWriter := program.NewLogger(cfg.Log, stderr)
	return &daemon{cfg: cfg, log: log, logWriter: logWriter, failed: make(chan error, 1)}
}

// start opens all listeners, and only then starts anything: a taken port must leave nothing half alive.
func (d *daemon) start(addressesFile string) (err error) {
	if d.listeners, err = openListeners(d.cfg); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			d.listeners.close()
		}
	}()
	if err := d.startTLS(); err != nil {
		return err
	}
	if d.tracing, err = newTracing(d.cfg.Server.ID, d.log); err != nil {
		return err
	}
	// Before anybody is accepted: who reads them and connects waits in the listeners' queues.
	if err := d.listeners.writeAddresses(addressesFile); err != nil {
		return err
	}
	d.warn(d.cfg)
	d.system = actors.NewSystem(systemOptions(d.cfg, d.log))
	registry := newMetrics(d.system, d.tls, d.reloads, d.logWriter.Lost)
	d.http = httpapi.New(httpapi.Options{
		Plane: d.system, Keys: d.system.Keys, Loopback: d.listeners.httpOnLoopback(), Ready: d.readiness,
		Version: build.Version(), Commit: build.Commit(), MaxFrameBytes: d.cfg.Edges.MaxFrameBytes, Registry: registry, Log: d.log,
		Tracer: d.tracing.tracer(),
	})
	clients, err := actors.NewClientFront(d.system, d.cfg.Client.AllowedOrigins)
	if err != nil {
		return err
	}
	d.fronts.clients = d.system.StartFront(clients, d.listeners.wire, d.fail)
	d.fronts.edges = d.system.StartFront(actors.NewEdgeFront(d.system), d.listeners.edge, d.fail)
	d.startDebug()
	d.ready.Store(true) // before anybody can ask
	d.fronts.http = d.system.StartFront(d.http, d.listeners.http, d.fail)
	d.listeners.announce(d.log)
	return nil
}

func (d *daemon) fail(err error) {
	select {
	case d.failed <- err:
	default:
	}
}

func (d *daemon) readiness() (ready bool, checks map[string]bool, warnings []string) {
	up := d.ready.Load()
	return up, map[string]bool{"http": true, "wire": up, "edge_wire": up}, *d.warnings.Load()
}

// registryAnswers asks the registry for what it has at hand: whether it takes messages at all.
func (d *daemon) registryAnswers(ctx context.Context) bool {
	_, fault := d.system.Fleet(ctx)
	return fault == nil
}

func (d *daemon) warn(cfg *configs.ControlPlane) {
	w := cfg.Warnings()
	d.warnings.Store(&w)
	for _, sentence := range w {
		d.log.Warn().Msg(sentence)
	}
}

// reload takes over what a running daemon can change: TLS files, auth, the log level.
func (d *daemon) reload(read func() (*configs.ControlPlane, error)) {
	cfg, ignored, err := d.readAgain(read)
	if d.reloads.done(reloadConfig, err) != nil {
		d.log.Error().Str("problems", err.Error()).Msg("the configuration was not reloaded")
		return
	}
	for _, key := range cfg.NoLongerAsks(d.cfg) {
		d.log.Warn().Str("key", key).Msg("a reload has emptied this key: nobody is asked for its tokens or certificates any more")
	}
	d.cfg = cfg
	program.SetLogLevel(cfg.Log.Level)
	d.system.SetKeys(keyring(cfg))
	d.warn(cfg)
	d.log.Info().Strs("need_a_restart", ignored).Msg("the configuration was reloaded")
}

// readAgain reads the configuration and, last, takes over the TLS files: when it fails nothing has changed.
func (d *daemon) readAgain(read func() (*configs.ControlPlane, error)) (cfg *configs.ControlPlane, ignored []string, err error) {
	next, err := read()
	if err != nil {
		return nil, nil, err
	}
	if cfg, ignored, err = d.cfg.Reload(next); err != nil || d.tls == nil {
		return cfg, ignored, err
	}
	if err := d.reloads.done(reloadTLS, d.tls.Reload(tlsFiles(cfg))); err != nil {
		return nil, nil, fmt.Errorf("the TLS files are no good: %w", err)
	}
	return cfg, ignored, nil
}

// stop: refuse new → unready → GoAway, spread → wait for what is pending, under one deadline → fronts → registry → operations → events.
func (d *daemon) stop(within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	d.ready.Store(false)
	d.http.Drain()
	d.fronts.edges.Stop(ctx)
	d.fronts.clients.Stop(ctx)
	pending, enough := context.WithTimeout(ctx, within*9/10)
	defer enough()
	callers, gone := context.WithTimeout(ctx, within*19/20) // what is left is for what comes after them
	defer gone()
	d.system.Drain(pending)
	d.fronts.http.Stop(callers)
	d.system.Stop()
	if d.debug != nil {
		_ = d.debug.Close()
	}
	d.unwatch()
	d.tracing.stop(ctx)
	d.log.Info().Msg("stopped")
}
