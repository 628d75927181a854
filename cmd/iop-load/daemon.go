package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"iop/load"
)

// daemon is a Control Plane that this run has started, and may restart.
type daemon struct {
	bin, dir  string
	cmd       *exec.Cmd
	ended     chan struct{}
	addresses addresses
}

type addresses struct {
	HTTP     string `json:"http"`
	Wire     string `json:"wire"`
	EdgeWire string `json:"edge_wire"`
}

const (
	daemonStart = 20 * time.Second
	daemonStop  = 20 * time.Second // beyond its own shutdown_timeout of 15 s
	daemonLook  = 20 * time.Millisecond
)

func startDaemon(bin string) (*daemon, error) {
	dir, err := os.MkdirTemp("", "iop-load")
	if err != nil {
		return nil, err
	}
	// A path, because the daemon gets a working directory without a configuration that it would find by itself.
	bin, err = filepath.Abs(bin)
	d := &daemon{bin: bin, dir: dir, addresses: addresses{"127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"}}
	if err == nil {
		err = d.start()
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("starting %s: %w", bin, err)
	}
	return d, nil
}

// start runs the binary, at its first addresses if it ran before, and waits until it is ready.
func (d *daemon) start() error {
	file, log := filepath.Join(d.dir, "addresses"), filepath.Join(d.dir, "log")
	_ = os.Remove(file)
	d.cmd = exec.Command(d.bin, "--dev", "--http-listen", d.addresses.HTTP, "--wire-listen", d.addresses.Wire,
		"--edge-wire-listen", d.addresses.EdgeWire, "--addresses-file", file)
	d.cmd.Dir = d.dir
	d.cmd.SysProcAttr = apart()
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	d.cmd.Stdout, d.cmd.Stderr = out, out
	if err := d.cmd.Start(); err != nil {
		return err
	}
	d.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) { _ = cmd.Wait(); close(ended) }(d.cmd, d.ended)
	for by := time.Now().Add(daemonStart); time.Now().Before(by); {
		select {
		case <-d.ended:
			said, _ := os.ReadFile(log)
			return fmt.Errorf("it ended: %s", said)
		case <-time.After(daemonLook):
		}
		if d.isReady(file) {
			return nil
		}
	}
	d.kill()
	return errors.New("it isn't ready")
}

func (d *daemon) isReady(file string) bool {
	content, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(content, &d.addresses) != nil {
		return false
	}
	response, err := http.Get("http://" + d.addresses.HTTP + "/readyz")
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

func (d *daemon) fill(t *load.Target) {
	t.HTTP, t.EdgeWire, t.ClientWire = "http://"+d.addresses.HTTP, d.addresses.EdgeWire, "ws://"+d.addresses.Wire+"/client"
	t.Pid, t.Restart = d.cmd.Process.Pid, d.restart
}

func (d *daemon) restart() (gone time.Time, err error) {
	if err := d.stop(); err != nil {
		return time.Time{}, err
	}
	gone = time.Now()
	return gone, d.start()
}

// stop lets it drain.
func (d *daemon) stop() error {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.ended:
		return nil
	case <-time.After(daemonStop):
		d.kill()
		return errors.New("the Control Plane didn't stop in time and was killed")
	}
}

func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	<-d.ended
}

func (d *daemon) close() {
	_ = d.stop()
	_ = os.RemoveAll(d.dir)
}
