package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"

	"iop/cmd/internal/build"
	"iop/cmd/internal/probed"
	"iop/cmd/internal/program"
	"iop/configs"
	"iop/edge"
	"iop/edge/manage"
)

// serve runs an Edge until ctx or a signal ends it.
func serve(ctx context.Context, cfg *configs.Edge, stderr io.Writer) error {
	log, logWriter := program.NewSlog(cfg.Log, stderr)
	defer logWriter.Close()
	for _, warning := range cfg.Warnings() {
		log.Warn(warning)
	}
	ctx, stop := program.UntilSignal(ctx) // before anything listens: whoever sees that it does may signal it
	defer stop()
	a, err := newApp(cfg, log)
	if err != nil {
		return err
	}
	log.Info("The Edge starts.", "edge_id", cfg.Edge.ID, "version", build.Version(), "nodes", len(cfg.Nodes))
	if err := a.run(ctx); err != nil {
		return err
	}
	log.Info("The Edge has stopped.")
	return nil
}

func newApp(cfg *configs.Edge, log *slog.Logger) (*app, error) {
	probed, err := edge.NewProbedSite(edge.ProbeOptions{
		Nodes: probedNodes(cfg.Nodes), Interval: cfg.Probe.Interval, Timeout: cfg.Probe.Timeout, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	var site edge.Site = probed
	agents, err := agentSite(cfg, log)
	if err != nil {
		return nil, err
	}
	if agents != nil {
		site = edge.JoinSites(probed, agents)
	}
	a := &app{site: manageSite(cfg, site, probed), log: log}
	if err = errors.Join(a.openPassThrough(cfg, probed), a.openStatus(cfg)); err == nil {
		a.edge, err = edge.New(edgeOptions(cfg, a.site, probed, log)) // last, since it writes the state file
	}
	if err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func edgeOptions(cfg *configs.Edge, site *manage.Site, probed *edge.ProbedSite, log *slog.Logger) edge.Options {
	operations := site.Operations()
	maps.Copy(operations, (&liveSettings{probed: probed, site: site, log: log, cfg: cfg}).operations())
	o := edge.Options{
		ID: cfg.Edge.ID, Name: cfg.Edge.Name, Version: build.Version(), Labels: cfg.Edge.Labels,
		Address: cfg.ControlPlane.Address, Token: cfg.ReadToken,
		ReconnectInitial: cfg.ControlPlane.Reconnect.Initial, ReconnectMax: cfg.ControlPlane.Reconnect.Max,
		Site: site, Operations: operations, StateFile: cfg.StateFile, Logger: log,
	}
	if cfg.ControlPlane.TLS.Enabled {
		o.TLS = func() (*tls.Config, error) { return tlsConfig(cfg.ControlPlane.TLS) }
	}
	return o
}

// probedNodes are those that the Edge asks by itself.
func probedNodes(nodes []configs.EdgeNode) []edge.ProbedNode {
	all := make([]edge.ProbedNode, 0, len(nodes))
	for _, n := range nodes {
		if !n.Agent {
			all = append(all, edge.ProbedNode{ID: n.ID, Name: n.Name, Labels: n.Labels, Providers: probed.Providers(n.Providers)})
		}
	}
	return all
}

// tlsConfig reads the files as they are now, so that a renewed certificate is used at the next connection.
func tlsConfig(t configs.EdgeTLS) (*tls.Config, error) {
	c := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New(t.CAFile + " has no certificate that can be read")
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
