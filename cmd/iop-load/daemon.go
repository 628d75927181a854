package main

import (
	"time"

	"iop/load"
	"iop/load/daemon"
)

// startDaemon starts a Control Plane that this run may restart.
func startDaemon(bin string) (*daemon.Daemon, error) {
	const free = "127.0.0.1:0"
	return daemon.Start(daemon.Options{Bin: bin, Args: []string{"--dev", "--http-listen", free, "--wire-listen", free, "--edge-wire-listen", free}})
}

func aim(t *load.Target, d *daemon.Daemon) {
	a := d.Addresses()
	t.HTTP, t.EdgeWire, t.ClientWire = "http://"+a.HTTP, a.EdgeWire, "ws://"+a.Wire+"/client"
	t.Pid = d.Process().Pid
	t.Restart = func() (gone time.Time, err error) {
		if err := d.Stop(); err != nil {
			return time.Time{}, err
		}
		gone = time.Now()
		return gone, d.Again()
	}
}

// end lets it drain first.
func end(d *daemon.Daemon) {
	_ = d.Stop()
	d.Close()
}
