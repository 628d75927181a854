package main

import (
	"log/slog"

	"iop/cmd/internal/build"
	"iop/cmd/internal/program"
	"iop/configs"
	"iop/edge"
	"iop/edge/nodes"
)

// agentSite is the site of the nodes that have agents, nil when there is no Node wire. It listens already.
func agentSite(cfg *configs.Edge, log *slog.Logger) (edge.Site, error) {
	if cfg.Edge.NodeListen == "" {
		return nil, nil
	}
	listener, err := program.Listen("edge.node_listen", cfg.Edge.NodeListen)
	if err != nil {
		return nil, err
	}
	site, err := nodes.New(nodes.Options{
		Listener: listener, Nodes: agentNodes(cfg.Nodes), EdgeID: cfg.Edge.ID, Version: build.Version(), Logger: log,
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
			a.TokenSHA256 = new(configs.TokenHash(n.TokenSHA256))
		}
		for _, p := range n.Providers {
			a.Providers = append(a.Providers, edge.Provider{ID: p.ID, Type: p.Type, Models: p.Models})
		}
		agents = append(agents, a)
	}
	return agents
}
