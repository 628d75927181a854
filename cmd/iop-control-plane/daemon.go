package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/rs/zerolog"

	"iop/actors"
	"iop/configs"
	"iop/httpapi"
	"iop/wire"
)

// daemon is the control plane with its fronts. Its order of stopping is in stop.
type daemon struct {
	cfg      *configs.ControlPlane
	log      zerolog.Logger
	warnings atomic.Pointer[[]string]

	listeners *listeners
	system    *actors.System
	http      *httpapi.Server
	fronts    struct{ http, edges, clients *actors.FrontHandle }

	ready  atomic.Bool
	failed chan error // the first front that can't serve on
}

func newDaemon(cfg *configs.ControlPlane, stderr io.Writer) (*daemon, error) {
	log, err := newLogger(cfg.Log, stderr)
	if err != nil {
		return nil, err
	}
	return &daemon{cfg: cfg, log: log, failed: make(chan error, 1)}, nil
}

// start opens all listeners, and only then starts anything: a taken port must leave nothing half alive.
func (d *daemon) start(addressesFile string) error {
	var err error
	if d.listeners, err = openListeners(d.cfg); err != nil {
		return err
	}
	d.warn(d.cfg)
	d.system = actors.NewSystem(systemOptions(d.cfg, d.log))
	registry := newMetrics(d.system)
	d.http = httpapi.New(httpapi.Options{
		Plane: d.system, Keys: d.system.Keys, Loopback: d.listeners.httpOnLoopback(), Ready: d.readiness,
		Version: version, Commit: buildCommit(), MaxFrameBytes: d.cfg.Edges.MaxFrameBytes, Registry: registry, Log: d.log,
	})
	clients, err := actors.NewClientFront(d.system, d.cfg.Client.AllowedOrigins)
	if err != nil {
		return err
	}
	d.fronts.clients = d.system.StartFront(clients, d.listeners.wire, d.fail)
	d.fronts.edges = d.system.StartFront(actors.NewEdgeFront(d.system), d.listeners.edge, d.fail)
	d.fronts.http = d.system.StartFront(d.http, d.listeners.http, d.fail)
	d.ready.Store(true)
	d.listeners.announce(d.log)
	return d.listeners.writeAddresses(addressesFile)
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

func (d *daemon) warn(cfg *configs.ControlPlane) {
	w := cfg.Warnings()
	d.warnings.Store(&w)
	for _, sentence := range w {
		d.log.Warn().Msg(sentence)
	}
}

// reload takes over what a running daemon can change: TLS files, auth, the log level.
func (d *daemon) reload(read func() (*configs.ControlPlane, error)) {
	next, err := read()
	if err != nil {
		d.log.Error().Str("problems", err.Error()).Msg("the configuration was not reloaded")
		return
	}
	cfg, ignored, err := d.cfg.Reload(next)
	if err != nil {
		d.log.Error().Str("problems", err.Error()).Msg("the configuration was not reloaded")
		return
	}
	d.cfg = cfg
	setLevel(cfg.Log.Level)
	d.system.SetKeys(keyring(cfg))
	d.warn(cfg)
	d.log.Info().Strs("need_a_restart", ignored).Msg("the configuration was reloaded")
}

// stop: refuse new → unready → GoAway, spread → wait for what is pending, under one deadline → fronts → registry → operations → events.
func (d *daemon) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Server.ShutdownTimeout)
	defer cancel()
	d.ready.Store(false)
	d.http.Drain()
	d.fronts.edges.Stop(ctx)
	d.fronts.clients.Stop(ctx)
	pending, enough := context.WithTimeout(ctx, d.cfg.Server.ShutdownTimeout*9/10)
	defer enough()
	d.system.Drain(pending)
	d.fronts.http.Stop(ctx)
	d.system.Stop()
	d.log.Info().Msg("stopped")
}

func systemOptions(cfg *configs.ControlPlane, log zerolog.Logger) actors.Options {
	return actors.Options{
		ServerID: cfg.Server.ID, Version: version,
		HelloTimeout: cfg.Edges.HelloTimeout, MaxFrameBytes: cfg.Edges.MaxFrameBytes, MaxInFlight: cfg.Edges.MaxInFlight,
		Link: wire.LinkOptions{MaxQueueFrames: 4 * cfg.Edges.MaxInFlight, MaxQueueBytes: 4 * cfg.Edges.MaxFrameBytes, WriteTimeout: cfg.Edges.WriteTimeout},
		Table: actors.TableOptions{
			MaxConnections: cfg.Edges.MaxConnections, RejectDuplicates: cfg.Edges.DuplicatePolicy == "reject",
			HeartbeatInterval: cfg.Edges.HeartbeatInterval, MaxHeartbeatsPerSecond: cfg.Edges.MaxHeartbeatsPerSecond,
			RetainDisconnected: cfg.Edges.RetainDisconnected, RetainDisconnectedMax: cfg.Edges.RetainDisconnectedMax,
		},
		History: actors.HistoryOptions{FleetBuffer: cfg.Events.FleetBuffer, EdgeBuffer: cfg.Events.EdgeBuffer},
		Audit:   actors.AuditOptions{FleetBuffer: cfg.Audit.FleetBuffer, EdgeBuffer: cfg.Audit.EdgeBuffer, IdempotencyWindow: cfg.Audit.IdempotencyWindow},
		Keyring: keyring(cfg), Log: log,
	}
}

func keyring(cfg *configs.ControlPlane) *actors.Keyring {
	k := &actors.Keyring{EdgeCertificates: cfg.TLS.EdgeClientCAFile != ""}
	for _, e := range cfg.Auth.Edges {
		k.Edges = append(k.Edges, actors.EdgeKey{Pattern: e.EdgeID, SHA256: sum(e.TokenSHA256)})
	}
	for _, o := range cfg.Auth.Operators {
		k.Operators = append(k.Operators, actors.OperatorKey{Name: o.Name, Role: actors.Role(o.Role), SHA256: sum(o.TokenSHA256)})
	}
	return k
}

// sum reads a hash that the configuration's check has seen to be one.
func sum(digits string) (s [32]byte) {
	if n, err := hex.Decode(s[:], []byte(digits)); err != nil || n != len(s) {
		panic(fmt.Sprintf("a token hash of %d bytes passed the check", n))
	}
	return s
}
