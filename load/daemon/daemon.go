// Package daemon runs a Control Plane's binary as a process of its own, for whatever measures or disturbs one: in a directory of
// its own, and after an end again at the same addresses.
package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"iop/load/measure"
)

// Options say what is run.
type Options struct {
	Bin    string
	Args   []string // beside those for the configuration and the addresses
	Config string   // YAML; empty: none is given
	Output *os.File // takes what it prints; nil: a temporary file, quoted if the process ends too early and removed by Close
	// Started is called with the process before it is waited for; nil: nothing is to be done with it.
	Started func(pid int) error
}

// Addresses are where it listens, host:port each; Debug is empty where that is off.
type Addresses struct {
	HTTP     string `json:"http"`
	Wire     string `json:"wire"`
	EdgeWire string `json:"edge_wire"`
	Debug    string `json:"debug"`
}

// Daemon is a Control Plane that runs, or that has ended and may run again. Its methods may be used from any goroutine, those
// that start and end it from one at a time.
type Daemon struct {
	opts Options
	dir  string

	mu        sync.Mutex
	cmd       *exec.Cmd
	began     time.Time
	ended     chan struct{}
	addresses Addresses
}

const (
	startTime = 20 * time.Second
	stopTime  = 20 * time.Second // beyond its own shutdown_timeout of 15 s
	lookEvery = 20 * time.Millisecond
	askTime   = 5 * time.Second
)

// Start runs it and waits until it is ready.
func Start(o Options) (*Daemon, error) {
	bin, err := filepath.Abs(o.Bin) // its working directory is one without a configuration that it would find by itself
	if err != nil {
		return nil, err
	}
	o.Bin = bin
	dir, err := os.MkdirTemp("", "iop-daemon")
	if err != nil {
		return nil, err
	}
	d := &Daemon{opts: o, dir: dir}
	if o.Config != "" {
		err = os.WriteFile(d.path("config.yaml"), []byte(o.Config), 0o600)
		d.opts.Args = append([]string{"--config", d.path("config.yaml")}, o.Args...)
	}
	if err == nil {
		err = d.start(d.opts.Args)
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("starting %s: %w", bin, err)
	}
	return d, nil
}

// Again runs it at the addresses it had, after it has ended.
func (d *Daemon) Again() error {
	a := d.Addresses()
	args := append([]string{}, d.opts.Args...)
	args = append(args, "--http-listen", a.HTTP, "--wire-listen", a.Wire, "--edge-wire-listen", a.EdgeWire)
	if a.Debug != "" {
		args = append(args, "--debug-listen", a.Debug)
	}
	return d.start(args)
}

func (d *Daemon) path(name string) string { return filepath.Join(d.dir, name) }

func (d *Daemon) start(args []string) error {
	_ = os.Remove(d.path("addresses"))
	cmd := exec.Command(d.opts.Bin, append(args, "--addresses-file", d.path("addresses"))...)
	cmd.Dir = d.dir
	cmd.SysProcAttr = apart()
	out := d.opts.Output
	if out == nil {
		file, err := os.OpenFile(d.path("output"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer file.Close()
		out = file
	}
	cmd.Stdout, cmd.Stderr = out, out
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	d.mu.Lock()
	d.cmd, d.began, d.ended = cmd, began, ended
	d.mu.Unlock()
	if d.opts.Started != nil {
		if err := d.opts.Started(cmd.Process.Pid); err != nil {
			d.Kill()
			return err
		}
	}
	return d.awaitReady(ended)
}

func (d *Daemon) awaitReady(ended <-chan struct{}) error {
	for by := time.Now().Add(startTime); time.Now().Before(by); {
		select {
		case <-ended:
			said, _ := os.ReadFile(d.path("output"))
			return fmt.Errorf("it ended: %s", said)
		case <-time.After(lookEvery):
		}
		if d.isReady() {
			return nil
		}
	}
	d.Kill()
	return errors.New("it isn't ready")
}

// asking has no connection kept: the next one may be to another process.
var asking = &http.Client{Timeout: askTime, Transport: &http.Transport{DisableKeepAlives: true}}

func (d *Daemon) isReady() bool {
	var a Addresses
	content, err := os.ReadFile(d.path("addresses"))
	if err != nil || json.Unmarshal(content, &a) != nil {
		return false
	}
	d.mu.Lock()
	d.addresses = a
	d.mu.Unlock()
	response, err := asking.Get("http://" + a.HTTP + "/readyz")
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// Addresses are those it listens at, or listened at last.
func (d *Daemon) Addresses() Addresses {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.addresses
}

// Process is the one that was started last.
func (d *Daemon) Process() measure.Process {
	d.mu.Lock()
	defer d.mu.Unlock()
	return measure.Process{Pid: d.cmd.Process.Pid}
}

// Began is when the process that was started last was started: how long it took to be ready counts from then.
func (d *Daemon) Began() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.began
}

// Ended is closed when the process that was started last has ended.
func (d *Daemon) Ended() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended
}

// Signal sends it one.
func (d *Daemon) Signal(s syscall.Signal) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cmd.Process.Signal(s)
}

// Stop lets it drain. An error when it had to be killed, or ended with another exit code than 0.
func (d *Daemon) Stop() error {
	ended := d.Ended()
	_ = d.Signal(syscall.SIGTERM) // it may have ended, which shows below
	select {
	case <-ended:
	case <-time.After(stopTime):
		d.Kill()
		return errors.New("the Control Plane didn't stop in time and was killed")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the Control Plane ended with %v", d.cmd.ProcessState)
	}
	return nil
}

// Kill ends it at once.
func (d *Daemon) Kill() {
	ended := d.Ended()
	_ = d.Signal(syscall.SIGKILL)
	<-ended
}

// Close kills it, if it still runs, and removes what it left.
func (d *Daemon) Close() {
	d.Kill()
	_ = os.RemoveAll(d.dir)
}
