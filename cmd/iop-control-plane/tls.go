package main

import (
	"crypto/tls"

	"iop/configs"
	"iop/wire"
)

// startTLS puts TLS around all listeners but debug's, where it is on, and follows the files.
func (d *daemon) startTLS() (err error) {
	d.unwatch, d.reloads = func() {}, newReloads(reloadConfig)
	if !d.cfg.TLS.Enabled() {
		return nil
	}
	d.reloads = newReloads(reloadConfig, reloadTLS)
	if d.tls, err = wire.NewServerTLS(tlsFiles(d.cfg)); err != nil {
		return err
	}
	d.unwatch = d.tls.Watch(func(err error) {
		if d.reloads.done(reloadTLS, err) != nil {
			d.log.Error().Err(err).Msg("the TLS files changed, but are no good; those in force stay")
			return
		}
		d.log.Info().Msg("the TLS files changed and were reloaded")
	})
	d.listeners.http = tls.NewListener(d.listeners.http, d.tls.Config())
	d.listeners.wire = tls.NewListener(d.listeners.wire, d.tls.Config())
	d.listeners.edge = tls.NewListener(d.listeners.edge, d.tls.EdgeConfig())
	return nil
}

func tlsFiles(cfg *configs.ControlPlane) wire.TLSFiles {
	return wire.TLSFiles{Cert: cfg.TLS.CertFile, Key: cfg.TLS.KeyFile, EdgeCA: cfg.TLS.EdgeClientCAFile}
}
