//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// edgeProcess is an iop-edge of its own.
type edgeProcess struct {
	id, bin, config string
	log             *os.File
	cmd             *exec.Cmd
	ended           chan struct{}
}

func startEdge(bin, dir string, number int, edgeWire string) (*edgeProcess, error) {
	e := &edgeProcess{id: fmt.Sprintf("real-%d", number), bin: bin}
	e.config = filepath.Join(dir, e.id+".yaml")
	err := os.WriteFile(e.config, []byte(fmt.Sprintf(`edge: {id: %s}
control_plane:
  address: %s
  reconnect: {initial: %s, max: %s}
nodes: []
log: {format: json}
`, e.id, edgeWire, firstRetry, lastRetry)), 0o600)
	if err != nil {
		return nil, err
	}
	if e.log, err = os.Create(filepath.Join(dir, e.id+".log")); err != nil {
		return nil, err
	}
	return e, e.start()
}

func (e *edgeProcess) start() error {
	cmd := exec.Command(e.bin, "--config", e.config)
	cmd.Dir = filepath.Dir(e.config)
	cmd.Stdout, cmd.Stderr = e.log, e.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's Ctrl-C isn't for it
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	e.cmd, e.ended = cmd, ended
	return nil
}

func (e *edgeProcess) signal(s syscall.Signal) error { return e.cmd.Process.Signal(s) }

func (e *edgeProcess) kill() {
	_ = e.signal(syscall.SIGKILL)
	<-e.ended
}

// broken gives what it printed that no Edge may print.
func (e *edgeProcess) broken() string {
	said, _ := os.ReadFile(e.log.Name())
	return string(forbidden.Find(said))
}
