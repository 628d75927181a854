package main

import (
	"github.com/rs/zerolog"

	"iop/actors"
	"iop/cmd/internal/build"
	"iop/configs"
	"iop/wire"
)

func systemOptions(cfg *configs.ControlPlane, log zerolog.Logger) actors.Options {
	return actors.Options{
		ServerID: cfg.Server.ID, Version: build.Version(),
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

// roles are those that configs lets through, by its names for them.
var roles = map[string]actors.Role{"viewer": actors.Viewer, "operator": actors.Operator}

func keyring(cfg *configs.ControlPlane) *actors.Keyring {
	k := &actors.Keyring{EdgeCertificates: cfg.TLS.EdgeClientCAFile != ""}
	for _, e := range cfg.Auth.Edges {
		k.Edges = append(k.Edges, actors.EdgeKey{Pattern: e.EdgeID, SHA256: configs.TokenHash(e.TokenSHA256)})
	}
	for _, o := range cfg.Auth.Operators {
		k.Operators = append(k.Operators, actors.OperatorKey{Name: o.Name, Role: roles[o.Role], SHA256: configs.TokenHash(o.TokenSHA256)})
	}
	return k
}
