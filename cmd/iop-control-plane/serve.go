package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"iop/configs"
)

// errSecondSignal ends the process at once: whoever signals twice doesn't want to wait.
var errSecondSignal = errors.New("a second signal; not waiting any longer")

// serve runs the daemon until ctx or a signal ends it. reload reads the configuration again, on SIGHUP.
func serve(ctx context.Context, cfg *configs.ControlPlane, addressesFile string,
	reload func() (*configs.ControlPlane, error), stderr io.Writer) error {
	signals := make(chan os.Signal, 4) // before anything listens: whoever sees that it does may signal it
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	d := newDaemon(cfg, stderr)
	defer d.logWriter.Close()
	if err := d.start(addressesFile); err != nil {
		return err
	}
	manager := newServiceManager(d.log)
	manager.ready()
	watched, unwatch := context.WithCancel(ctx)
	defer unwatch()
	if interval := manager.watchdogInterval(); interval > 0 {
		go manager.watch(watched, interval, d.registryAnswers)
	}
	stop := func() error {
		unwatch() // from here on the service manager's limit is the time that a stop may take
		manager.stopping(d.cfg.Server.ShutdownTimeout)
		return stopUnless(d, signals)
	}
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGHUP {
				manager.reloading()
				d.reload(reload)
				manager.ready()
				continue
			}
			d.log.Info().Str("signal", s.String()).Msg("stopping")
			return stop()
		case <-ctx.Done():
			return stop()
		case err := <-d.failed:
			_ = stop()
			return fmt.Errorf("a front failed: %w", err)
		}
	}
}

// stopUnless stops the daemon in good order, unless another signal comes first.
func stopUnless(d *daemon, signals <-chan os.Signal) error {
	done := make(chan struct{})
	go func() {
		d.stop()
		close(done)
	}()
	for {
		select {
		case <-done:
			return nil
		case s := <-signals:
			if s != syscall.SIGHUP {
				return errSecondSignal
			}
		}
	}
}
