package program

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// UntilSignal gives a context that SIGTERM or SIGINT ends; a second one ends the process: whoever signals twice doesn't want
// to wait. stop frees what it holds.
func UntilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	over := make(chan struct{})
	go func() {
		for _, act := range []func(){cancel, func() { os.Exit(ExitFailed) }} {
			select {
			case <-signals:
				act()
			case <-over:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		cancel()
	}
}
