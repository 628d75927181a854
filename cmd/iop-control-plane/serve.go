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
	// Before anything listens: whoever sees that it does may signal it. Channels of their own, lest a SIGTERM finds no room behind
	// SIGHUPs; of these one that waits stands for all.
	ends, hangups := make(chan os.Signal, 2), make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(ends)
	defer signal.Stop(hangups)
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
	reloads, reloaded := hangups, make(chan struct{}, 1)
	stop := func() error {
		unwatch() // from here on the service manager's limit is the time that a stop may take
		manager.stopping(cfg.Server.ShutdownTimeout)
		return stopUnless(func() { d.stop(cfg.Server.ShutdownTimeout) }, ends)
	}
	for {
		select {
		case <-reloads:
			reloads = nil // one at a time
			go func() {   // a file system may hang, and a stop must not wait for it
				manager.reloading()
				d.reload(reload)
				manager.ready()
				reloaded <- struct{}{}
			}()
		case <-reloaded:
			reloads = hangups
		case s := <-ends:
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

// stopUnless stops in good order, unless another signal comes first.
func stopUnless(stop func(), ends <-chan os.Signal) error {
	done := make(chan struct{})
	go func() {
		stop()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ends:
		return errSecondSignal
	}
}
