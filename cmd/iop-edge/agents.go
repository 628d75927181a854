package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"

	"iop/configs"
	"iop/edge"
	"iop/edge/nodes"
)

// agentSite is the site of the nodes that have agents, nil when there is no Node wire. It listens already.
func agentSite(cfg *configs.Edge, log *slog.Logger) (edge.Site, error) {
	if cfg.Edge.NodeListen == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", cfg.Edge.NodeListen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("edge.node_listen: the address %s is taken; stop what listens there, or choose another", cfg.Edge.NodeListen)
	}
	if err != nil {
		return nil, fmt.Errorf("edge.node_listen: can't listen on %s: %w", cfg.Edge.NodeListen, err)
	}
	site, err := nodes.New(nodes.Options{
		Listener: listener, Nodes: agentNodes(cfg.Nodes), EdgeID: cfg.Edge.ID, Version: version, Logger: log,
	})
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	log.Info("Node agents can connect.", "node_listen", listener.Addr().String())
	return site, nil
}

func agentNodes(all []configs.EdgeNode) []nodes.Node {
	var agents []nodes.Node
	for _, n := range all {
		if !n.Agent {
			continue
		}
		a := nodes.Node{ID: n.ID, Name: n.Name, Labels: n.Labels}
		if n.TokenSHA256 != "" {
			a.TokenSHA256 = new([32]byte)
			_, _ = hex.Decode(a.TokenSHA256[:], []byte(n.TokenSHA256)) // configs lets nothing else through
		}
		for _, p := range n.Providers {
			a.Providers = append(a.Providers, edge.Provider{ID: p.ID, Type: p.Type, Models: p.Models})
		}
		agents = append(agents, a)
	}
	return agents
}
