package main

import (
	"context"
	"fmt"
	"time"

	sdnotify "github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"
)

// serviceManager is told how the daemon is, where there is one that wants to know: systemd with Type=notify, or whatever
// else sets NOTIFY_SOCKET. Without it nothing is sent, and nothing is different.
type serviceManager struct {
	send func(state string) error
	log  zerolog.Logger
}

// stopMargin is what a stop may take over server.shutdown_timeout, which bounds the wait for others and not the last steps.
const stopMargin = 10 * time.Second

func newServiceManager(log zerolog.Logger) *serviceManager {
	return &serviceManager{log: log, send: func(state string) error {
		_, err := sdnotify.SdNotify(false, state)
		return err
	}}
}

// tell never fails the daemon: one that serves must not end because nobody listens to its reports.
func (m *serviceManager) tell(state string) {
	if err := m.send(state); err != nil {
		m.log.Warn().Err(err).Str("state", state).Msg("the service manager was not told")
	}
}

func (m *serviceManager) ready() { m.tell(sdnotify.SdNotifyReady) }

// reloading is followed by ready, whether or not the new configuration was any good: the daemon goes on either way. The
// time is what newer versions of systemd match a reload by.
func (m *serviceManager) reloading() {
	m.tell(sdnotify.SdNotifyReloading + "\n" + sdnotify.SdNotifyMonotonicUsec())
}

// stopping also asks for the time that a stop may take. The unit's TimeoutStopSec can't know server.shutdown_timeout, and a
// drain must not end by SIGKILL because somebody raised the one and not the other.
func (m *serviceManager) stopping(most time.Duration) {
	m.tell(fmt.Sprintf("%s\nEXTEND_TIMEOUT_USEC=%d", sdnotify.SdNotifyStopping, (most + stopMargin).Microseconds()))
}

// watchdogInterval is how often the service manager wants a sign of life; 0: it wants none.
func (m *serviceManager) watchdogInterval() time.Duration {
	interval, err := sdnotify.SdWatchdogEnabled(false)
	if err != nil {
		m.log.Warn().Err(err).Msg("the service manager's watchdog is not served")
		return 0
	}
	return interval
}

// watch gives a sign of life for each time that alive says yes, until ctx ends. alive has a third of the interval, and is
// asked every third: one slow answer costs nothing, and two missed ones in a row still leave room for a good one. What is
// not alive for the whole interval is killed and restarted by the service manager.
func (m *serviceManager) watch(ctx context.Context, interval time.Duration, alive func(context.Context) bool) {
	ticker := time.NewTicker(interval / 3)
	defer ticker.Stop()
	for {
		within, cancel := context.WithTimeout(ctx, interval/3)
		yes := alive(within)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case yes:
			m.tell(sdnotify.SdNotifyWatchdog)
		default:
			m.log.Error().Dur("within", interval/3).Msg("the registry does not answer; unless it does, the service manager ends this process")
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
